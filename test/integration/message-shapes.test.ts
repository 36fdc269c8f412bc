/** Messages as model APIs have them (contract: Conversations): what is stored of each, and whose words it is. */
import { describe, expect, it } from "vitest"
import { useAccount } from "../support/MemoryCalls.ts"
import { mcpCaller } from "../support/McpCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import type { Answer } from "../support/TestServer.ts"

type Json = Answer["body"]
const server = useSharedServer(withoutModel)
const alice = useAccount(server, "shapes")

const remember = async (agentId: string, conversation: unknown, rest: object = {}): Promise<Json> => {
  const { body, status } = await alice.post("/v1/memories", { agentId, conversation, wait: "extraction", ...rest })
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}
const storedIn = async (agentId: string): Promise<ReadonlyArray<Json>> =>
  (await alice.call("GET", `/v1/memories?agentId=${agentId}&kind=conversation_message`)).body.memories.toReversed()
const saidIn = async (agentId: string) => (await storedIn(agentId)).map(({ data }) => [data.role, data.text])
const extractedIn = async (agentId: string) =>
  (await alice.call("GET", `/v1/memories?agentId=${agentId}&include=extracted`)).body.memories

/** A chat in which a tool says what the user never said. */
const openAi = [
  { role: "developer", content: "You are a travel agent." },
  { role: "user", content: [{ type: "text", text: "My name is Ada." }] },
  {
    role: "assistant",
    content: null,
    refusal: null,
    tool_calls: [
      { id: "call_1", type: "function", function: { name: "find_home", arguments: '{"name":"Ada"}' } },
      { id: "call_2", type: "function", function: { name: "get_weather", arguments: '{"city":"Oslo"}' } }
    ]
  },
  { role: "tool", tool_call_id: "call_1", content: "I live in Quimper. My dog is called Rex." },
  { role: "tool", tool_call_id: "call_2", content: [{ type: "text", text: "12 degrees" }] },
  { role: "assistant", content: "It is 12 degrees." }
]

const anthropic = [
  { role: "user", content: "My name is Ada." },
  {
    role: "assistant",
    content: [
      { type: "thinking", thinking: "Where may Ada live?", signature: "x" },
      { type: "text", text: "I look it up." },
      { type: "tool_use", id: "toolu_1", name: "find_home", input: { name: "Ada" } }
    ]
  },
  {
    role: "user",
    content: [
      {
        type: "tool_result",
        tool_use_id: "toolu_1",
        content: [{ type: "text", text: "I live in Quimper. My dog is called Rex." }]
      },
      { type: "text", text: "Thanks." }
    ]
  }
]

const gemini = [
  { role: "user", parts: [{ text: "My name is Ada." }] },
  { role: "model", parts: [{ functionCall: { name: "find_home", args: { name: "Ada" } } }] },
  {
    role: "function",
    parts: [{ functionResponse: { name: "find_home", response: { result: "I live in Quimper." } } }]
  },
  { role: "model", parts: [{ text: "You live in Quimper." }] }
]

describe("a conversation of", () => {
  it("OpenAI is stored whole, tools as tools", async () => {
    const body = await remember("openai", openAi)
    expect(body.messages).toEqual({ stored: 6, known: 0 })
    expect(await saidIn("openai")).toEqual([
      ["user", "My name is Ada."],
      ["tool", 'find_home({"name":"Ada"})'],
      ["tool", 'get_weather({"city":"Oslo"})'],
      ["tool", "I live in Quimper. My dog is called Rex."],
      ["tool", "12 degrees"],
      ["assistant", "It is 12 degrees."]
    ])
  })

  it("OpenAI's Responses, whose calls have no role, too", async () => {
    await remember("responses", [
      { type: "message", role: "user", content: [{ type: "input_text", text: "My name is Ada." }] },
      { type: "reasoning", summary: [{ type: "summary_text", text: "Where may Ada live?" }] },
      { type: "function_call", call_id: "c1", name: "find_home", arguments: '{"name":"Ada"}' },
      { type: "function_call_output", call_id: "c1", output: "I live in Quimper." },
      { type: "web_search_call", id: "w1", action: { query: "Ada" } },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "You live in Quimper." }] }
    ])
    expect(await saidIn("responses")).toEqual([
      ["user", "My name is Ada."],
      ["tool", 'find_home({"name":"Ada"})'],
      ["tool", "I live in Quimper."],
      ["tool", 'web_search_call({"query":"Ada"})'],
      ["assistant", "You live in Quimper."]
    ])
  })

  it("OpenAI says something beside its content, which is kept", async () => {
    await remember("beside", [
      { role: "assistant", content: null, function_call: { name: "find_home", arguments: "{}" } },
      { role: "assistant", content: null, refusal: "I may not do this." },
      { role: "assistant", content: null, audio: { id: "a1", transcript: "Good morning, Ada." } }
    ])
    expect(await saidIn("beside")).toEqual([
      ["tool", "find_home({})"],
      ["assistant", "I may not do this."],
      ["assistant", "Good morning, Ada."]
    ])
  })

  it("another service, whose text has another name, is refused, not dropped", async () => {
    for (const conversation of [[{ role: "user", text: "My name is Ada." }], [{ role: "user" }]]) {
      const { body, status } = await alice.post("/v1/memories", { agentId: "elsewhere", conversation })
      expect([status, body.error]).toEqual([400, expect.stringContaining("/conversation/0/content: is missing")])
    }
    const { body } = await alice.post("/v1/memories", { agentId: "elsewhere", conversation: [{ content: "Hi." }] })
    expect(body.error).toContain("/conversation/0/role: is missing")
  })

  it("by one fault alone where it has a role: what an item without one lacks is not said of it", async () => {
    const conversation = [{ role: "user", content: "My name is Ada.", sentAt: "2026-03-20" }]
    const { body, status } = await alice.post("/v1/memories", { agentId: "elsewhere", conversation })
    const message =
      "expected an ISO 8601 date-time with its offset, such as 2026-01-31T09:30:00Z, or seconds or milliseconds since the epoch"
    expect([status, body.details]).toEqual([400, [{ path: "/conversation/0/sentAt", message }]])
  })

  it("Anthropic too, in the order in which things were said", async () => {
    await remember("anthropic", anthropic)
    expect(await saidIn("anthropic")).toEqual([
      ["user", "My name is Ada."],
      ["assistant", "I look it up."],
      ["tool", 'find_home({"name":"Ada"})'],
      ["tool", "I live in Quimper. My dog is called Rex."],
      ["user", "Thanks."]
    ])
  })

  it("Gemini too", async () => {
    await remember("gemini", gemini)
    expect(await saidIn("gemini")).toEqual([
      ["user", "My name is Ada."],
      ["tool", 'find_home({"name":"Ada"})'],
      ["tool", '{"result":"I live in Quimper."}'],
      ["assistant", "You live in Quimper."]
    ])
  })

  it("tools is no source of facts, and no word of the user's", async () => {
    for (const [agentId, chat] of [
      ["facts-1", openAi],
      ["facts-2", anthropic]
    ] as const) {
      await remember(agentId, chat)
      const extracted = JSON.stringify(await extractedIn(agentId))
      expect(extracted).toContain("Ada")
      expect(extracted).not.toMatch(/Quimper|Rex/)
      for (const query of ["Where do I live?", "What is my dog called?"]) {
        const answer = await alice.call(
          "GET",
          `/v1/memories/search?${new URLSearchParams({ agentId, mode: "answer", query })}`
        )
        expect(answer.body).toMatchObject({ grounded: false })
      }
    }
  })

  it("tools is found by its words, and stays known when it is sent again", async () => {
    await remember("again", openAi)
    expect((await remember("again", openAi)).messages).toEqual({ stored: 0, known: 6 })
    const [hit] = await alice.search({ agentId: "again", query: "degrees weather Oslo" })
    expect(hit.data.role).not.toBe("user")
    const withIds = openAi.map((message, at) => ({ ...message, id: `m${at}` }))
    expect((await remember("again-ids", withIds)).messages.stored).toBe(6)
    expect((await remember("again-ids", withIds)).messages).toEqual({ stored: 0, known: 6 })
  })

  it("one text is one message of the user, as is a text in the list", async () => {
    expect((await remember("text", "My name is Ada.")).messages.stored).toBe(1)
    expect(await saidIn("text")).toEqual([["user", "My name is Ada."]])
    await remember("texts", ["My name is Ada.", { role: "assistant", content: "Hello Ada." }])
    expect(await saidIn("texts")).toEqual([
      ["user", "My name is Ada."],
      ["assistant", "Hello Ada."]
    ])
  })
})

describe("a part without text", () => {
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }

  it("is named where it stood and counted", async () => {
    const content = [
      { type: "text", text: "Look at this:" },
      image,
      { type: "input_audio", input_audio: {} },
      { type: "input_text", text: "Is it good?" }
    ]
    expect(await remember("parts", [{ role: "user", content }])).toMatchObject({ skippedParts: 2 })
    expect(await saidIn("parts")).toEqual([["user", "Look at this:\n[image]\n[audio]\nIs it good?"]])
  })

  it("leaves a message out that has nothing else, and the rest of the window is stored", async () => {
    const conversation = [
      { id: "m1", role: "user", content: [image] },
      { id: "m2", role: "user", content: null },
      { id: "m3", role: "assistant", content: "" },
      { id: "m4", role: "user", content: "My name is Ada." }
    ]
    const body = await remember("left-out", conversation)
    expect(body).toMatchObject({
      messages: { stored: 1, known: 0 },
      leftOut: [
        { index: 0, id: "m1", reason: "no_text" },
        { index: 1, id: "m2", reason: "empty" },
        { index: 2, id: "m3", reason: "empty" }
      ],
      skippedParts: 1
    })
    expect(await saidIn("left-out")).toEqual([["user", "My name is Ada."]])
  })

  it("costs nothing where there is nothing else at all", async () => {
    const { body, headers, status } = await alice.post("/v1/memories", {
      agentId: "nothing",
      conversation: [{ role: "user", content: [image] }, ""]
    })
    expect([status, headers.get("x-credits-charged")]).toEqual([200, "0"])
    expect(body).toMatchObject({ created: [], messages: { stored: 0, known: 0 }, extraction: "done" })
    expect(body.leftOut).toHaveLength(2)
  })
})

describe("the time of a message", () => {
  it.each([
    ["createdAt", "2024-05-01T20:30:00-07:00", "2024-05-01T20:30:00-07:00"],
    ["created_at", "2024-05-01 20:30:00", "2024-05-01T20:30:00Z"],
    ["timestamp", 1_714_591_800, "2024-05-01T19:30:00.000Z"],
    ["timestamp", "1714591800.5", "2024-05-01T19:30:00.500Z"],
    ["createdAt", 1_714_591_800_000, "2024-05-01T19:30:00.000Z"],
    ["created_at", "1714591800000", "2024-05-01T19:30:00.000Z"],
    ["sentAt", 1_714_591_800, "2024-05-01T19:30:00.000Z"]
  ])("is read from %s: %s", async (name, value, sentAt) => {
    const agentId = `time-${name}-${String(value).replaceAll(/\W/g, "")}`
    await remember(agentId, [{ role: "user", content: "I arrived yesterday.", [name]: value }])
    const [{ context, data }] = (await storedIn(agentId)) as [Json]
    expect(data.sentAt).toBe(sentAt)
    expect(context.when).toBe(new Date(sentAt).toISOString())
  })

  it.each([0, -5, 12_345, 1_714_591_800_000_000, "yesterday", "0001-01-01T00:00:00Z"])(
    "is refused where it is none: %s",
    async (timestamp) => {
      const conversation = [{ role: "user", content: "Hello.", timestamp }]
      const { body, status } = await alice.post("/v1/memories", { agentId: "no-time", conversation })
      expect([status, body.error]).toEqual([
        400,
        expect.stringContaining("/conversation/0/timestamp: expected an ISO 8601 date-time")
      ])
    }
  )
})

it("the same shapes are taken by MCP, and by a trial", async () => {
  const mcp = await mcpCaller(server, alice.key)
  const { json } = await mcp.call("memory_create", { agentId: "mcp-shapes", conversation: openAi })
  expect(json).toMatchObject({ success: true, messages: { stored: 6 } })
  await mcp.close()
  const { body } = await alice.post("/v1/memories/extract", { conversation: anthropic })
  expect(JSON.stringify(body.found)).toContain("Ada")
  expect(JSON.stringify(body.found)).not.toMatch(/Quimper|Rex/)
})
