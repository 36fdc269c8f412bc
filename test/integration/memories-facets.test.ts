/**
 * What shows an account what it has (contract: Memories, Conversations, Schemas): facets, a listing from its beginning,
 * and readings and checks that store nothing.
 */
import { beforeAll, describe, expect, it } from "vitest"
import { fact, idsOf, type MemoryCalls, schemaText, text, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"

const server = useSharedServer(withoutModel)
const alice = useAccount(server, "alice")

beforeAll(async () => {
  const store = async (place: object, texts: ReadonlyArray<string>) => {
    const memories = texts.map((words) => fact("s", words))
    expect((await alice.post("/v1/memories", { ...place, memories })).status).toBe(200)
  }
  await store({ agentId: "support", subjectId: "Ann", threadId: "t1" }, ["one", "two", "three"])
  await store({ agentId: "support", subjectId: "Bob", threadId: "t2" }, ["four"])
  await store({ agentId: "sales", subjectId: "Ann", threadId: "t3" }, ["five", "six"])
  const event = { kind: "temporal_event", data: { event: "a trip", eventDate: "2027-03-01" } }
  const trip = await alice.post("/v1/memories", { agentId: "sales", memories: [event] })
  const [id] = idsOf(trip.body.created)
  expect((await alice.call("PATCH", `/v1/memories/${id}`, { body: { tags: ["travel", "Spain"] } })).status).toBe(200)
})

const facets = async (parameters: Readonly<Record<string, string>>, calls: MemoryCalls = alice) => {
  const { body, status } = await calls.call("GET", `/v1/memories/facets?${new URLSearchParams(parameters)}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

const counted = async (parameters: Readonly<Record<string, string>>, calls?: MemoryCalls) =>
  (await facets(parameters, calls)).values.map(
    ({ memories, value }: { readonly memories: number; readonly value: string }) => [value, memories]
  )

describe("a facet", () => {
  it("sums the memories of all agents by value, most first", async () => {
    expect(await counted({ facet: "subjects" })).toEqual([
      ["Ann", 5],
      ["Bob", 1]
    ])
    expect(await counted({ facet: "agents" })).toEqual([
      ["support", 4],
      ["sales", 3]
    ])
    expect(await counted({ facet: "kinds" })).toEqual([
      ["factual_memory", 6],
      ["temporal_event", 1]
    ])
    expect(await counted({ facet: "tags" })).toEqual([
      ["Spain", 1],
      ["travel", 1]
    ])
  })

  it("counts what passes the filters, of values with a text in them, in the order that was asked", async () => {
    expect(await counted({ facet: "subjects", agentId: "sales" })).toEqual([["Ann", 2]])
    expect(await counted({ facet: "threads", order: "newest" })).toEqual([
      ["t3", 2],
      ["t2", 1],
      ["t1", 3]
    ])
    expect(await counted({ facet: "threads", order: "name", limit: "2" })).toEqual([
      ["t1", 3],
      ["t2", 1]
    ])
    expect(await facets({ facet: "subjects", contains: "NN" })).toEqual({
      success: true,
      values: [{ value: "Ann", memories: 5, newestAt: expect.any(Number) }],
      total: 1,
      isExact: true
    })
  })

  it("of a key that is bound to a subject counts what it sees", async () => {
    const { body } = await alice.post("/v1/keys", { subjects: ["Bob"] })
    const bound: MemoryCalls["call"] = (method, path, options) =>
      server.call(method, path, { ...options, key: body.secret })
    const calls = { ...alice, call: bound }
    expect(await counted({ facet: "subjects" }, calls)).toEqual([["Bob", 1]])
    expect(await counted({ facet: "agents" }, calls)).toEqual([["support", 1]])
    expect(await counted({ facet: "tags" }, calls)).toEqual([])
  })

  it("takes only the names of facets", async () => {
    expect((await alice.call("GET", "/v1/memories/facets?facet=colours")).status).toBe(400)
    expect((await alice.call("GET", "/v1/memories/facets")).status).toBe(400)
  })
})

it("a listing in ascending order is the other one from its end, page after page", async () => {
  const list = async (more: string) => (await alice.call("GET", `/v1/memories?limit=3${more}`)).body
  const walk = async (more: string): Promise<ReadonlyArray<string>> => {
    const { memories, nextCursor } = await list(more)
    const base = more.split("&cursor=")[0]
    return nextCursor === undefined
      ? idsOf(memories)
      : [...idsOf(memories), ...(await walk(`${base}&cursor=${encodeURIComponent(nextCursor)}`))]
  }
  const descending = await walk("")
  expect(descending).toHaveLength(7)
  expect(await walk("&order=asc")).toEqual(descending.toReversed())
})

it("a reading on trial says what was found and left out, and stores nothing", async () => {
  const conversation = [
    { id: "m1", role: "user", content: "My name is Alice and I live in Seattle." },
    { id: "m2", role: "user", content: "Do you like tea?" }
  ]
  const before = (await alice.call("GET", "/v1/memories?limit=1")).body.total
  const { body, status } = await alice.post("/v1/memories/extract", { conversation })
  expect([status, JSON.stringify(body.found)]).toEqual([200, expect.stringContaining("Seattle")])
  expect(body.found.every(({ sourceMessageIds }: { sourceMessageIds: object }) => "0" in sourceMessageIds)).toBe(true)
  expect(body.rejected).toEqual(expect.any(Array))
  expect((await alice.call("GET", "/v1/memories?limit=1")).body.total).toBe(before)
  // No message counts as read.
  const stored = await alice.post("/v1/memories", { agentId: "reader", conversation, wait: "extraction" })
  expect(stored.body).toMatchObject({ skippedMessages: 0, extraction: "done" })
  expect(stored.body.created).toHaveLength(body.found.length)
  const unknown = await alice.post("/v1/memories/extract", { conversation, schemas: ["nothing"] })
  expect([unknown.status, unknown.body.code]).toEqual([400, "unknown_schema"])
})

describe("data on trial", () => {
  const schema = schemaText(
    { email: text, name: text, level: { type: "integer", default: 1 } },
    { required: ["email"] }
  )
  const attempt = (body: object) => alice.post("/v1/schemas/try", body)

  it("is checked against a schema that is not registered, with its defaults", async () => {
    const { body } = await attempt({ schema, data: { email: "ann@example.com" } })
    expect(body).toEqual({ success: true, valid: true, problems: [], data: { email: "ann@example.com", level: 1 } })
    const wrong = await attempt({ schema, data: { email: 7 } })
    expect(wrong.body).toEqual({
      success: true,
      valid: false,
      problems: [{ path: "/email", message: expect.any(String) }]
    })
  })

  it("lacks what identifies it", async () => {
    const { body } = await attempt({ schema, uniqueOn: ["name"], data: { email: "a" } })
    expect(body).toMatchObject({ valid: false, problems: [{ path: "/name" }] })
  })

  it("is checked against a registered or built-in kind", async () => {
    await alice.post("/v1/schemas", { name: "contact", description: "d", uniqueOn: ["email"], schema })
    expect((await attempt({ kind: "contact", data: { email: "a" } })).body.valid).toBe(true)
    expect((await attempt({ kind: "factual_memory", data: { subject: "s" } })).body.valid).toBe(false)
    expect((await attempt({ kind: "nothing", data: {} })).status).toBe(404)
    expect((await attempt({ schema: "{", data: {} })).body.code).toBe("invalid_schema")
    expect((await attempt({ kind: "contact", schema, data: {} })).status).toBe(400)
  })
})

describe("a look-up by unique fields", () => {
  const lookUp = (body: object, calls: Pick<MemoryCalls, "call"> = alice) =>
    calls.call("POST", "/v1/memories/lookup", { body: { agentId: "crm", kind: "card", ...body } })
  const key = { email: "ann@example.com" }

  beforeAll(async () => {
    const schema = schemaText({ email: text, city: text }, { required: ["email"] })
    await alice.post("/v1/schemas", { name: "card", description: "d", uniqueOn: ["email"], schema })
    for (const [subjectId, city] of [
      ["Ann", "Oslo"],
      ["Ann", "Bergen"],
      [undefined, "Rome"]
    ] as const) {
      const memories = [{ kind: "card", data: { ...key, city } }]
      expect((await alice.post("/v1/memories", { agentId: "crm", subjectId, memories })).status).toBe(200)
    }
  })

  it("gives the latest version, of the subject or of none", async () => {
    const { body } = await lookUp({ subjectId: "Ann", key: { ...key, city: "ignored" } })
    expect(body.memory).toMatchObject({ data: { city: "Bergen" }, context: { isLatest: true } })
    expect((await lookUp({ key })).body.memory.data.city).toBe("Rome")
  })

  it("finds nothing under other values, subjects and agents, nor what a key does not see", async () => {
    for (const other of [{ key: { email: "other" } }, { key, subjectId: "Bob" }, { key, agentId: "nobody" }]) {
      expect((await lookUp(other)).body.code).toBe("memory_not_found")
    }
    const { body } = await alice.post("/v1/keys", { subjects: ["Ann"] })
    const bound = {
      call: (method: string, path: string, options: object = {}) =>
        server.call(method, path, { ...options, key: body.secret })
    }
    expect((await lookUp({ key, subjectId: "Ann" }, bound)).status).toBe(200)
    expect((await lookUp({ key }, bound)).body.code).toBe("memory_not_found")
  })

  it("needs a kind with unique fields, and a value for each", async () => {
    expect((await lookUp({ key: { city: "Oslo" } })).body.code).toBe("unique_field_missing")
    expect((await lookUp({ kind: "factual_memory", key })).body.code).toBe("invalid_request")
    expect((await lookUp({ kind: "nothing", key })).body.code).toBe("unknown_kind")
  })
})
