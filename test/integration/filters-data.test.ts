/** Filters by values of the data (contract: Search, `data`): lists, searches and facets, in REST and in MCP. */
import { beforeAll, describe, expect, it } from "vitest"
import { mcpCaller } from "../support/McpCalls.ts"
import { accountCalls, schemaText, text, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"

const server = useSharedServer(withoutModel)
const calls = useAccount(server, "filterer")

const people = [
  { email: "ann@example.com", city: "Oslo", age: 30, friend: true, likes: ["figs", "tea"] },
  { email: "bob@example.com", city: "Oslo", age: 41, friend: false, likes: ["figs"] },
  { email: "cid@example.com", city: "Bergen", age: 30, friend: true, likes: [], nick: null }
]

beforeAll(async () => {
  const likes = { type: "array", items: text }
  const schema = schemaText({ email: text, city: text, age: { type: "number" }, friend: { type: "boolean" }, likes })
  expect(
    (await calls.post("/v1/schemas", { name: "person", description: "d", uniqueOn: ["email"], schema })).status
  ).toBe(200)
  for (const [at, data] of people.entries()) await calls.create(`agent-${at % 2}`, [{ kind: "person", data }])
})

const listed = async (data: object, rest = "") => {
  const { body, status } = await calls.call(
    "GET",
    `/v1/memories?data=${encodeURIComponent(JSON.stringify(data))}${rest}`
  )
  expect([status, body.error]).toEqual([200, undefined])
  expect(body.total).toBe(body.memories.length)
  return body.memories
    .map((memory: { readonly data: { readonly email: string } }) => memory.data.email.slice(0, 3))
    .sort()
}

describe("a list", () => {
  it("has the memories with all of the values, of several agents too", async () => {
    expect(await listed({ city: "Oslo" })).toEqual(["ann", "bob"])
    expect(await listed({ city: "Oslo", age: 30 })).toEqual(["ann"])
    expect(await listed({ friend: true })).toEqual(["ann", "cid"])
    expect(await listed({ nick: null })).toEqual(["cid"])
    expect(await listed({ likes: "figs" })).toEqual(["ann", "bob"])
    expect(await listed({ city: "Oslo" }, "&agentId=agent-1")).toEqual(["bob"])
  })

  it("compares values with their types, and finds nothing by a field that is not there", async () => {
    for (const data of [{ age: "30" }, { friend: 1 }, { city: "oslo" }, { toString: "x" }, { street: "Oslo" }])
      expect(await listed(data)).toEqual([])
  })

  it("follows changes at once: new versions, changes in place, removals", async () => {
    const own = await accountCalls(server, "changing")
    const fact = (subject: string) => ({ kind: "factual_memory", data: { subject, fact: "x" } })
    const [{ id }] = (await own.create("a", [fact("before")])) as [{ readonly id: string }]
    const count = async (subject: string) =>
      (await own.call("GET", `/v1/memories?data=${encodeURIComponent(JSON.stringify({ subject }))}`)).body.total
    expect([await count("before"), await count("after")]).toEqual([1, 0])
    await own.call("PATCH", `/v1/memories/${id}`, { body: { data: { subject: "after", fact: "x" } } })
    expect([await count("before"), await count("after")]).toEqual([0, 1])
    await own.call("DELETE", `/v1/memories/${id}`)
    expect(await count("after")).toBe(0)
  })

  it.each([
    "x",
    "[]",
    "{}",
    "null",
    '{"a":{}}',
    '{"a":[1]}',
    JSON.stringify(Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`f${at}`, 1])))
  ])("is refused for %s", async (data) => {
    const { body, status } = await calls.call("GET", `/v1/memories?data=${encodeURIComponent(data)}`)
    expect([status, body.code]).toEqual([400, "invalid_request"])
  })
})

describe("a search", () => {
  it("finds what it would have found among those memories", async () => {
    const data = JSON.stringify({ age: 30 })
    const found = await calls.search({ query: "example Oslo Bergen", data })
    expect(found.map(({ data: { email } }) => email).sort()).toEqual(["ann@example.com", "cid@example.com"])
    expect(await calls.search({ query: "example", data, recall: "strict" })).toHaveLength(2)
  })

  it("by MCP takes the values as an object", async () => {
    const mcp = await mcpCaller(server, calls.key)
    const found = await mcp.call("memory_search", { query: "example", data: { likes: "tea" } })
    expect(found.json.memories).toMatchObject([{ data: { email: "ann@example.com" } }])
  })
})

it("facets count those memories alone", async () => {
  const query = `facet=agents&data=${encodeURIComponent('{"age":30}')}`
  const { body } = await calls.call("GET", `/v1/memories/facets?${query}`)
  expect(body.values).toMatchObject([{ value: "agent-0", memories: 2 }])
})
