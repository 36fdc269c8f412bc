/** Conditions (contract: Search, `where`) on every way in, and what is refused of them. */
import fc from "fast-check"
import { beforeAll, describe, expect, it } from "vitest"
import { mcpCaller } from "../support/McpCalls.ts"
import { accountCalls, schemaText, text, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { refusalOf } from "../support/TestServer.ts"
import { whereCases } from "../support/whereCases.ts"

const server = useSharedServer(withoutModel)
const calls = useAccount(server, "conditions")

const people = [
  { email: "ann", city: "Oslo", age: 30, since: "2026-03-01", likes: ["figs", "tea"], home: { floor: 2 } },
  { email: "bob", city: "Oslo", age: 41, since: "2026-05-01", likes: ["figs"], home: { floor: 5 } },
  { email: "cid", city: "Bergen", age: 30, since: "2025-01-01", likes: [], nick: null }
]

beforeAll(async () => {
  const schema = schemaText({ email: text })
  const registered = { name: "person", description: "d", uniqueOn: ["email"], schema }
  expect((await calls.post("/v1/schemas", registered)).status).toBe(200)
  for (const [at, data] of people.entries()) await calls.create(`agent-${at % 2}`, [{ kind: "person", data }])
})

interface Person {
  readonly data: { readonly email: string }
}
const emails = (memories: ReadonlyArray<Person>) => memories.map(({ data }) => data.email).sort()
const inUrl = (where: object) => `where=${encodeURIComponent(JSON.stringify(where))}`

const listed = async (where: object, rest = "") => {
  const { body, status } = await calls.call("GET", `/v1/memories?${inUrl(where)}${rest}`)
  expect([status, body.error]).toEqual([200, undefined])
  expect(body.total).toBe(body.memories.length)
  return emails(body.memories)
}

const cases: ReadonlyArray<readonly [object, ReadonlyArray<string>]> = [
  [{ "data.city": "Oslo" }, ["ann", "bob"]],
  [{ "data.city": "Oslo", "data.age": { lt: 41 } }, ["ann"]],
  [{ or: [{ "data.city": "Bergen" }, { "data.age": { gt: 40 } }] }, ["bob", "cid"]],
  [{ not: { "data.likes": "tea" } }, ["bob", "cid"]],
  [{ "data.likes": { in: ["tea", "milk"] } }, ["ann"]],
  [{ "data.since": { gte: "2026-03-01", lte: "2026-12-31" } }, ["ann", "bob"]],
  [{ "data.home.floor": { gte: 5 } }, ["bob"]],
  [{ "data.home": { exists: false } }, ["cid"]],
  [{ "data.nick": { exists: true } }, ["cid"]],
  [{ "data.city": { ne: "Oslo" } }, ["cid"]],
  [{ and: [{ "data.age": 30 }, { not: { or: [{ "data.nick": null }, { "data.city": "Rome" }] } }] }, ["ann"]],
  [{ "metadata.city": "Oslo" }, []]
]

describe("a condition", () => {
  it.each(cases)(
    "%j lets through %j: list, facets, both searches, batch search, dry run of a removal",
    async (where, right) => {
      expect(await listed(where)).toEqual(right)
      const facets = await calls.call("GET", `/v1/memories/facets?facet=kinds&${inUrl(where)}`)
      expect(facets.body.values).toEqual(
        right.length === 0 ? [] : [expect.objectContaining({ memories: right.length })]
      )
      const query = "ann bob cid"
      const found = await calls.call("GET", `/v1/memories/search?query=${encodeURIComponent(query)}&${inUrl(where)}`)
      expect(emails(found.body.memories)).toEqual(right)
      const byBody = await calls.post("/v1/memories/search", { query, where, recall: "strict" })
      expect(emails(byBody.body.memories)).toEqual(right)
      const batch = await calls.post("/v1/memories/batch/search", {
        queries: [{ query, filters: { where } }, { query }]
      })
      expect(batch.body.results.map(({ memories }: { memories: ReadonlyArray<Person> }) => emails(memories))).toEqual([
        right,
        ["ann", "bob", "cid"]
      ])
      const counted = await calls.post("/v1/memories/batch/delete", { filters: { where }, dryRun: true })
      expect([counted.status, counted.body.deleted]).toEqual([200, right.length])
    }
  )

  it("narrows beside the other filters, `data` too", async () => {
    expect(await listed({ "data.city": "Oslo" }, "&agentId=agent-1")).toEqual(["bob"])
    const data = encodeURIComponent('{"age":30}')
    expect(await listed({ "data.likes": { exists: true } }, `&data=${data}`)).toEqual(["ann", "cid"])
  })

  it("is an argument of the tools for searching and deleting", async () => {
    const mcp = await mcpCaller(server, calls.key)
    const found = await mcp.call("memory_search", { query: "bob ann", where: { "data.age": { gt: 30 } } })
    expect(found.json.memories).toMatchObject([{ data: { email: "bob" } }])
    const counted = await mcp.call("memory_batch_delete", {
      filters: { where: { "data.age": { gt: 30 } } },
      dryRun: true
    })
    expect(counted.json.deleted).toBe(1)
  })
})

it("lists what its parts say, for conditions of every form", async () => {
  const names = ["city", "age", "likes", "home", "floor", "nick"]
  const value = fc.constantFrom("Oslo", "Bergen", "figs", 2, 30, 41, true, null)
  for (const { holds, where } of fc.sample(whereCases(["data"], names, value), { numRuns: 60, seed: 7 })) {
    const right = people.flatMap((data) => (holds({ data: data as never }) ? [data.email] : []))
    expect(await listed(where), JSON.stringify(where)).toEqual(right)
  }
})

describe("a removal by a condition", () => {
  it("takes what matches with all versions, and leaves the rest", async () => {
    const own = await accountCalls(server, "conditions-removing")
    const schema = schemaText({ email: text })
    await own.post("/v1/schemas", { name: "person", description: "d", uniqueOn: ["email"], schema })
    for (let age = 0; age < 120; age++) await own.create("a", [{ kind: "person", data: { email: `${age % 40}`, age } }])
    const filters = { agentId: "a", where: { "data.age": { gte: 80 }, "data.email": { in: ["1", "2"] } } }
    const one = await own.post("/v1/memories/batch/delete", { filters })
    expect([one.body.deleted, one.body.revived.length]).toEqual([2, 2])
    const all = await own.post("/v1/memories/batch/delete", {
      filters: { where: { "data.age": { lt: 40 } } },
      versions: "all"
    })
    expect(all.body.deleted).toBe(118)
    expect((await own.call("GET", "/v1/memories?includeSuperseded=true")).body.total).toBe(0)
  })

  it("takes with a message what was extracted from it alone", async () => {
    const own = await accountCalls(server, "conditions-messages")
    const conversation = [{ id: "m1", role: "user", content: "My name is Alice and I live in Seattle." }]
    const stored = await own.post("/v1/memories", { agentId: "a", conversation, wait: "extraction" })
    expect(stored.body.created.length).toBeGreaterThan(0)
    const filters = { where: { "data.role": "user" } }
    expect((await own.post("/v1/memories/batch/delete", { filters })).body.deleted).toBe(1)
    expect((await own.call("GET", "/v1/memories")).body.total).toBe(0)
  })

  it("by a key that is bound to a subject takes nothing of others", async () => {
    const own = await accountCalls(server, "conditions-bound")
    const memory = (city: string) => ({ kind: "factual_memory", data: { subject: "s", fact: "f", city } })
    for (const subjectId of ["u1", "u2"]) await own.create("a", [memory("Oslo"), memory("Rome")], { subjectId })
    const { body, status } = await own.post("/v1/keys", { subjects: ["u1"] })
    expect([status, body.error]).toEqual([200, undefined])
    const filters = { where: { "data.city": "Oslo" } }
    const removed = await server.call("POST", "/v1/memories/batch/delete", { key: body.secret, body: { filters } })
    expect([removed.status, removed.body.deleted]).toEqual([200, 1])
    expect((await own.call("GET", "/v1/memories?subjectId=u2")).body.total).toBe(2)
    expect((await own.call("GET", "/v1/memories?subjectId=u1")).body.total).toBe(1)
  })
})

describe("is refused, with its place", () => {
  it.each([
    [{}, "/where"],
    [{ $and: [{ "data.a": 1 }] }, "/where/$and"],
    [{ city: "Oslo" }, "/where/city"],
    [{ "data.": 1 }, "/where/data."],
    [{ "data.a": { $eq: 1 } }, "/where/data.a/$eq"],
    [{ "data.a": [1] }, "/where/data.a"],
    [{ "data.a": { gt: true } }, "/where/data.a/gt"],
    [{ "data.a": { in: [] } }, "/where/data.a/in"],
    [{ and: [] }, "/where/and"],
    [{ or: [{ "data.a": 1 }, { not: [] }] }, "/where/or/1/not"]
  ])("%j", async (where, place) => {
    const body = await calls.post("/v1/memories/search", { query: "ann", where })
    expect([body.status, body.body.code, body.body.details[0]?.path]).toEqual([400, "invalid_request", place])
    const url = await calls.call("GET", `/v1/memories?${inUrl(where)}`)
    expect([url.status, url.body.code, url.body.details[0]?.path]).toEqual([400, "invalid_request", "/where"])
    const removal = await calls.post("/v1/memories/batch/delete", { filters: { where } })
    expect([removal.status, removal.body.details[0]?.path]).toEqual([400, `/filters${place}`])
  })

  it.each(["x", "[]", "null", "1"])("the text %s", async (where) => {
    expect(refusalOf(await calls.call("GET", `/v1/memories?where=${where}`))).toEqual([400, "invalid_request"])
  })
})
