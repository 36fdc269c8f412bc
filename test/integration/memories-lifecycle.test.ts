/** Expiry, changes and removal of a memory (contract: Memories). */
import { beforeAll, describe, expect, it } from "vitest"
import { fact, idsOf, schemaText, text, untilMoment, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"
import { refusalOf } from "../support/TestServer.ts"

const farFuture = 4_102_444_800_000
const hourMillis = 3_600_000

const server = useSharedServer()
const alice = useAccount(server, "alice")

beforeAll(async () => {
  const schema = schemaText({ email: text, name: text })
  await alice.post("/v1/schemas", { name: "contact", description: "A contact", uniqueOn: ["email"], schema })
})

/** A moment that is near, and far enough away for what a test does before it. */
const soon = () => Date.now() + 5_000
const contact = (name: string) => ({ kind: "contact", data: { email: "a@x.org", name } })
const patch = (id: string, body: object) => alice.call("PATCH", `/v1/memories/${id}`, { body })
const statusOf = async (id: string) => (await alice.call("GET", `/v1/memories/${id}`)).status
const totalOf = async (agentId: string) => (await alice.call("GET", `/v1/memories?agentId=${agentId}`)).body.total

/** The memory is in no answer of any route, and no route can change it. */
const expectGone = async (agentId: string, id: string, query: string) => {
  expect(await statusOf(id)).toBe(404)
  expect((await patch(id, { expiresAt: null })).body.code).toBe("memory_not_found")
  expect((await alice.call("DELETE", `/v1/memories/${id}`)).body.code).toBe("memory_not_found")
  expect(idsOf(await alice.search({ query, agentId, includeSuperseded: "true" }))).not.toContain(id)
  const { body } = await alice.call("GET", `/v1/memories?agentId=${agentId}&includeSuperseded=true`)
  expect(idsOf(body.memories)).not.toContain(id)
  const ids = [id]
  expect((await alice.post("/v1/memories/batch/update", { ids, update: { tags: ["x"] } })).body.updated).toBe(0)
  expect((await alice.post("/v1/memories/batch/delete", { ids, dryRun: true })).body.deleted).toBe(0)
  expect((await alice.post("/v1/memories/batch/delete", { ids })).body.deleted).toBe(0)
}

describe("an expiry", () => {
  it("of a request is ttl from now, or the moment given", async () => {
    const [ttl] = await alice.create("request", [fact("a", "b")], { ttl: "24h" })
    expect(ttl.metadata.expiresAt).toBe(ttl.metadata.createdAt + 24 * hourMillis)
    const [moment] = await alice.create("request", [fact("a", "b")], { expiresAt: farFuture })
    expect(moment.metadata.expiresAt).toBe(farFuture)
  })

  it("knows seconds, minutes, hours, days and weeks", async () => {
    const units = { "30s": 30_000, "5m": 300_000, "1h": hourMillis, "7d": 7 * 24 * hourMillis, "2w": 336 * hourMillis }
    for (const [ttl, millis] of Object.entries(units)) {
      const [{ metadata }] = await alice.create("units", [{ ...fact("a", "b"), ttl }])
      expect(metadata.expiresAt - metadata.createdAt).toBe(millis)
    }
  })

  it("of a memory beats both of the request, and expiresAt beats ttl on one level", async () => {
    const memories = [
      { ...fact("own", "ttl"), ttl: "1h" },
      { ...fact("own", "moment"), expiresAt: farFuture + 1 },
      { ...fact("own", "both"), ttl: "1h", expiresAt: farFuture + 2 },
      fact("own", "none")
    ]
    const created = await alice.create("levels", memories, { ttl: "2h", expiresAt: farFuture })
    expect(created.map(({ metadata }) => metadata.expiresAt)).toEqual([
      created[0].metadata.createdAt + hourMillis,
      farFuture + 1,
      farFuture + 2,
      farFuture
    ])
  })

  it("that nobody gave is none: the memory is permanent", async () => {
    const [entry] = await alice.create("permanent", [fact("a", "b")])
    expect(entry.metadata).not.toHaveProperty("expiresAt")
  })

  it.each(["0s", "-1h", "1", "h", "1.5h", "1y", "1H", " 1h", "01h", "3651d", "999999999999w", ""])(
    "of the form %j is refused",
    async (ttl) => {
      const { status, body } = await alice.post("/v1/memories", { agentId: "form", memories: [fact("a", "b")], ttl })
      expect([status, body.code]).toEqual([400, "invalid_duration"])
    }
  )

  it("may be 3,650 days away", async () => {
    expect(await alice.create("form", [fact("a", "b")], { ttl: "3650d" })).toHaveLength(1)
  })
})

describe("PATCH", () => {
  it("sets the expiry, and null makes the memory permanent again", async () => {
    const [entry] = await alice.create("patch", [fact("a", "b")])
    const set = await patch(entry.id, { expiresAt: farFuture })
    expect(set.body.memory.metadata.expiresAt).toBe(farFuture)
    const cleared = await patch(entry.id, { expiresAt: null })
    expect(cleared.status).toBe(200)
    expect(cleared.body.memory.metadata).not.toHaveProperty("expiresAt")
    expect((await alice.get(entry.id)).metadata).not.toHaveProperty("expiresAt")
  })

  it("replaces the tags, drops duplicates in order and leaves the rest as it is", async () => {
    const [entry] = await alice.create("tags", [{ ...fact("a", "b"), expiresAt: farFuture }])
    const { status, body } = await patch(entry.id, { tags: ["b", "a", "b"] })
    expect(status).toBe(200)
    expect(body).toEqual({
      success: true,
      memory: {
        id: entry.id,
        kind: "factual_memory",
        data: entry.data,
        metadata: { ...entry.metadata, tags: ["b", "a"], updatedAt: expect.any(Number) },
        context: { mentions: [], tags: ["b", "a"], isLatest: true },
        source: "own",
        version: expect.any(String)
      }
    })
    expect((await patch(entry.id, { tags: ["c"] })).body.memory.context.tags).toEqual(["c"])
    expect((await patch(entry.id, { tags: [] })).body.memory.context.tags).toEqual([])
  })

  it("takes 32 tags of 32 characters, and not one more of either", async () => {
    const [entry] = await alice.create("tags", [fact("a", "b")])
    const tags = Array.from({ length: 32 }, (_, at) => String(at).padStart(32, "t"))
    expect((await patch(entry.id, { tags })).status).toBe(200)
    // Characters are code points, as JSON Schema counts them: each of these is two UTF-16 units.
    const wide = ["\u{1F600}".repeat(32)]
    expect((await patch(entry.id, { tags: wide })).body.memory.context.tags).toEqual(wide)
    for (const bad of [[...tags, "one more"], ["x".repeat(33)], ["\u{1F600}".repeat(33)], [""], [7], "tag"]) {
      expect(refusalOf(await patch(entry.id, { tags: bad }))).toEqual([400, "invalid_tag"])
    }
  })

  it.each([
    ["nothing", {}],
    ["data that is no object", { data: "y" }],
    ["an unknown field beside a known one", { tags: ["x"], kind: "contact" }],
    ["ttl", { ttl: "1h" }]
  ])("of %s is refused, so that nobody believes it was changed", async (_, body) => {
    const [entry] = await alice.create("strict", [fact("a", "b")])
    const answer = await patch(entry.id, body)
    expect(answer.status).toBe(400)
    expect(await alice.get(entry.id)).toMatchObject({ data: entry.data, context: { tags: [] } })
  })
})

describe("the older version", () => {
  it("is latest again when the newer one is deleted", async () => {
    const [old] = await alice.create("deleted", [contact("old")])
    const [newer] = await alice.create("deleted", [contact("new")])
    expect((await alice.get(old.id)).context.isLatest).toBe(false)
    await alice.call("DELETE", `/v1/memories/${newer.id}`)
    expect((await alice.get(old.id)).context.isLatest).toBe(true)
    expect(idsOf(await alice.search({ query: "contact", agentId: "deleted" }))).toEqual([old.id])
  })

  it("stays superseded when one of two newer ones goes", async () => {
    const [first, second, third] = await alice.create("two", [contact("1"), contact("2"), contact("3")])
    await alice.call("DELETE", `/v1/memories/${third.id}`)
    expect((await alice.get(first.id)).context.isLatest).toBe(false)
    expect((await alice.get(second.id)).context.isLatest).toBe(true)
  })
})

describe("DELETE", () => {
  it("answers success and nothing else, and the memory is gone for every route", async () => {
    const [entry] = await alice.create("delete", [fact("Jo", "Jo juggles")])
    const { status, body } = await alice.call("DELETE", `/v1/memories/${entry.id}`)
    expect([status, body]).toEqual([200, { success: true }])
    await expectGone("delete", entry.id, "juggles")
  })
})

/** At once: each waits for its moment. */
describe.concurrent("an expiry that comes soon", () => {
  it("takes the memory out of every answer at once, before any sweep", async () => {
    const expiresAt = soon()
    const [entry, other] = await alice.create("at-once", [
      { ...fact("Gus", "Gus paints walruses"), expiresAt },
      fact("Gus", "Gus paints seals")
    ])
    expect(await statusOf(entry.id)).toBe(200)
    expect(await totalOf("at-once")).toBe(2)
    await untilMoment(expiresAt)
    await expectGone("at-once", entry.id, "walruses")
    expect(await totalOf("at-once")).toBe(1)
    expect(await statusOf(other.id)).toBe(200)
    const { agents } = (await alice.call("GET", "/v1/account")).body
    expect(agents).toContainEqual({ agentId: "at-once", memories: 1 })
  })

  it("that is taken back before keeps the memory beyond it", async () => {
    const expiresAt = soon()
    const [entry] = await alice.create("saved", [{ ...fact("a", "b"), expiresAt }])
    await patch(entry.id, { expiresAt: null })
    await untilMoment(expiresAt)
    expect(await statusOf(entry.id)).toBe(200)
  })

  it("that PATCH sets answers the memory until then", async () => {
    const [entry] = await alice.create("patched-away", [fact("Ida", "Ida left")])
    const expiresAt = soon()
    expect((await patch(entry.id, { expiresAt })).body.memory.id).toBe(entry.id)
    await untilMoment(expiresAt)
    await expectGone("patched-away", entry.id, "Ida")
  })

  it("of the newer version makes the older one the latest again", async () => {
    const expiresAt = soon()
    const [old] = await alice.create("expires", [contact("old")])
    const [newer] = await alice.create("expires", [{ ...contact("new"), expiresAt }])
    expect(idsOf(await alice.search({ query: "contact", agentId: "expires" }))).toEqual([newer.id])
    await untilMoment(expiresAt)
    expect((await alice.get(old.id)).context.isLatest).toBe(true)
    expect(idsOf(await alice.search({ query: "contact", agentId: "expires" }))).toEqual([old.id])
  })
})
