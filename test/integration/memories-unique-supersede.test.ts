/** `uniqueOn`: a new memory supersedes the older one of the same entity (contract: Schemas). */
import { beforeAll, describe, expect, it } from "vitest"
import { idsOf, schemaText, text, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"

const server = useSharedServer()
const alice = useAccount(server, "alice")

beforeAll(async () => {
  const register = (name: string, uniqueOn: ReadonlyArray<string>, properties: object) =>
    alice.post("/v1/schemas", { name, description: name, uniqueOn, schema: schemaText(properties) })
  await register("contact", ["email"], { email: text, name: text })
  await register("profile", ["kind"], { bio: text })
  await register("place", ["where", "floor"], { where: { type: "object" }, floor: {}, note: text })
  await register("other_contact", ["email"], { email: text, name: text })
})

const contact = (email: string, name: string) => ({ kind: "contact", data: { email, name } })

const listed = async (parameters: Readonly<Record<string, string>>) => {
  const { body } = await alice.call("GET", `/v1/memories?${new URLSearchParams(parameters)}`)
  return body.memories as Array<{ id: string; data: { name: string }; context: { isLatest: boolean } }>
}

describe("a memory with the unique values of a stored one", () => {
  it("supersedes it: created anew, while the old one stays readable and is not the latest", async () => {
    const [old] = await alice.create("chain", [contact("ann@x.org", "Ann")])
    const answer = await alice.post("/v1/memories", { agentId: "chain", memories: [contact("ann@x.org", "Anna")] })
    const [newer] = answer.body.created
    expect(answer.body.updated).toEqual([])
    expect(newer.id).not.toBe(old.id)
    expect(newer.metadata.supersedes).toBe(old.id)
    expect((await alice.get(old.id)).context.isLatest).toBe(false)
    expect((await alice.get(old.id)).data.name).toBe("Ann")
    expect((await alice.get(newer.id)).context.isLatest).toBe(true)
  })

  it("takes its place in search and listing, where includeSuperseded brings the old one back", async () => {
    const [old] = await alice.create("hidden", [contact("bo@x.org", "Bo the first")])
    const [newer] = await alice.create("hidden", [contact("bo@x.org", "Bo the second")])
    const search = { query: "Bo", agentId: "hidden" }
    expect(idsOf(await alice.search(search))).toEqual([newer.id])
    const all = await alice.search({ ...search, includeSuperseded: "true" })
    expect(idsOf(all).sort()).toEqual([old.id, newer.id].sort())
    expect(all.find(({ id }) => id === old.id).context.isLatest).toBe(false)
    expect(idsOf(await listed({ agentId: "hidden" }))).toEqual([newer.id])
    expect(idsOf(await listed({ agentId: "hidden", includeSuperseded: "true" }))).toEqual([newer.id, old.id])
    const batch = { queries: [{ query: "Bo", filters: { agentId: "hidden", includeSuperseded: true } }] }
    expect((await alice.post("/v1/memories/batch/search", batch)).body.results[0].memories).toHaveLength(2)
  })

  it("supersedes nothing of another agent, subject or kind; no subject counts as a subject of its own", async () => {
    const [first] = await alice.create("scope", [contact("cy@x.org", "none")])
    const [second] = await alice.create("scope", [contact("cy@x.org", "u1")], { subjectId: "u1" })
    const [third] = await alice.create("scope", [contact("cy@x.org", "u2")], { subjectId: "u2" })
    const [fourth] = await alice.create("scope-2", [contact("cy@x.org", "agent")])
    const [fifth] = await alice.create("scope", [{ ...contact("cy@x.org", "kind"), kind: "other_contact" }])
    for (const { id } of [first, second, third, fourth, fifth]) {
      expect((await alice.get(id)).context.isLatest).toBe(true)
    }
  })

  it("supersedes whatever the thread", async () => {
    const [old] = await alice.create("threads", [contact("di@x.org", "Di")], { threadId: "t1" })
    const [newer] = await alice.create("threads", [contact("di@x.org", "Diana")], { threadId: "t2" })
    expect(newer.metadata.supersedes).toBe(old.id)
  })

  it("is the same entity by canonical JSON of the values: key order is nothing, type is everything", async () => {
    const place = (where: object, floor: unknown) => ({ kind: "place", data: { where, floor } })
    const [first] = await alice.create("canonical", [place({ city: "Oslo", street: "A" }, 1)])
    const [second] = await alice.create("canonical", [place({ street: "A", city: "Oslo" }, 1)])
    const [third] = await alice.create("canonical", [place({ city: "Oslo", street: "A" }, "1")])
    expect(second.metadata.supersedes).toBe(first.id)
    expect(third.metadata.supersedes).toBeUndefined()
  })

  it("of a kind that is unique on its kind leaves one memory of the kind", async () => {
    const profile = (bio: string) => ({ kind: "profile", data: { bio } })
    await alice.create("one", [profile("young")])
    const [newer] = await alice.create("one", [profile("old")])
    expect(idsOf(await listed({ agentId: "one" }))).toEqual([newer.id])
  })

  it("has its id ignored, because the service makes it", async () => {
    const [old] = await alice.create("ignored", [contact("ed@x.org", "Ed")])
    const [newer] = await alice.create("ignored", [{ ...contact("ed@x.org", "Edward"), id: old.id }])
    expect(newer.id).not.toBe(old.id)
    expect(newer.metadata.supersedes).toBe(old.id)
  })

  it("needs every unique field", async () => {
    const { status, body } = await alice.post("/v1/memories", {
      agentId: "missing",
      memories: [contact("x@x.org", "fine"), { kind: "contact", data: { name: "no mail" } }]
    })
    expect([status, body.code, body.details[0].index]).toEqual([400, "unique_field_missing", 1])
    expect(await listed({ agentId: "missing" })).toEqual([])
  })
})

describe("versions of one entity", () => {
  it("in one request supersede each other in their order", async () => {
    const [first, second, third] = await alice.create(
      "request",
      ["one", "two", "three"].map((name) => contact("fy@x.org", name))
    )
    expect([second.metadata.supersedes, third.metadata.supersedes]).toEqual([first.id, second.id])
    expect(idsOf(await listed({ agentId: "request" }))).toEqual([third.id])
  })

  it("from concurrent writers make one chain with one latest", async () => {
    const writers = Array.from({ length: 24 }, (_, at) => alice.create("race", [contact("go@x.org", `writer ${at}`)]))
    const created = (await Promise.all(writers)).flat()
    expect(await listed({ agentId: "race" })).toHaveLength(1)
    const all = await listed({ agentId: "race", includeSuperseded: "true" })
    expect(all).toHaveLength(24)
    expect(all.filter(({ context }) => context.isLatest)).toHaveLength(1)
    const superseded = created.map(({ metadata }) => metadata.supersedes).filter((id) => id !== undefined)
    expect(new Set(superseded).size).toBe(23)
  })

  it("all go when a batch delete by filter takes their kind", async () => {
    await alice.create("sweep", [contact("ha@x.org", "one"), contact("ha@x.org", "two"), contact("hb@x.org", "three")])
    const { body } = await alice.post("/v1/memories/batch/delete", {
      filters: { agentId: "sweep", kind: "contact" }
    })
    expect(body).toEqual({ success: true, deleted: 3 })
    expect(await listed({ agentId: "sweep", includeSuperseded: "true" })).toEqual([])
  })

  it("can each be tagged and deleted, and the newest that is left is the latest", async () => {
    const [first, second, third] = await alice.create(
      "each",
      ["one", "two", "three"].map((name) => contact("iv@x.org", name))
    )
    const patched = await alice.call("PATCH", `/v1/memories/${first.id}`, { body: { tags: ["history"] } })
    expect(patched.body.memory.context).toMatchObject({ tags: ["history"], isLatest: false })
    await alice.call("DELETE", `/v1/memories/${second.id}`)
    expect((await alice.get(first.id)).context.isLatest).toBe(false)
    expect((await alice.get(third.id)).metadata.supersedes).toBe(first.id)
    await alice.call("DELETE", `/v1/memories/${third.id}`)
    expect((await alice.get(first.id)).context.isLatest).toBe(true)
  })
})
