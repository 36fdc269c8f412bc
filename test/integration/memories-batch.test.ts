/** The batch endpoints (contract: Memories). */
import { describe, expect, it } from "vitest"
import { fact, idsOf, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"

const server = useSharedServer()
const alice = useAccount(server, "alice")
const bob = useAccount(server, "bob")

const unknown = "mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"
const numbered = (count: number) => Array.from({ length: count }, (_, at) => fact("n", `number ${at}`))
const remove = (body: object) => alice.post("/v1/memories/batch/delete", body)
const update = (body: object) => alice.post("/v1/memories/batch/update", body)
const search = (body: object) => alice.post("/v1/memories/batch/search", body)
const totalOf = async (agentId: string) =>
  (await alice.call("GET", `/v1/memories?agentId=${agentId}&includeSuperseded=true`)).body.total

const refusal = async (answer: ReturnType<typeof remove>) => {
  const { status, body } = await answer
  return [status, body.code]
}

describe("batch/search", () => {
  it("gives one result for each query, in their order, as single searches do", async () => {
    await alice.create("search", [fact("Ann", "Ann keeps bees"), fact("Bo", "Bo sails a yacht")])
    const queries = ["bees", "yacht", "bees"].map((query) => ({ query, filters: { agentId: "search" } }))
    const { status, body } = await search({ queries, scope: "own" })
    expect(status).toBe(200)
    expect(body).toEqual({
      success: true,
      results: [{ memories: expect.any(Array) }, expect.anything(), expect.anything()],
      searchedAt: expect.any(String)
    })
    for (const [at, { query }] of queries.entries()) {
      expect(body.results[at].memories).toEqual(await alice.search({ query, agentId: "search" }))
    }
    expect(
      body.results.map(
        ({ memories }: { memories: ReadonlyArray<{ data: { subject: string } }> }) => memories[0]?.data.subject
      )
    ).toEqual(["Ann", "Bo", "Ann"])
  })

  it("filters each query by itself and limits it by itself", async () => {
    await alice.create("f1", numbered(12), { subjectId: "s1", threadId: "t1" })
    const [other] = await alice.create("f2", [fact("n", "number")], { subjectId: "s2" })
    await alice.call("PATCH", `/v1/memories/${other.id}`, { body: { tags: ["x", "y"] } })
    const { body } = await search({
      queries: [
        { query: "number", filters: { agentId: "f1" } },
        { query: "number", filters: { agentId: "f1" }, limit: 12 },
        { query: "number", filters: { subjectId: "s2" } },
        { query: "number", filters: { threadId: "t1", kind: "factual_memory" }, limit: 1 },
        { query: "number", filters: { tags: ["y", "z"] } },
        { query: "number", filters: { kind: "unheard_of" } }
      ]
    })
    expect(body.results.map(({ memories }: { memories: Array<unknown> }) => memories.length)).toEqual([
      10, 12, 1, 1, 1, 0
    ])
  })

  it("takes 1 to 10 queries, and one bad query fails all", async () => {
    const queries = (count: number) => Array.from({ length: count }, () => ({ query: "q", filters: {} }))
    expect((await search({ queries: queries(10) })).status).toBe(200)
    expect(await refusal(search({ queries: queries(11) }))).toEqual([400, "batch_too_large"])
    expect(await refusal(search({ queries: [] }))).toEqual([400, "invalid_request"])
    expect(await refusal(search({}))).toEqual([400, "invalid_request"])
    expect(await refusal(search({ queries: [...queries(3), { query: " ", filters: {} }] }))).toEqual([
      400,
      "invalid_request"
    ])
    expect(await refusal(search({ queries: [{ query: "q", limit: 101 }] }))).toEqual([400, "invalid_request"])
    expect((await refusal(search({ queries: [{ query: "q", filters: { agentId: 7 } }] })))[0]).toBe(400)
    expect(await refusal(search({ queries: queries(1), scope: "nowhere" }))).toEqual([400, "invalid_request"])
    expect(await refusal(search({ queries: queries(1), scope: "shared" }))).toEqual([400, "grants_required"])
  })
})

describe("batch/delete by ids", () => {
  it("counts what it removed: duplicates once, unknown, foreign and expired ids not at all", async () => {
    const [one, two, kept] = await alice.create("ids", numbered(3))
    const expired = await alice.createExpired("ids", fact("a", "b"))
    const [foreign] = await bob.create("ids", numbered(1))
    const ids = [one.id, two.id, one.id, unknown, "no id", expired.id, foreign.id]
    expect((await remove({ ids })).body).toEqual({ success: true, deleted: 2 })
    expect((await remove({ ids })).body).toEqual({ success: true, deleted: 0 })
    expect((await alice.get(kept.id)).id).toBe(kept.id)
    expect((await bob.get(foreign.id)).id).toBe(foreign.id)
  })

  it("reaches over agents", async () => {
    const [one] = await alice.create("over-1", numbered(1))
    const [two] = await alice.create("over-2", numbered(1))
    expect((await remove({ ids: [one.id, two.id] })).body.deleted).toBe(2)
  })

  it("takes 1 to 100 ids", async () => {
    const created = idsOf(await alice.create("hundred", numbered(100)))
    expect(await refusal(remove({ ids: [...created, unknown] }))).toEqual([400, "batch_too_large"])
    expect(await refusal(remove({ ids: [] }))).toEqual([400, "invalid_request"])
    expect(await refusal(remove({ ids: "all" }))).toEqual([400, "invalid_request"])
    expect(await refusal(remove({ ids: [7] }))).toEqual([400, "invalid_request"])
    expect(await totalOf("hundred")).toBe(100)
    expect((await remove({ ids: created })).body.deleted).toBe(100)
  })
})

describe("batch/delete by filters", () => {
  it("removes what all filters let through, however much it is", async () => {
    for (let part = 0; part < 3; part++) await alice.create("many", numbered(90), { subjectId: "gone" })
    await alice.create("many", numbered(2), { subjectId: "stays" })
    const filters = { agentId: "many", subjectId: "gone", kind: "factual_memory" }
    expect((await remove({ filters })).body).toEqual({ success: true, deleted: 270 })
    expect(await totalOf("many")).toBe(2)
  })

  it("knows agentId, subjectId, threadId, kind and tags", async () => {
    const extra = { subjectId: "fs", threadId: "ft" }
    const event = { kind: "temporal_event", data: { event: "e" } }
    const [, tagged] = await alice.create("filters", [event, fact("a", "b"), fact("c", "d"), fact("e", "f")], extra)
    await alice.call("PATCH", `/v1/memories/${tagged.id}`, { body: { tags: ["drop"] } })
    const count = async (filters: object) => (await remove({ filters, dryRun: true })).body.deleted
    expect(await count({ agentId: "filters" })).toBe(4)
    expect(await count({ subjectId: "fs" })).toBe(4)
    expect(await count({ threadId: "ft" })).toBe(4)
    expect(await count({ agentId: "filters", kind: "temporal_event" })).toBe(1)
    expect(await count({ agentId: "filters", tags: ["drop", "other"] })).toBe(1)
    expect(await count({ agentId: "filters", tags: [] })).toBe(0)
    expect((await remove({ filters: { agentId: "filters", tags: ["drop"] } })).body.deleted).toBe(1)
    expect(await totalOf("filters")).toBe(3)
  })

  it("refuses filters that are empty, unknown or ill-typed, and ids beside them", async () => {
    const [entry] = await alice.create("refused", numbered(1))
    for (const filters of [{}, { agentId: 7 }, [], "all"]) {
      expect(await refusal(remove({ filters }))).toEqual([400, "invalid_filters"])
    }
    for (const filters of [{ agent: "refused" }, { agentId: "refused", colour: "x" }]) {
      expect(await refusal(remove({ filters }))).toEqual([400, "unknown_parameter"])
    }
    expect(await refusal(remove({ ids: [entry.id], filters: { agentId: "refused" } }))).toEqual([
      400,
      "invalid_filters"
    ])
    expect(await refusal(remove({}))).toEqual([400, "invalid_request"])
    expect(await totalOf("refused")).toBe(1)
  })
})

describe("batch/delete as a dry run", () => {
  it("counts what it would remove and removes nothing", async () => {
    const created = await alice.create("dry", numbered(3))
    const ids = [created[0].id, created[0].id, created[1].id, unknown]
    expect((await remove({ ids, dryRun: true })).body).toEqual({ success: true, deleted: 2, dryRun: true })
    expect((await remove({ filters: { agentId: "dry" }, dryRun: true })).body).toEqual({
      success: true,
      deleted: 3,
      dryRun: true
    })
    expect(await totalOf("dry")).toBe(3)
    expect((await remove({ filters: { agentId: "dry" }, dryRun: false })).body.deleted).toBe(3)
  })
})

describe("batch/update", () => {
  it("applies one patch to every id and counts what it changed", async () => {
    const created = await alice.create("update", numbered(2))
    const [foreign] = await bob.create("update", numbered(1))
    const ids = [...idsOf(created), created[0].id, unknown, foreign.id]
    const expiresAt = 4_102_444_800_000
    const { status, body } = await update({ ids, update: { tags: ["b", "a", "b"], expiresAt } })
    expect([status, body]).toEqual([200, { success: true, updated: 2 }])
    for (const { id } of created) {
      expect(await alice.get(id)).toMatchObject({ context: { tags: ["b", "a"] }, metadata: { expiresAt } })
    }
    expect((await bob.get(foreign.id)).context.tags).toEqual([])
    expect((await update({ ids, update: { expiresAt: null } })).body.updated).toBe(2)
    expect((await alice.get(created[0].id)).metadata).not.toHaveProperty("expiresAt")
  })

  it("takes 1 to 100 ids and the body of a single PATCH", async () => {
    const [entry] = await alice.create("update-rules", numbered(1))
    const ids = [entry.id]
    const tags = ["t"]
    expect(await refusal(update({ ids: Array(101).fill(entry.id), update: { tags } }))).toEqual([
      400,
      "batch_too_large"
    ])
    expect(await refusal(update({ ids: [], update: { tags } }))).toEqual([400, "invalid_request"])
    expect(await refusal(update({ ids }))).toEqual([400, "invalid_request"])
    expect(await refusal(update({ update: { tags } }))).toEqual([400, "invalid_request"])
    expect(await refusal(update({ ids, update: {} }))).toEqual([400, "invalid_request"])
    expect(await refusal(update({ ids, update: { tags, data: {} } }))).toEqual([400, "unknown_parameter"])
    expect(await refusal(update({ ids, update: { tags }, note: "x" }))).toEqual([400, "unknown_parameter"])
    expect(await refusal(update({ ids, update: { tags: [""] } }))).toEqual([400, "invalid_tag"])
    expect(await refusal(update({ ids, update: { expiresAt: "soon" } }))).toEqual([400, "invalid_expiry"])
    expect((await alice.get(entry.id)).context.tags).toEqual([])
  })
})
