/** Tags from the creation of a memory on (contract: Memories), and tags that a filter could not name. */
import { describe, expect, it } from "vitest"
import { fact, idsOf, useAccount } from "../support/MemoryCalls.ts"
import { mcpCaller } from "../support/McpCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"

const server = useSharedServer(withoutModel)
const alice = useAccount(server, "tags")

const listed = async (agentId: string, tags: string) =>
  (await alice.call("GET", `/v1/memories?${new URLSearchParams({ agentId, tags })}`)).body.memories

describe("tags of a memory that is created", () => {
  it("are its own and those of its request, each once, and found", async () => {
    const memories = [{ ...fact("a", "b"), tags: ["own", "both"] }, fact("c", "d")]
    const [first, second] = await alice.create("direct", memories, { tags: ["both", "all"] })
    expect(first.metadata.tags).toEqual(["own", "both", "all"])
    expect(second.metadata.tags).toEqual(["both", "all"])
    expect(idsOf(await listed("direct", "own"))).toEqual([first.id])
    expect(idsOf(await listed("direct", "all")).toSorted()).toEqual(idsOf([first, second]).toSorted())
    expect(idsOf(await alice.search({ agentId: "direct", query: "b", tags: "own" }))).toEqual([first.id])
    expect((await alice.get(first.id)).context.tags).toEqual(["own", "both", "all"])
  })

  it("are taken by a batch and by MCP", async () => {
    const memories = [{ ...fact("a", "b"), tags: ["own"] }]
    const { body } = await alice.post("/v1/memories/batch/create", { agentId: "batch", memories, tags: ["all"] })
    expect(body.created[0].metadata.tags).toEqual(["own", "all"])
    const mcp = await mcpCaller(server, alice.key)
    await mcp.call("write_factual_memory", { agentId: "mcp", subject: "a", fact: "b", tags: ["written"], source: null })
    await mcp.call("memory_create", { agentId: "mcp", memories: [{ ...fact("c", "d"), tags: ["made"] }] })
    await mcp.close()
    expect(await listed("mcp", "written")).toHaveLength(1)
    expect(await listed("mcp", "made")).toHaveLength(1)
  })

  it("replace those of the memory that an id names, if there are any", async () => {
    const [{ id }] = await alice.create("replaced", [{ ...fact("a", "b"), tags: ["old"] }])
    const replace = async (rest: object) =>
      (await alice.post("/v1/memories", { agentId: "replaced", memories: [{ ...fact("a", "c"), id, ...rest }] })).body
        .updated[0].metadata.tags
    expect(await replace({})).toEqual(["old"])
    expect(await replace({ tags: ["new"] })).toEqual(["new"])
    expect(await replace({ tags: [] })).toEqual([])
  })

  it("are those of a conversation's messages and of what is extracted from them", async () => {
    const conversation = [{ role: "user", content: "My name is Ada. I live in Quimper." }]
    const { body } = await alice.post("/v1/memories", { agentId: "chat", conversation, tags: ["trip", "trip"] })
    expect(body.messages.stored).toBe(1)
    const wanted = async () => (await listed("chat", "trip")).map(({ kind }: { kind: string }) => kind)
    await expect.poll(wanted, { timeout: 60_000, interval: 250 }).toContain("factual_memory")
    expect(await wanted()).toContain("conversation_message")
  })

  it("are bounded together with those of the request", async () => {
    const numbered = (count: number, name: string) => Array.from({ length: count }, (_, at) => `${name}${at}`)
    const memories = [{ ...fact("a", "b"), tags: numbered(20, "m") }]
    const { body, status } = await alice.post("/v1/memories", { agentId: "many", memories, tags: numbered(13, "r") })
    expect([status, body.code, body.error]).toEqual([
      400,
      "invalid_tag",
      "/memories/0/tags: expected at most 32 entries, with those of the request"
    ])
  })
})

describe("a tag that no filter could name", () => {
  it.each(["a,b", ",", " pad ", "pad ", "\tpad", " ", ""])("is refused with the rule: %j", async (tag) => {
    const [{ id }] = await alice.create("refused", [fact("a", "b")])
    const memories = [fact("a", "b")]
    const answers = [
      await alice.post("/v1/memories", { agentId: "refused", memories: [{ ...memories[0], tags: [tag] }] }),
      await alice.post("/v1/memories", { agentId: "refused", memories, tags: ["good", tag] }),
      await alice.call("PATCH", `/v1/memories/${id}`, { body: { tags: [tag] } }),
      await alice.post("/v1/memories/batch/update", { ids: [id], update: { tags: [tag] } })
    ]
    for (const { body, status } of answers) {
      expect([status, body.code]).toEqual([400, "invalid_tag"])
      expect(body.error).toMatch(/without commas, and without blanks|not empty/)
    }
  })

  it("does not keep one with a blank inside, or of another script, from being found", async () => {
    const tags = ["two words", "ümlaut", "旅行", "a/b"]
    const [{ id }] = await alice.create("odd", [{ ...fact("a", "b"), tags }])
    for (const tag of tags) expect(idsOf(await listed("odd", tag))).toEqual([id])
  })
})
