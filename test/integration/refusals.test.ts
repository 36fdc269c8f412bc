/** What a caller is told (contract: Conventions): the name that was meant, the place of a memory, one true sentence. */
import { beforeAll, describe, expect, it } from "vitest"
import { accountCalls, fact, useAccount } from "../support/MemoryCalls.ts"
import { mcpCaller } from "../support/McpCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"
import type { Answer } from "../support/TestServer.ts"

const server = useSharedServer()
const alice = useAccount(server, "refusals")
let id: string

beforeAll(async () => {
  const [entry] = await alice.create("a", [fact("a", "b")])
  id = entry.id
})

const told = ({ body, status }: Answer) => [status, body.code, body.error]
const patch = (body: object) => alice.call("PATCH", `/v1/memories/${id}`, { body })
const create = (rest: object) => alice.post("/v1/memories", { agentId: "a", ...rest })
const search = (parameters: Readonly<Record<string, string>>) =>
  alice.call("GET", `/v1/memories/search?${new URLSearchParams({ query: "tea", ...parameters })}`)

describe("an unknown name of a change", () => {
  it.each([
    [{ foo: 1 }, "/foo"],
    [{ tag: ["a"] }, "/tag"],
    [{ expires: 1 }, "/expires"],
    [{ metadatas: {} }, "/metadatas"],
    [{ ttl: "1d" }, "/ttl"],
    [{ tags: ["a"], subjectId: "s" }, "/subjectId"]
  ])("is named with its nearest one: %j", async (body, path) => {
    const [status, code, error] = told(await patch(body))
    expect([status, code]).toEqual([400, "unknown_parameter"])
    expect(error).toMatch(new RegExp(`^${path}: unknown name; (did you mean|the nearest known one is) "`))
  })

  it("is one in every body of a change, and by MCP", async () => {
    const answers = [
      await alice.post("/v1/memories/batch/update", { ids: [id], update: { foo: 1 } }),
      await alice.post("/v1/memories/batch/update", { ids: [id], update: { tags: ["a"] }, foo: 1 }),
      await alice.call("PATCH", "/v1/schemas/none", { body: { foo: 1 } }),
      await alice.post("/v1/keys", { foo: 1 })
    ]
    for (const answer of answers) expect(told(answer).slice(0, 2)).toEqual([400, "unknown_parameter"])
    const mcp = await mcpCaller(server, alice.key)
    expect((await mcp.call("memory_update", { id, foo: 1 })).json.code).toBe("unknown_parameter")
    await mcp.close()
  })
})

describe("null for a field that may be absent", () => {
  it("is as if it were absent, at every level", async () => {
    const nulls = {
      subjectId: null,
      threadId: null,
      ttl: null,
      expiresAt: null,
      tags: null,
      wait: null,
      remember: null
    }
    const memories = [{ ...fact("a", "b"), id: null, ttl: null, expiresAt: null, tags: null }]
    const { body, status } = await create({ ...nulls, memories, conversation: null, schemas: null, onDuplicate: null })
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body.created[0].metadata).not.toHaveProperty("subjectId")
    const conversation = [{ id: null, role: "user", content: "Hello.", name: null, sentAt: null, tool_calls: null }]
    expect((await create({ ...nulls, conversation, conversationDate: null, force: null })).status).toBe(200)
    const queries = [{ query: "tea", filters: { agentId: null, tags: null }, limit: null }]
    const batch = await alice.post("/v1/memories/batch/search", { queries, scope: null, recall: null, now: null })
    expect(batch.status, JSON.stringify(batch.body)).toBe(200)
    const dry = await alice.post("/v1/memories/batch/delete", { ids: ["x"], filters: null, dryRun: null })
    expect(dry.body).toMatchObject({ deleted: 0 })
    const claim = { claim: "memory_count_gte", threshold: 0, query: null, filters: null, schemaName: null }
    expect((await alice.post("/v1/attestations", claim)).status).toBe(200)
    const key = { label: null, agents: null, subjects: null, readOnly: null, expiresIn: null }
    expect((await alice.post("/v1/keys", key)).status).toBe(200)
  })

  it("is so by MCP, for the properties of a kind too", async () => {
    const mcp = await mcpCaller(server, alice.key)
    const given = { agentId: "mcp", subject: "a", fact: "b", source: null, ttl: null, subjectId: null }
    const written = await mcp.call("write_factual_memory", given)
    expect(written.json).toMatchObject({ success: true, memories: [{ data: { subject: "a", fact: "b" } }] })
    expect((await mcp.call("memory_search", { query: "b", kind: null, limit: null, tags: null })).isError).toBe(false)
    await mcp.close()
  })

  it("is a value where null means something, and in the data of a memory", async () => {
    await patch({ expiresAt: Date.now() + 3_600_000, tags: null })
    expect((await alice.get(id)).metadata).toHaveProperty("expiresAt")
    expect((await patch({ expiresAt: null })).body.memory.metadata).not.toHaveProperty("expiresAt")
    const [entry] = await alice.create("a", [{ kind: "factual_memory", data: { subject: "a", fact: "b", note: null } }])
    expect(entry.data).toEqual({ subject: "a", fact: "b", note: null })
  })

  it("is refused where the field is needed", async () => {
    expect(told(await alice.post("/v1/memories", { agentId: null, memories: [fact("a", "b")] }))).toEqual([
      400,
      "invalid_request",
      "/agentId: expected a text"
    ])
    expect((await patch({ tags: null })).status).toBe(400)
  })
})

describe("a refusal is one sentence", () => {
  const at = "from 1 to 100, in mode `map` to 5000"
  const long = "x".repeat(70_000)
  const memory = fact("a", "b")
  const cases: ReadonlyArray<readonly [string, () => Promise<Answer>, string]> = [
    ["no memories", () => create({ memories: [] }), "/memories: expected at least 1 entry"],
    ["no messages", () => create({ conversation: [] }), "/conversation: expected at least 1 entry"],
    ["no ids", () => alice.post("/v1/memories/batch/delete", { ids: [] }), "/ids: expected at least 1 entry"],
    [
      "no queries",
      () => alice.post("/v1/memories/batch/search", { queries: [] }),
      "/queries: expected at least 1 entry"
    ],
    ["neither of two", () => create({}), "expected either `conversation` or `memories`"],
    ["limit 0", () => search({ limit: "0" }), `/limit: expected a whole number ${at}`],
    ["limit 101", () => search({ limit: "101" }), `/limit: expected a whole number ${at}`],
    ["limit 5001", () => search({ limit: "5001" }), `/limit: expected a whole number ${at}`],
    [
      "limit of a list",
      () => alice.call("GET", "/v1/memories?limit=101"),
      "/limit: expected a whole number from 1 to 100"
    ],
    ["a limit of words", () => search({ limit: "ten" }), "/limit: expected a number"],
    ...["query=a&query=b", "query=a&limit=1&limit=2", "query=a&tags=b&tags=c"].map(
      (query) =>
        [
          `a name twice: ${query}`,
          () => alice.call("GET", `/v1/memories/search?${query}`),
          `/${query.split("=").at(-2)!.split("&").at(-1)!}: is given more than once; lists are separated by commas`
        ] as const
    ),
    [
      "the name of a schema",
      () => alice.post("/v1/schemas", { name: "x y", description: "d", schema: '{"type":"object"}' }),
      "/name: expected a letter, then up to 63 letters, digits, `_`, `.` or `-`"
    ],
    [
      "a message of another service",
      () => create({ conversation: [{ type: "human", content: "x" }] }),
      "/conversation/0/role: is missing"
    ],
    [
      "data without a field",
      () => alice.post("/v1/memories/search", { query: "x", data: {} }),
      "/data: expected at least 1 field"
    ],
    [
      "a tag that is no text",
      () => create({ memories: [{ ...memory, tags: [1] }] }),
      "/memories/0/tags/0: expected a text without commas, and without blanks before or behind it: `tags` of a search could not name it"
    ],
    ["a mode", () => search({ mode: "fast" }), "/mode: expected `llm`, `answer`, `map` or `raw`"],
    ["a relevance", () => search({ minRelevance: "2" }), "/minRelevance: expected a number from 0 to 1"],
    ["no agent", () => alice.post("/v1/memories", { memories: [memory] }), "/agentId: is missing"],
    ["no kind", () => create({ memories: [{ data: {} }] }), "/memories/0/kind: is missing"],
    ["no data", () => create({ memories: [{ kind: "x" }] }), "/memories/0/data: is missing"],
    [
      "a kind",
      () => create({ memories: [memory, { kind: "x", data: {} }] }),
      '/memories/1/kind: "x" is neither registered nor built in'
    ],
    [
      "a value of 70 kB",
      () => create({ memories: [fact("a", long)] }),
      "/memories/0/data: must NOT be longer than 65536 bytes as JSON"
    ],
    [
      "data",
      () => create({ memories: [{ kind: "factual_memory", data: { subject: 1, fact: "x" } }] }),
      "/memories/0/data/subject: must be string"
    ],
    ["data of a change", () => patch({ data: { subject: 1, fact: "x" } }), "/data/subject: must be string"],
    [
      "a name of its own place",
      () => create({ memories: [{ ...memory, agentId: "b" }] }),
      '/memories/0/agentId: not known in this place: "agentId" belongs at the top of the body'
    ],
    [
      "a filter beside its place",
      () => alice.post("/v1/memories/batch/search", { queries: [{ query: "x", agentId: "b" }] }),
      '/queries/0/agentId: not known in this place: give it as "queries/filters/agentId"'
    ],
    [
      "a role",
      () => create({ conversation: [{ role: "critic", content: "x" }] }),
      "/conversation/0/role: expected `user`, `human`, `assistant`, `ai`, `model`, `system`, `developer`, `tool` or `function`"
    ],
    [
      "content",
      () => create({ conversation: [{ role: "user", content: 42 }] }),
      "/conversation/0/content: expected a text, a list, an object or null"
    ],
    [
      "a duration",
      () => create({ memories: [memory], ttl: 3600 }),
      "/ttl: expected a number and a unit (s, m, h, d, w), above zero and at most 3650 days, as in 24h"
    ],
    [
      "a date as expiry",
      () => create({ memories: [memory], expiresAt: "2030-01-01" }),
      "/expiresAt: expected whole milliseconds since the epoch, in the future, at most 100 years ahead; if 2030-01-01T00:00:00Z is meant, give 1893456000000"
    ],
    ["tags in one text", () => patch({ tags: "a,b" }), "/tags: expected a list of texts"],
    ["an empty change", () => patch({}), "expected at least one of `data`, `tags`, `metadata` and `expiresAt`"],
    [
      "a claim",
      () => alice.post("/v1/attestations", { claim: "memory_count_gte" }),
      "/threshold: is missing: memory_count_gte needs it"
    ]
  ]
  it.each(cases)("about %s", async (_, ask, sentence) => {
    const [status, , error] = told(await ask())
    expect([status, error]).toEqual([400, sentence])
  })
})

describe("an update by an id that is not found here", () => {
  const update = (agentId: string, of: string, rest: object = {}) =>
    alice.post("/v1/memories", { agentId, memories: [{ ...fact("a", "c"), id: of }], ...rest })

  it("says where an own memory is", async () => {
    const place = 'this memory belongs to the agent "a" without a subject: name both as it has them to update it'
    expect(told(await update("b", id))).toEqual([404, "memory_not_found", `/memories/0/id: ${place}`])
    expect(told(await update("a", id, { subjectId: "s" }))).toEqual([
      404,
      "memory_not_found",
      `/memories/0/id: ${place}`
    ])
    expect((await update("a", id)).status).toBe(200)
  })

  it("says how ids come about", async () => {
    for (const [own, says] of [
      ["my-id-1", "this is no id of a memory: the service gives each memory its id when it is stored"],
      ["mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T", "no such memory; leave `id` out to store a new one"]
    ] as const) {
      expect(told(await update("a", own))).toEqual([404, "memory_not_found", expect.stringContaining(says)])
    }
  })

  it("says nothing of another account's memory, or of one that the key does not see", async () => {
    const bob = await accountCalls(server, "other")
    const unknown = "no such memory; leave `id` out to store a new one"
    const memories = [{ ...fact("a", "c"), id }]
    const foreign = await bob.post("/v1/memories", { agentId: "a", memories })
    expect(told(foreign)).toEqual([404, "memory_not_found", expect.stringContaining(unknown)])
    const { secret } = (await alice.post("/v1/keys", { agents: ["b"] })).body
    const bound = await server.call("POST", "/v1/memories", { key: secret, body: { agentId: "b", memories } })
    expect(told(bound)).toEqual([404, "memory_not_found", expect.stringContaining(unknown)])
  })
})

it("a claim about the number of memories counts messages only where they are asked for", async () => {
  const carl = await accountCalls(server, "small talk")
  const conversation = ["Hello.", "How are you?", "Fine."].map((content) => ({ role: "user", content }))
  await carl.post("/v1/memories", { agentId: "chat", conversation })
  await carl.create("chat", [fact("a", "b")])
  const count = async (filters: object) =>
    (await carl.post("/v1/attestations", { claim: "memory_count_gte", threshold: 2, filters })).body.attestation.result
  expect(await count({})).toMatchObject({ satisfied: false, matchCount: 1 })
  expect(await count({ agentId: "chat" })).toMatchObject({ satisfied: false, matchCount: 1 })
  expect(await count({ kind: "conversation_message" })).toMatchObject({ satisfied: true, matchCount: 3 })
})
