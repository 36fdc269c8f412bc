/**
 * Corrections of what was extracted (contract: Memories, Search): the correction is found first, the message that still says
 * otherwise names it, and no answer quotes that message.
 */
import { describe, expect, it } from "vitest"
import { mcpCaller } from "../support/McpCalls.ts"
import { useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import type { Answer } from "../support/TestServer.ts"

type Json = Answer["body"]
const server = useSharedServer(withoutModel)
const alice = useAccount(server, "corrected")

const corrected = { subject: "Nora Field", fact: "Nora Field lives in Delft" }

/** An agent whose user says where they live, and the memory that was extracted from it. */
const talked = async (agentId: string): Promise<Json> => {
  const conversation = [
    { id: "m1", role: "user", name: "Nora Field", content: "I live in Utrecht." },
    { id: "m2", role: "user", name: "Nora Field", content: "The train was late again today." }
  ]
  const { body: told } = await alice.post("/v1/memories", { agentId, conversation, wait: ["vectors", "extraction"] })
  expect(told.created, JSON.stringify(told)).toHaveLength(1)
  const { body } = await alice.call("GET", `/v1/memories?agentId=${agentId}&include=extracted`)
  const [memory] = body.memories
  expect(memory.data.fact).toContain("Utrecht")
  return memory
}

const ways: ReadonlyArray<readonly [name: string, change: (agentId: string, id: string) => Promise<unknown>]> = [
  ["PATCH", (_, id) => alice.call("PATCH", `/v1/memories/${id}`, { body: { data: corrected } })],
  ["an update by id", (agentId, id) => alice.create(agentId, [{ id, kind: "factual_memory", data: corrected }])],
  [
    "the tool memory_update",
    async (_, id) => {
      const mcp = await mcpCaller(server, alice.key)
      await mcp.call("memory_update", { id, data: corrected })
    }
  ]
]

describe("a memory that was extracted and is corrected", () => {
  it.each(ways)("by %s comes before its message, which names it", async (name, change) => {
    const agentId = `corrected-${name.replaceAll(/\W+/g, "-")}`
    const { id } = await talked(agentId)
    await change(agentId, id)
    for (const query of ["Nora Field lives in Delft", "Where does Nora Field live?"]) {
      const hits: ReadonlyArray<Json> = await alice.search({ query, agentId, limit: "2" })
      const correction = hits[0]!
      expect(correction.data).toEqual(corrected)
      expect(correction.metadata.sourceMessageIds).toEqual([])
      const message = hits.find(({ kind }) => kind === "conversation_message")
      if (message?.data.text.includes("Utrecht")) expect(message.context.correctedBy).toBe(correction.id)
    }
    const all: ReadonlyArray<Json> = await alice.search({ query: "Utrecht", agentId })
    const said = all.find(({ data }) => data.text === "I live in Utrecht.")
    const [latest] = (await alice.call("GET", `/v1/memories?agentId=${agentId}&include=extracted`)).body.memories
    expect(said.context.correctedBy).toBe(latest.id)
    const other = (await alice.search({ query: "train", agentId })).find(({ data }) => data.text?.includes("train"))
    expect(other.context).not.toHaveProperty("correctedBy")
  })

  it.each(ways)("by %s is what answers say", async (name, change) => {
    const agentId = `answered-${name.replaceAll(/\W+/g, "-")}`
    const { id } = await talked(agentId)
    await change(agentId, id)
    const question = encodeURIComponent("Where does Nora Field live?")
    const { body } = await alice.call("GET", `/v1/memories/search?mode=answer&agentId=${agentId}&query=${question}`)
    expect(body.answer).toContain("Delft")
    expect(body.answer).not.toContain("Utrecht")
  })

  it("by a restored version of another conversation leaves behind what was put aside, until something newer is said", async () => {
    const scope = { agentId: "restored", subjectId: "u1" }
    const say = async (threadId: string, sentAt: string, content: string) =>
      (
        await alice.post("/v1/memories", {
          ...scope,
          threadId,
          conversation: [{ id: threadId, role: "user", sentAt, content }],
          wait: ["vectors", "extraction"]
        })
      ).body
    await say("t1", "2026-01-12T09:00:00Z", "I live in Utrecht.")
    const { created } = await say("t2", "2026-03-20T09:00:00Z", "I live in Delft now.")
    await say("t3", "2026-06-02T09:00:00Z", "I live in Leiden now.")
    const restored = await alice.call("POST", `/v1/memories/${created[0].id}/restore`)
    const { id } = restored.body.memory
    const found: ReadonlyArray<Json> = await alice.search({ query: "I live in", include: "messages", ...scope })
    const corrections = Object.fromEntries(
      found.map(({ context, metadata }) => [metadata.threadId, context.correctedBy])
    )
    expect(corrections).toEqual({ t1: undefined, t2: undefined, t3: id })
    const asked = () => alice.post("/v1/memories/search", { query: "Where do I live?", mode: "answer", ...scope })
    expect((await asked()).body.answer).toContain("Delft")
    const { body } = await alice.post("/v1/context", { query: "Where do I live?", ...scope })
    expect(body.text).not.toContain("Leiden")
    await say("t4", "2026-08-02T09:00:00Z", "I live in Leiden now.")
    expect((await asked()).body.answer).toContain("Leiden")
  })

  it("keeps its message as its source where only its tags change", async () => {
    const { id } = await talked("tagged")
    await alice.call("PATCH", `/v1/memories/${id}`, { body: { tags: ["home"] } })
    expect((await alice.get(id)).metadata.sourceMessageIds).toEqual(["m1"])
  })
})
