/**
 * Names that the contract does not know. A misspelled filter must never widen an answer: `?subject_id=x` once gave the
 * memories of every subject.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { mcpCaller, type McpCaller } from "../support/McpCalls.ts"
import { fact, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import type { Answer } from "../support/TestServer.ts"

const server = useSharedServer(withoutModel)
const alice = useAccount(server, "alice")
let mcp: McpCaller

beforeAll(async () => {
  for (const subjectId of ["ann", "bo"]) await alice.create("a", [fact(subjectId, "keeps bees")], { subjectId })
  mcp = await mcpCaller(server, alice.key)
})
afterAll(() => mcp.close())

const get = (path: string) => alice.call("GET", path)
/** Status, code and the first detail of a refusal. */
const refusal = ({ status, body }: Answer) => [status, body.code, body.details?.[0]]
const refused = (path: string, name: string) => [
  400,
  "unknown_parameter",
  { path, message: expect.stringContaining(`"${name}"`) }
]

describe("an unknown name in a query string", () => {
  it.each([
    ["subject_id=ann", "/subject_id", "subjectId"],
    ["subjectID=ann", "/subjectID", "subjectId"],
    ["subjectIds=ann", "/subjectIds", "subjectId"],
    ["SubjectId=ann", "/SubjectId", "subjectId"],
    ["user_id=ann", "/user_id", "subjectId"],
    ["agent-id=a", "/agent-id", "agentId"],
    ["subjctId=ann", "/subjctId", "subjectId"],
    ["tag=t", "/tag", "tags"],
    ["limti=1", "/limti", "limit"],
    ["a%2Fb~c=1", "/a~1b~0c", "agentId"],
    ["constructor=1", "/constructor", "subjectId"]
  ])("is refused with its place and the nearest known one: %s", async (query, path, name) => {
    for (const route of ["/v1/memories/search?query=bees&", "/v1/memories?"]) {
      const answer = await get(`${route}${query}`)
      const [status, code, detail] = refusal(answer)
      expect([query, status, code, detail.path]).toEqual([query, 400, "unknown_parameter", path])
      if (query !== "constructor=1" && !query.startsWith("a%2Fb")) expect(detail.message).toContain(`"${name}"`)
      expect(answer.body.error).toBe(`${path}: ${detail.message}`)
    }
  })

  it("is refused on every route, also where no name is known", async () => {
    const id = "mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"
    for (const [method, path] of [
      ["GET", "/v1/account"],
      ["GET", "/v1/credits"],
      ["GET", "/v1/credits/transactions"],
      ["GET", "/v1/schemas"],
      ["GET", `/v1/memories/${id}`],
      ["DELETE", `/v1/memories/${id}`]
    ] as const) {
      const { status, body } = await alice.call(method, `${path}?agentid=a`)
      expect([method, path, status, body.code]).toEqual([method, path, 400, "unknown_parameter"])
    }
    const { status, body } = await server.asOperator("GET", "/admin/export?acount=alice")
    expect([status, body.details[0].message]).toEqual([400, expect.stringContaining('"account"')])
  })
})

describe("an unknown name in filters", () => {
  it("is refused wherever there are filters", async () => {
    const wrong = { subject_id: "ann" }
    const tries = [
      ["/v1/memories/batch/search", { queries: [{ query: "bees", filters: wrong }] }, "/queries/0/filters/subject_id"],
      ["/v1/memories/batch/delete", { filters: wrong }, "/filters/subject_id"],
      ["/v1/attestations", { claim: "memory_count_gte", threshold: 1, filters: wrong }, "/filters/subject_id"]
    ] as const
    for (const [path, body, place] of tries) {
      expect([path, refusal(await alice.post(path, body))]).toEqual([path, refused(place, "subjectId")])
    }
    const foreign = { queries: [{ query: "q" }, { query: "bees", filters: { agentId: "a", color: "red" } }] }
    expect(refusal(await alice.post("/v1/memories/batch/search", foreign))).toEqual([
      400,
      "unknown_parameter",
      { path: "/queries/1/filters/color", message: expect.stringContaining("the nearest known one is") }
    ])
    expect(await alice.search({ query: "bees" })).toHaveLength(2)
  })

  it("also if a scope stands beside them, or in the wrong place", async () => {
    const search = "/v1/memories/batch/search"
    const inQuery = { queries: [{ query: "bees", subjectId: "ann" }] }
    expect(refusal(await alice.post(search, inQuery))).toEqual(
      refused("/queries/0/subjectId", "queries/filters/subjectId")
    )
    for (const [name, value] of Object.entries({ agentId: "a", filters: { agentId: "a" } })) {
      const [status, code] = refusal(await alice.post(search, { queries: [{ query: "bees" }], [name]: value }))
      expect([name, status, code]).toEqual([name, 400, "unknown_parameter"])
    }
    const inMemory = { agentId: "a", memories: [{ ...fact("cy", "sails"), subjectId: "cy" }] }
    expect(refusal(await alice.post("/v1/memories", inMemory))).toEqual(refused("/memories/0/subjectId", "subjectId"))
  })
})

describe("an unknown name in a body", () => {
  it("is refused if it is a known one but for case, underscores, hyphens or plural; nothing is stored", async () => {
    const memories = [fact("cy", "sails")]
    const tries = [
      [{ agentId: "b", memories, subject_id: "cy" }, "/subject_id", "subjectId"],
      [{ agentID: "b", memories }, "/agentID", "agentId"],
      [{ agentId: "b", memory: memories }, "/memory", "memories"],
      [{ agentId: "b", memories, "expires-at": 1 }, "/expires-at", "expiresAt"],
      [{ agentId: "b", memories, Ttl: "1d" }, "/Ttl", "ttl"],
      [{ agentId: "b", memories: [{ ...memories[0], TTL: "1d" }] }, "/memories/0/TTL", "ttl"]
    ] as const
    for (const [body, path, name] of tries) {
      expect(refusal(await alice.post("/v1/memories", body))).toEqual(refused(path, name))
    }
    expect((await get("/v1/memories?agentId=b")).body.total).toBe(0)
  })

  it("is ignored otherwise, and listed in x-ignored-fields by its place, each once", async () => {
    const conversation = ["m1", "m2"].map((id) => ({ id, role: "user", content: "hm", mood: 1 }))
    const body = { agentId: "c", conversation, model: "m", "é,": 1, userName: "x" }
    const { status, headers } = await alice.post("/v1/memories", body)
    expect(status).toBe(200)
    expect(headers.get("x-ignored-fields")).toBe("conversation/mood, model, %C3%A9%2C, userName")
    const clean = await alice.post("/v1/memories", { agentId: "c", memories: [fact("a", "b")], force: true })
    expect([clean.status, clean.headers.get("x-ignored-fields")]).toEqual([200, null])
  })

  it("is listed in bounds, however many there are", async () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`${"n".repeat(200)}${at}`, at]))
    const { status, headers } = await alice.post("/v1/memories", { agentId: "c", memories: [fact("a", "b")], ...many })
    expect([status, headers.get("x-ignored-fields")!.length < 5_000]).toEqual([200, true])
    expect(headers.get("x-ignored-fields")).toMatch(/, \.\.\.$/)
  })

  it("is not looked for in the data of a memory or in a schema", async () => {
    const [entry] = await alice.create("d", [
      { kind: "factual_memory", data: { subject: "s", fact: "f", subject_id: "1", filters: { agent_id: 1 } } }
    ])
    expect(entry.data).toMatchObject({ subject_id: "1", filters: { agent_id: 1 } })
  })

  it("is listed again with a repeated answer", async () => {
    const body = { agentId: "e", memories: [fact("a", "b")], model: "m" }
    for (const replayed of [null, "true"]) {
      const { headers } = await alice.post("/v1/memories", body, { "idempotency-key": "once" })
      expect([headers.get("idempotency-replayed"), headers.get("x-ignored-fields")]).toEqual([replayed, "model"])
    }
  })
})

describe("an unknown argument of a tool", () => {
  const codeOf = async (tool: string, given: object) => (await mcp.call(tool, given)).json

  it("is refused as in REST", async () => {
    const tries = [
      ["memory_search", { query: "bees", subject_id: "ann" }, "subjectId"],
      ["memory_search", { query: "bees", filters: { subjectId: "ann" } }, "query"],
      ["memory_batch_delete", { subject_id: "ann" }, "filters/subjectId"],
      ["memory_create", { agentId: "a", memories: [fact("a", "b")], subject_id: "ann" }, "subjectId"],
      ["write_factual_memory", { agentId: "a", subject: "s", fact: "f", subject_id: "ann" }, "subjectId"]
    ] as const
    for (const [tool, given, name] of tries) {
      const { code, error } = await codeOf(tool, given)
      expect([tool, code]).toEqual([tool, "unknown_parameter"])
      expect(error).toContain(`"${name}"`)
    }
    expect(await alice.search({ query: "bees" })).toHaveLength(2)
  })

  it("is a property where the kind declares one of that name", async () => {
    const properties = { agent_id: { type: "string" } }
    const schema = JSON.stringify({ type: "object", properties })
    await alice.post("/v1/schemas", { name: "Handover", description: "d", schema })
    const { memories } = await codeOf("write_handover", { agentId: "a", agent_id: "other" })
    expect(memories[0].data).toEqual({ agent_id: "other" })
  })
})
