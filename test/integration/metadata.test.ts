/** Free metadata (contract: Memories, `metadata`): given at creation, shown, changed, filtered by, kept by what is derived. */
import { describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { mcpCaller } from "../support/McpCalls.ts"
import { accountCalls, fact, schemaText, text, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"

const server = useSharedServer(withoutModel)
const calls = useAccount(server, "noted")

const noted = async (metadata: object, rest: object = {}) => {
  const [entry] = await calls.create("a", [{ ...fact("Ann", "Ann grows figs"), metadata }], rest)
  return entry as { readonly id: string; readonly metadata: Record<string, unknown> }
}

describe("metadata of a memory", () => {
  it("is shown as it was given in context, and laid flat beneath the data and the system fields", async () => {
    const metadata = { project: "apollo", fact: "mine", agentId: "mine", nested: { list: [1, null, "x"] } }
    const { id, metadata: flat } = await noted(metadata)
    const { context, data, metadata: read } = await calls.get(id)
    expect(context.metadata).toEqual(metadata)
    expect(data).toEqual({ subject: "Ann", fact: "Ann grows figs" })
    for (const shown of [flat, read])
      expect(shown).toMatchObject({ project: "apollo", fact: "Ann grows figs", agentId: "a", nested: metadata.nested })
    const [hit] = await calls.search({ query: "figs", where: '{"metadata.project":"apollo"}' })
    expect(hit).toMatchObject({ id, context: { metadata } })
    expect((await calls.get((await noted({})).id)).context.metadata).toEqual({})
    const [plain] = await calls.create("a", [fact("Bob", "Bob grows figs")])
    expect((await calls.get(plain.id)).context).not.toHaveProperty("metadata")
  })

  it("is that of the request too; on equal names its own counts", async () => {
    const { id } = await noted({ a: 1 }, { metadata: { a: 2, b: 3 } })
    expect((await calls.get(id)).context.metadata).toEqual({ a: 1, b: 3 })
  })

  it("is not searched by words, and filters reach it", async () => {
    const { id } = await noted({ codeword: "zanzibar", score: 7 })
    expect(await calls.search({ query: "zanzibar" })).toEqual([])
    const where = encodeURIComponent('{"metadata.score":{"gte":7,"lt":8}}')
    const { body } = await calls.call("GET", `/v1/memories?where=${where}`)
    expect(body.memories.map((memory: { id: string }) => memory.id)).toEqual([id])
    const filters = { where: { "metadata.codeword": "zanzibar" } }
    expect((await calls.post("/v1/memories/batch/delete", { filters })).body.deleted).toBe(1)
  })

  it("is changed as a whole, removed by null, and kept by every other change; each change is another version", async () => {
    const { id } = await noted({ a: 1, b: 2 })
    const versions = new Set<string>()
    const patched = async (change: object) => {
      const { body, status } = await calls.call("PATCH", `/v1/memories/${id}`, { body: change })
      expect([status, body.error]).toEqual([200, undefined])
      versions.add(body.memory.version)
      return body.memory.context.metadata
    }
    expect(await patched({ metadata: { c: 3 } })).toEqual({ c: 3 })
    expect(await patched({ tags: ["t"] })).toEqual({ c: 3 })
    expect(await patched({ data: { subject: "Ann", fact: "Ann grows pears" } })).toEqual({ c: 3 })
    expect(await patched({ data: { subject: "Ann", fact: "Ann grows plums" }, metadata: { d: 4 } })).toEqual({ d: 4 })
    expect(await patched({ metadata: null })).toBeUndefined()
    expect(versions.size).toBe(5)
    const update = { ids: [id], update: { metadata: { e: 5 } } }
    expect((await calls.post("/v1/memories/batch/update", update)).body.updated).toBe(1)
    const memories = [{ ...fact("Ann", "Ann grows figs again"), id }]
    await calls.post("/v1/memories", { agentId: "a", memories })
    expect((await calls.get(id)).context.metadata).toEqual({ e: 5 })
  })

  it("of a kind with unique fields a correction keeps, and a new version has its own", async () => {
    const schema = schemaText({ email: text })
    await calls.post("/v1/schemas", { name: "mail", description: "d", uniqueOn: ["email"], schema })
    const [first] = await calls.create("a", [{ kind: "mail", data: { email: "x", n: 1 }, metadata: { a: 1 } }])
    const data = { email: "x", n: 2 }
    const corrected = await calls.call("PATCH", `/v1/memories/${first.id}`, { body: { data } })
    expect(corrected.body.memory.context).toMatchObject({ metadata: { a: 1 }, isLatest: true })
    const [next] = await calls.create("a", [{ kind: "mail", data: { email: "x", n: 3 } }])
    expect((await calls.get(next.id)).context).not.toHaveProperty("metadata")
  })

  it.each([
    ["bytes", { a: "x".repeat(Limits.metadataBytesMax) }],
    ["levels", { a: { b: { c: { d: { e: { f: 1 } } } } } }],
    ["type", [1]]
  ])("is refused beyond its %s", async (_name, metadata) => {
    const answer = await calls.post("/v1/memories", { agentId: "a", memories: [{ ...fact("x", "y"), metadata }] })
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"])
    expect(answer.body.details[0].path).toBe("/memories/0/metadata")
    const patch = await calls.call("PATCH", `/v1/memories/${(await noted({})).id}`, { body: { metadata } })
    expect([patch.status, patch.body.details[0].path]).toEqual([400, "/metadata"])
  })
})

describe("metadata of a conversation", () => {
  it("is that of its messages and of what is extracted from them, also later", async () => {
    const own = await accountCalls(server, "noted-conversation")
    const conversation = [{ id: "m1", role: "user", content: "My name is Alice and I live in Seattle." }]
    const metadata = { channel: "mail" }
    await own.post("/v1/memories", { agentId: "a", threadId: "t", conversation, metadata, wait: "extraction" })
    const { body } = await own.call("GET", "/v1/memories")
    expect(body.total).toBeGreaterThan(1)
    for (const memory of body.memories) expect([memory.kind, memory.context.metadata]).toEqual([memory.kind, metadata])
  })

  it("and of a memory is an argument of memory_create", async () => {
    const mcp = await mcpCaller(server, calls.key)
    const memories = [fact("Eve", "Eve plays the violin")]
    const stored = await mcp.call("memory_create", { agentId: "b", memories, metadata: { by: "tool" } })
    expect(stored.isError).toBe(false)
    expect((await calls.get(stored.json.created[0].id)).context.metadata).toEqual({ by: "tool" })
  })
})
