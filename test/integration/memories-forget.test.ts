/** Deleting one version, and forgetting a memory with all its versions (contract: Memories). */
import { beforeAll, describe, expect, it } from "vitest"
import { Muniment } from "@muniment/client/Muniment"
import { fact, idsOf, schemaText, text, useAccount } from "../support/MemoryCalls.ts"
import { mcpCaller } from "../support/McpCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"

const server = useSharedServer()
const alice = useAccount(server, "forget")

beforeAll(async () => {
  const schema = schemaText({ email: text, city: text })
  await alice.post("/v1/schemas", { name: "home", description: "Where somebody lives", uniqueOn: ["email"], schema })
})

/** Versions of one memory, oldest first. */
const versions = async (agentId: string, cities: ReadonlyArray<string>, rest: object = {}) => {
  const ids: Array<string> = []
  for (const city of cities) {
    const [{ id }] = await alice.create(agentId, [{ kind: "home", data: { email: "a@x.org", city } }], rest)
    ids.push(id)
  }
  return ids
}
const remove = (id: string, query = "") => alice.call("DELETE", `/v1/memories/${id}${query}`)
const removeBatch = (body: object) => alice.post("/v1/memories/batch/delete", body)
const left = async (agentId: string) =>
  idsOf((await alice.call("GET", `/v1/memories?agentId=${agentId}&includeSuperseded=true`)).body.memories)

describe("DELETE", () => {
  it("of the newest version says which older one is the latest again", async () => {
    const [oldest, older, newest] = await versions("one", ["Oslo", "Bergen", "Tromsø"])
    expect((await remove(newest!)).body).toEqual({ success: true, revived: older })
    expect((await alice.get(older!)).context.isLatest).toBe(true)
    expect((await remove(older!, "?versions=one")).body).toEqual({ success: true, revived: oldest })
    expect((await remove(oldest!)).body).toEqual({ success: true })
  })

  it("of an older version, or of a memory without versions, revives nothing", async () => {
    const [oldest] = await versions("old", ["Oslo", "Bergen"])
    expect((await remove(oldest!)).body).toEqual({ success: true })
    const [single] = await alice.create("old", [fact("a", "b")])
    expect((await remove(single.id, "?versions=all")).body).toEqual({ success: true, deleted: 1 })
  })

  it.each([0, 1, 2])("with versions=all forgets every version, whichever is named: %d", async (named) => {
    const agentId = `all-${named}`
    const ids = await versions(agentId, ["Oslo", "Bergen", "Tromsø"])
    const others = await versions(agentId, ["Rome"], { subjectId: "somebody else" })
    expect((await remove(ids[named]!, "?versions=all")).body).toEqual({ success: true, deleted: 3 })
    expect(await left(agentId)).toEqual(others)
    expect((await remove(ids[named]!, "?versions=all")).body.code).toBe("memory_not_found")
  })

  it("with versions=all and another version in If-Match changes nothing", async () => {
    const ids = await versions("match", ["Oslo", "Bergen"])
    const headers = { "if-match": '"another"' }
    const answer = await alice.call("DELETE", `/v1/memories/${ids[1]}?versions=all`, { headers })
    expect([answer.status, answer.body.code]).toEqual([412, "version_mismatch"])
    expect((await left("match")).toSorted()).toEqual(ids.toSorted())
  })

  it("takes no other word for versions", async () => {
    const [id] = await versions("words", ["Oslo"])
    expect((await remove(id!, "?versions=every")).status).toBe(400)
    expect(await left("words")).toEqual([id])
  })

  it("forgets a memory of more versions than one commit removes", async () => {
    const memories = Array.from({ length: 60 }, (_, at) => ({
      kind: "home",
      data: { email: "a@x.org", city: `city ${at}` }
    }))
    const first = await alice.create("many", memories)
    await alice.create("many", memories)
    expect((await remove(first[30].id, "?versions=all")).body).toEqual({ success: true, deleted: 120 })
    expect(await left("many")).toEqual([])
  })
})

describe("a batch delete", () => {
  it("by ids lists what is the latest again, and with all versions nothing is", async () => {
    const one = await versions("batch", ["Oslo", "Bergen", "Tromsø"])
    const two = await versions("batch", ["Rome", "Milan"], { subjectId: "two" })
    expect((await removeBatch({ ids: [one[2], one[1], two[0]] })).body).toEqual({
      success: true,
      deleted: 3,
      revived: [one[0]]
    })
    await versions("batch", ["Bergen"])
    expect((await removeBatch({ ids: [one[0], two[1]], versions: "all", dryRun: true })).body.deleted).toBe(3)
    expect((await removeBatch({ ids: [one[0], two[1]], versions: "all" })).body).toEqual({ success: true, deleted: 3 })
    expect(await left("batch")).toEqual([])
  })

  it("by thread brings back the version of another thread, unless all go", async () => {
    const [first] = await versions("threads", ["Oslo"], { threadId: "t1" })
    await versions("threads", ["Bergen"], { threadId: "t2" })
    const filters = { agentId: "threads", threadId: "t2" }
    expect((await removeBatch({ filters, versions: "all", dryRun: true })).body.deleted).toBe(2)
    expect((await removeBatch({ filters })).body).toEqual({ success: true, deleted: 1, revived: [first] })
    await versions("threads", ["Bergen"], { threadId: "t2" })
    expect((await removeBatch({ filters, versions: "all" })).body).toEqual({ success: true, deleted: 2 })
    expect(await left("threads")).toEqual([])
  })
})

describe("who forgets", () => {
  it("by MCP does not get the version before back, unless it asks for one", async () => {
    const mcp = await mcpCaller(server, alice.key)
    const [, named] = await versions("mcp", ["Oslo", "Bergen"])
    expect((await mcp.call("memory_delete", { id: named })).json).toMatchObject({ success: true, deleted: 2 })
    expect(await left("mcp")).toEqual([])
    const [older, newer] = await versions("mcp", ["Oslo", "Bergen"])
    expect((await mcp.call("memory_delete", { id: newer, versions: "one" })).json).toMatchObject({ revived: older })
    await versions("mcp", ["Bergen"])
    expect((await mcp.call("memory_batch_delete", { ids: [older] })).json).toMatchObject({ deleted: 2 })
    expect(await left("mcp")).toEqual([])
    await mcp.close()
  })

  it("by the client neither", async () => {
    const client = new Muniment({ baseUrl: server.url, apiKey: alice.key })
    const [, named] = await versions("client", ["Oslo", "Bergen"])
    expect(await client.forget(named!)).toEqual({ success: true, deleted: 2 })
    const [older, newer] = await versions("client", ["Oslo", "Bergen"])
    expect(await client.delete(newer!)).toEqual({ success: true, revived: older })
    expect(await client.delete(older!, { versions: "all" })).toEqual({ success: true, deleted: 1 })
    expect(await left("client")).toEqual([])
  })
})
