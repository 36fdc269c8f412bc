/**
 * Messages of a conversation as memories (contract: Conversations): what is stored, what is known, what is searched and
 * erased, and that a conversation which cannot be read now is kept and read later.
 */
import { describe, expect, it } from "vitest"
import { accountCalls, fact, useAccount } from "../support/MemoryCalls.ts"
import { mcpCaller } from "../support/McpCalls.ts"
import { ModelServer } from "../support/ModelServer.ts"
import { answer, status } from "../support/ModelServerReplies.ts"
import { isLongRun } from "../support/Repetitions.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { type Answer, startServer } from "../support/TestServer.ts"
import { told } from "../support/ToldMemory.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const server = useSharedServer(withoutModel)
const alice = useAccount(server, "alice")

const talk = [
  {
    id: "m1",
    role: "human",
    name: "Alice",
    content: "My brother Ben plays the bassoon.",
    sentAt: "2026-01-02T09:30:00+01:00"
  },
  { id: "m2", role: "ai", content: "How long has he played it?" },
  { id: "m3", role: "system", content: "The user is in Quimper." },
  { id: "m4", role: "user", name: "Alice", content: "  " }
]

const remember = async (agentId: string, conversation: ReadonlyArray<object>, rest: object = {}) => {
  const { body, status: code } = await alice.post("/v1/memories", {
    agentId,
    conversation,
    wait: "extraction",
    ...rest
  })
  expect(code, JSON.stringify(body)).toBe(200)
  return body
}
type Json = Answer["body"]
const messagesOf = async (agentId: string, calls = alice): Promise<ReadonlyArray<Json>> =>
  (await calls.call("GET", `/v1/memories?agentId=${agentId}&kind=conversation_message`)).body.memories.toReversed()
const textsOf = (memories: ReadonlyArray<Json>) => memories.map(({ data }) => data.text)

describe("a conversation", () => {
  it("leaves its messages behind as memories, but those of the system and those that are empty", async () => {
    const body = await remember("kept", talk, { subjectId: "s", threadId: "t", conversationDate: "2026-01-03" })
    expect(body.messages).toEqual({ stored: 2, known: 0 })
    const [first, second] = await messagesOf("kept")
    expect(first).toMatchObject({
      kind: "conversation_message",
      data: { role: "user", name: "Alice", text: talk[0]!.content, sentAt: talk[0]!.sentAt },
      metadata: { subjectId: "s", threadId: "t", sourceMessageIds: ["m1"] },
      context: { when: "2026-01-02T08:30:00.000Z" }
    })
    expect(second.data).toEqual({ role: "assistant", text: talk[1]!.content })
    expect(second.context.when).toBe("2026-01-03T00:00:00.000Z")
    const [hit] = await alice.search({ query: "who plays the bassoon", agentId: "kept", kind: "conversation_message" })
    expect(hit.id).toBe(first.id)
  })

  it("that is sent again or grows stores each message once, with ids and without, whatever kinds are asked for", async () => {
    const bare = [
      { role: "user", content: "I swim." },
      { role: "user", content: "Yes." },
      { role: "user", content: "Yes." }
    ]
    for (const [agentId, all] of [
      ["ids", talk.slice(0, 2)],
      ["bare", bare]
    ] as const) {
      const counts = []
      for (let end = 1; end <= all.length; end++) counts.push((await remember(agentId, all.slice(0, end))).messages)
      counts.push((await remember(agentId, all, { schemas: ["factual_memory"] })).messages)
      expect(counts.map(({ stored }) => stored)).toEqual([...all.map(() => 1), 0])
      expect(counts.map(({ known }) => known)).toEqual([...all.map((_, at) => at), all.length])
      expect(textsOf(await messagesOf(agentId))).toEqual(all.map(({ content }) => content))
    }
    // Of another time, the same words are another message.
    const again = { role: "user", content: "Yes.", sentAt: "2026-01-02T10:00:00Z" }
    expect((await remember("bare", [again])).messages).toEqual({ stored: 1, known: 0 })
  })

  it("costs what it cost before, and nothing when it says nothing new", async () => {
    const charged = async (rest: object) =>
      (await alice.post("/v1/memories", { agentId: "price", conversation: talk, ...rest })).headers.get(
        "x-credits-charged"
      )
    expect([await charged({}), await charged({}), await charged({ remember: "extracted" })]).toEqual(["5", "0", "0"])
    expect([await charged({ threadId: "t", remember: "extracted" }), await charged({ threadId: "t" })]).toEqual([
      "5",
      "0"
    ])
    expect(await messagesOf("price")).toHaveLength(4)
  })

  it("keeps no messages if the request, the account or the installation says so, in this order", async () => {
    const set = (account: string, what: string | null) =>
      server.asOperator("POST", "/admin/accounts/remember", { account, remember: what })
    const body = await remember("switch", talk, { remember: "extracted" })
    expect([body.messages, await messagesOf("switch")]).toEqual([{ stored: 0, known: 0 }, []])
    const name = `switch-${Date.now()}`
    const own = await accountCalls(server, name)
    const { agents: _agents, account } = (await own.call("GET", "/v1/account")).body
    expect((await set(account.name, "extracted")).body.account).toMatchObject({ remember: "extracted" })
    const send = async (threadId: string, rest: object = {}) =>
      (await own.post("/v1/memories", { agentId: "a", conversation: talk, threadId, ...rest })).body.messages.stored
    expect([await send("a"), await send("b", { remember: "messages" })]).toEqual([0, 2])
    expect((await set(account.name, null)).body.account.remember).toBeUndefined()
    expect(await send("c")).toBe(2)
    expect((await set("nobody", "messages")).status).toBe(404)
  })

  it("erases its messages by id, thread, subject and agent; one erased by id does not come back", async () => {
    const send = (rest: object = {}) => remember("erase", talk, { subjectId: "s", threadId: "t", ...rest })
    await send()
    const [first] = await messagesOf("erase")
    await alice.call("DELETE", `/v1/memories/${first.id}`)
    expect((await send()).messages).toEqual({ stored: 0, known: 2 })
    expect(textsOf(await messagesOf("erase"))).toEqual([talk[1]!.content])
    for (const filters of [
      { agentId: "erase", threadId: "t" },
      { subjectId: "s", agentId: "erase" },
      { agentId: "erase" }
    ]) {
      expect((await alice.post("/v1/memories/batch/delete", { filters })).status).toBe(200)
      expect(await messagesOf("erase")).toEqual([])
      expect((await send()).messages).toEqual({ stored: 2, known: 0 })
    }
  })

  it("expires as the request says", async () => {
    await remember("ttl", talk, { ttl: "1h" })
    for (const { metadata } of await messagesOf("ttl")) expect(metadata.expiresAt).toBeGreaterThan(Date.now())
  })

  it("has its messages in exports, whose import stores them once", async () => {
    const calls = await accountCalls(server, "exported")
    const { account } = (await calls.call("GET", "/v1/account")).body
    await calls.post("/v1/memories", { agentId: "moved", conversation: talk })
    const operator = { key: server.operatorToken }
    const { records } = (await server.call("GET", `/admin/export?account=${account.name}`, operator)).body
    const messages = records.filter(({ kind }: Json) => kind === "conversation_message")
    expect(messages.map(({ origin, position }: Json) => [origin, position])).toEqual([
      ["conversation", 0],
      ["conversation", 1]
    ])
    await calls.post("/v1/memories/batch/delete", { filters: { agentId: "moved" } })
    const body = { account: account.name, records }
    expect((await server.call("POST", "/admin/import", { ...operator, body })).body.imported).toBe(records.length)
    const again = (await calls.post("/v1/memories", { agentId: "moved", conversation: talk })).body
    expect(again.messages).toEqual({ stored: 0, known: 2 })
  })

  it("is searched with all else, alone, or not at all; a map leaves its messages out unless asked", async () => {
    await remember("include", talk)
    await alice.create("include", [fact("Ben", "Ben repairs bassoons")])
    const kinds = async (rest: Record<string, string>) => {
      const found = await alice.search({ query: "bassoon", agentId: "include", ...rest })
      return [...new Set(found.map(({ kind }) => kind))].toSorted()
    }
    expect(await kinds({})).toContain("conversation_message")
    expect(await kinds({ include: "all" })).toEqual(await kinds({}))
    expect(await kinds({ include: "messages" })).toEqual(["conversation_message"])
    expect(await kinds({ include: "extracted" })).toEqual(["factual_memory"])
    const list = await alice.call("GET", "/v1/memories?agentId=include&include=extracted")
    expect(list.body.memories.map(({ kind }: Json) => kind)).not.toContain("conversation_message")
    const drawn = async (include?: string) => {
      const query = new URLSearchParams({
        query: "bassoon",
        agentId: "include",
        mode: "map",
        ...(include && { include })
      })
      return JSON.stringify((await alice.call("GET", `/v1/memories/search?${query}`)).body)
    }
    expect(await drawn()).not.toContain("My brother Ben")
    expect(await drawn("all")).toContain("My brother Ben")
  })

  it("is shown to an agent of MCP, a long one by its passage, and whole by memory_get", async () => {
    const long = "The bassoon is old. ".repeat(60)
    await remember("lines", [talk[0]!, { role: "assistant", content: long, sentAt: "2026-01-05T08:00:00Z" }])
    const mcp = await mcpCaller(server, alice.key)
    const search = async (include: string) =>
      (await mcp.call("memory_search", { query: "bassoon", agentId: "lines", include })).json.memories
    const found: ReadonlyArray<Json> = await search("messages")
    expect(found.map(({ data }) => [data.name, data.text])).toContainEqual([
      "Alice",
      "My brother Ben plays the bassoon."
    ])
    const ofAssistant = found.find(({ data }) => data.role === "assistant")
    expect([ofAssistant?.isClipped, long.includes(ofAssistant?.data.text.replaceAll("…", ""))]).toEqual([true, true])
    expect((await mcp.call("memory_get", { id: ofAssistant?.id })).json.memory.data.text).toBe(long)
    for (const { kind } of await search("extracted")) expect(kind).not.toBe("conversation_message")
  })

  it("is remembered by the MCP tool as well", async () => {
    const mcp = await mcpCaller(server, alice.key)
    const { json } = await mcp.call("memory_create", { agentId: "mcp", conversation: talk, wait: "extraction" })
    expect(json).toMatchObject({ messages: { stored: 2, known: 0 }, extraction: "done" })
    expect(await messagesOf("mcp")).toHaveLength(2)
  })

  it.each([
    ["a time without offset", { sentAt: "2026-01-02T09:30:00" }],
    ["a day", { sentAt: "2026-01-02" }],
    ["an empty name", { name: "" }]
  ])("with %s is refused", async (_, fields) => {
    const conversation = [{ role: "user", content: "x", ...fields }]
    expect((await alice.post("/v1/memories", { agentId: "bad", conversation })).body.code).toBe("invalid_request")
  })
})

describe("a conversation that cannot be read now", () => {
  const said = [{ id: "m1", role: "user", content: "My name is Alice and I live in Quimper." }, ...talk.slice(1)]
  const memory = told("Alice has settled in Quimper", "I live in Quimper")
  const good = answer({ memories: [memory] })
  const byRules = ["Alice lives in Quimper", "The user's name is Alice"]
  const factsOf = (memories: ReadonlyArray<Json>) => memories.map(({ data }) => data.fact).toSorted()

  if (isLongRun)
    it("is stored, found and free, and read when the model is back, through a kill too", async () => {
      const model = await ModelServer.start()
      model.otherwise = () => status(401)
      const dataDirectory = temporaryDirectory()
      const environment = {
        MUNIMENT_EMBEDDING_MODEL: "none",
        ...model.environment()
      }
      const first = await startServer({ dataDirectory, environment })
      const calls = await accountCalls(first, "pending")
      const body = { agentId: "a", conversation: said, threadId: "t", wait: "extraction" }
      const sent = await calls.post("/v1/memories", body)
      expect(sent.body).toMatchObject({
        messages: { stored: 2, known: 0 },
        extraction: "partial",
        extractionProblem: { code: "model_rejected", message: expect.stringMatching(/401; it is asked again$/) }
      })
      expect(factsOf(sent.body.created)).toEqual(byRules)
      expect(sent.headers.get("x-credits-charged")).toBe("0")
      // What rules find needs no model.
      expect(factsOf((await calls.call("GET", "/v1/memories?agentId=a&include=extracted")).body.memories)).toEqual(
        byRules
      )
      const [hit] = await calls.search({ query: "Quimper", include: "messages" })
      expect(hit.data.text).toBe(said[0]!.content)
      await first.kill()

      model.otherwise = () => good
      const second = await startServer({ dataDirectory, environment })
      const later = (path: string) => second.call("GET", path, { key: calls.key })
      for (let total = 0; total < 5;) {
        await new Promise((wake) => setTimeout(wake, 100))
        total = (await later("/v1/memories?agentId=a")).body.total
      }
      const { memories } = (await later("/v1/memories?agentId=a&kind=factual_memory")).body
      expect(factsOf(memories)).toEqual([...byRules, memory.text].toSorted())
      for (const { metadata } of memories) expect(metadata).toMatchObject({ threadId: "t", sourceMessageIds: ["m1"] })
      const again = await second.call("POST", "/v1/memories", {
        key: calls.key,
        body: { agentId: "a", conversation: said.slice(0, 2), threadId: "t" }
      })
      expect(again.body).toMatchObject({ created: [], skippedMessages: 2, extraction: "done" })
      expect(again.body.existing.map(({ id }: Json) => id)).toEqual(memories.toReversed().map(({ id }: Json) => id))
      expect(again.headers.get("x-credits-charged")).toBe("0")
      await second.stop()
      await model.close()
    })

  it("is read by a later request of the conversation, which pays", async () => {
    const model = await ModelServer.start()
    model.otherwise = () => status(401)
    const own = await startServer({
      environment: {
        MUNIMENT_EMBEDDING_MODEL: "none",
        ...model.environment(),
        MUNIMENT_REMEMBER: "extracted"
      }
    })
    try {
      const calls = await accountCalls(own, "later")
      const body = { agentId: "a", conversation: said, remember: "messages", wait: "extraction" }
      const send = () => calls.post("/v1/memories", body)
      expect((await send()).body.extraction).toBe("partial")
      model.otherwise = () => good
      const paid = await send()
      expect(paid.body).toMatchObject({ messages: { stored: 0, known: 2 }, extraction: "done", skippedMessages: 0 })
      expect([factsOf(paid.body.created), paid.headers.get("x-credits-charged")]).toEqual([[memory.text], "5"])
      model.otherwise = () => status(401)
      const strict = await calls.post("/v1/memories", { agentId: "b", conversation: said })
      expect([strict.status, strict.body.code]).toEqual([503, "extraction_unavailable"])
    } finally {
      await own.stop()
      await model.close()
    }
  })
})
