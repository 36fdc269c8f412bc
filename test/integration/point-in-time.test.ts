/** What was stored and latest at a time (contract: Search, `asOf`): lists, facets, searches, tools, keys and grants. */
import { beforeAll, describe, expect, it } from "vitest"
import { mcpCaller } from "../support/McpCalls.ts"
import { accountCalls, fact, idsOf, schemaText, text, untilMoment, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"

const server = useSharedServer(withoutModel)
const calls = useAccount(server, "as-of")
/** Milliseconds: after the first version, and after the second. */
let first: number
let second: number

const schema = schemaText({ email: text, city: text })
const moment = async (): Promise<number> => {
  const now = Date.now()
  await untilMoment(now + 5)
  return now + 2
}

beforeAll(async () => {
  await calls.post("/v1/schemas", { name: "person", description: "d", uniqueOn: ["email"], schema })
  await calls.create("a", [{ kind: "person", data: { email: "ann", city: "Oslo" } }, fact("Bob", "Bob grows figs")])
  first = await moment()
  await calls.create("a", [{ kind: "person", data: { email: "ann", city: "Rome" } }])
  second = await moment()
  await calls.create("a", [{ kind: "person", data: { email: "cid", city: "Oslo" } }])
})

const cities = async (query: string) => {
  const { body, status } = await calls.call("GET", `/v1/memories?kind=person&order=asc&${query}`)
  expect([status, body.error]).toEqual([200, undefined])
  return body.memories.map(({ context, data }: { context: { isLatest: boolean }; data: { city: string } }) => [
    data.city,
    context.isLatest
  ])
}

describe("a list", () => {
  it("has what was stored by then, the version that was latest then, and says that it was", async () => {
    expect(await cities(`asOf=${first}`)).toEqual([["Oslo", true]])
    expect(await cities(`asOf=${new Date(second).toISOString()}`)).toEqual([["Rome", true]])
    expect(await cities(`asOf=${second}&includeSuperseded=true`)).toEqual([
      ["Oslo", false],
      ["Rome", true]
    ])
    expect(await cities("")).toEqual([
      ["Rome", true],
      ["Oslo", true]
    ])
  })

  it("takes the other filters, and facets count the same", async () => {
    const where = encodeURIComponent('{"data.city":"Oslo"}')
    expect(await cities(`asOf=${first}&where=${where}`)).toEqual([["Oslo", true]])
    expect(await cities(`asOf=${second}&where=${where}`)).toEqual([])
    const { body } = await calls.call("GET", `/v1/memories/facets?facet=kinds&order=name&asOf=${first}`)
    expect(body.values).toMatchObject([
      { value: "factual_memory", memories: 1 },
      { value: "person", memories: 1 }
    ])
  })

  it.each(["yesterday", "2026-01-01", "1e3", "", "1699999999999999"])("is refused for %j", async (asOf) => {
    const { body, status } = await calls.call("GET", `/v1/memories?asOf=${asOf}`)
    expect([status, body.code, body.details[0].path]).toEqual([400, "invalid_request", "/asOf"])
  })
})

describe("a search", () => {
  it("finds what was there, in a URL, in a body, in a batch, by the tool", async () => {
    const found = await calls.search({ query: "ann Oslo Rome", asOf: String(first) })
    expect(found.map(({ data }) => data.city)).toEqual(["Oslo"])
    const query = "ann Oslo Rome"
    const byBody = await calls.post("/v1/memories/search", { query, asOf: second })
    expect(byBody.body.memories.map(({ data }: { data: { city: string } }) => data.city)).toEqual(["Rome"])
    const batch = await calls.post("/v1/memories/batch/search", {
      queries: [{ query }, { query: "figs" }],
      asOf: first
    })
    expect(batch.body.results.map(({ memories }: { memories: ReadonlyArray<object> }) => memories.length)).toEqual([
      1, 1
    ])
    const mcp = await mcpCaller(server, calls.key)
    const tool = await mcp.call("memory_search", { query, asOf: new Date(second).toISOString() })
    expect(tool.json.memories).toMatchObject([{ data: { city: "Rome" } }])
  })

  it("in mode answer quotes what was known then, and counts days from then", async () => {
    const own = await accountCalls(server, "as-of-answers")
    const say = (id: string, content: string, sentAt: string) =>
      own.post("/v1/memories", {
        agentId: "a",
        threadId: "t",
        wait: "extraction",
        conversation: [{ id, role: "user", name: "Ann", content, sentAt }]
      })
    await say("m1", "I live in Oslo.", "2026-01-01T10:00:00Z")
    const then = await moment()
    await say("m2", "I moved to Rome.", "2026-03-01T10:00:00Z")
    const asked = { query: "Where does Ann live?", mode: "answer" }
    const before = await own.post("/v1/memories/search", { ...asked, asOf: then })
    expect(JSON.stringify(before.body)).not.toContain("Rome")
    expect(before.body.answer).toContain("Oslo")
  })

  it("is not led to a message by words of messages that came later", async () => {
    const own = await accountCalls(server, "as-of-neighbours")
    const say = (id: string, content: string) =>
      own.post("/v1/memories", { agentId: "a", threadId: "t", conversation: [{ id, role: "user", content }] })
    await say("m1", "What shall we cook?")
    const then = await moment()
    await say("m2", "Aubergines, of course.")
    expect(await own.search({ query: "aubergines", asOf: String(then) })).toEqual([])
    expect((await own.search({ query: "aubergines" })).length).toBeGreaterThan(0)
  })
})

describe("what is gone", () => {
  it("is gone for every time: deleted, expired, replaced in place", async () => {
    const own = await accountCalls(server, "as-of-gone")
    const [deleted, replaced, kept] = (await own.create("a", [
      fact("x", "deleted"),
      fact("x", "replaced"),
      fact("x", "kept")
    ])) as [{ id: string }, { id: string }, { id: string }]
    const expiring = await own.createExpired("a", fact("x", "expired"))
    const then = await moment()
    await own.call("DELETE", `/v1/memories/${deleted.id}`)
    await own.call("PATCH", `/v1/memories/${replaced.id}`, { body: { data: { subject: "x", fact: "other" } } })
    await own.call("PATCH", `/v1/memories/${kept.id}`, { body: { tags: ["t"] } })
    const listed = async (asOf: number) => idsOf((await own.call("GET", `/v1/memories?asOf=${asOf}`)).body.memories)
    expect(await listed(then)).toEqual([kept.id])
    expect((await listed(Date.now())).sort()).toEqual([kept.id, replaced.id].sort())
    expect(await listed(Date.now())).not.toContain(expiring.id)
    expect(await own.search({ query: "replaced expired deleted", asOf: String(then) })).toEqual([])
  })

  it("a time to come leaves out what expires by then", async () => {
    const own = await accountCalls(server, "as-of-ahead")
    await own.create("a", [{ ...fact("x", "short"), ttl: "1h" }, fact("x", "long")])
    const asOf = Date.now() + 7_200_000
    const { body } = await own.call("GET", `/v1/memories?asOf=${asOf}`)
    expect(body.memories.map(({ data }: { data: { fact: string } }) => data.fact)).toEqual(["long"])
  })
})

it("a key that is bound to a subject sees of a time what it sees now", async () => {
  const own = await accountCalls(server, "as-of-bound")
  for (const subjectId of ["u1", "u2"]) await own.create("a", [fact(subjectId, "figs")], { subjectId })
  const { body } = await own.post("/v1/keys", { subjects: ["u1"] })
  const seen = await server.call("GET", `/v1/memories?asOf=${Date.now()}`, { key: body.secret })
  expect(seen.body.memories.map(({ data }: { data: { subject: string } }) => data.subject)).toEqual(["u1"])
})
