/** The client against a real HTTP server: what goes over the wire, what is retried, what is thrown. */
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import type { ContractClient, EndpointName } from "@muniment/client/Contract"
import { Muniment, type MunimentOptions } from "@muniment/client/Muniment"
import { MunimentError } from "@muniment/client/MunimentError"
import type { Schema } from "effect"
import { afterEach, describe, expect, it, vi } from "vitest"
import { startWireServer, type WireAnswer } from "./WireServer.ts"

const ok = (body: object): WireAnswer => ({ status: 200, body: { success: true, ...body } })
const busy: WireAnswer = { status: 503, body: { success: false, error: "later", code: "overloaded" } }
const later = (status: number, seconds: number): WireAnswer => ({
  ...busy,
  status,
  headers: { "retry-after": String(seconds) }
})
const memory = { id: "mem_1", kind: "factual_memory" }

const pauses: Array<number> = []
const clientOf = (baseUrl: string, options: Partial<Omit<MunimentOptions, "apiKey" | "wallet">> = {}): Muniment =>
  new Muniment({ baseUrl, apiKey: "key", pause: async (millis) => void pauses.push(millis), ...options })

const failureOf = async (call: Promise<unknown>): Promise<MunimentError> => {
  const error = await call.then(
    () => undefined,
    (cause: unknown) => cause
  )
  if (!(error instanceof MunimentError)) throw new Error(`not a MunimentError: ${String(error)}`)
  return error
}

const direct = { agentId: "a", memories: [{ kind: "factual_memory", data: { fact: "x" } }] }

/** One call for each endpoint; the type makes it complete. */
const calls: { readonly [Name in EndpointName]: (client: ContractClient) => Promise<unknown> } = {
  create: (client) => client.create(direct),
  list: (client) => client.list({ agentId: "a" }),
  search: (client) => client.search({ query: "q" }),
  searchByBody: (client) => client.search({ query: "q".repeat(2_000), tags: "t".repeat(1_000) }),
  get: (client) => client.get("x/y"),
  context: (client) => client.context({ agentId: "a", query: "q" }),
  chat: (client) => client.chat({ messages: [{ role: "user", content: "q" }] }),
  subjects: (client) => client.subjects({ agentId: "a" }),
  profile: (client) => client.profile("x/y", { agentId: "a" }),
  history: (client) => client.history("x/y", { limit: 5 }),
  restore: (client) => client.restore("x/y"),
  feedback: (client) => client.feedback("x/y", { useful: true, query: "q" }),
  update: (client) => client.update("x/y", { tags: ["t"] }),
  delete: (client) => client.delete("x/y"),
  facets: (client) => client.facets({ facet: "kinds" }),
  lookup: (client) => client.lookup({ agentId: "a", kind: "k", key: {} }),
  extract: (client) => client.extract({ conversation: [{ role: "user", content: "c" }] }),
  batchSearch: (client) => client.batchSearch({ queries: [{ query: "q" }] }),
  batchDelete: (client) => client.batchDelete({ ids: ["x"] }),
  batchUpdate: (client) => client.batchUpdate({ ids: ["x"], update: { tags: [] } }),
  batchCreate: (client) => client.batchCreate(direct),
  register: (client) => client.register({ name: "n", description: "d", schema: "{}" }),
  trySchema: (client) => client.trySchema({ kind: "factual_memory", data: {} }),
  listSchemas: (client) => client.listSchemas(),
  getSchema: (client) => client.getSchema("x/y"),
  updateSchema: (client) => client.updateSchema("x/y", { description: "d" }),
  deleteSchema: (client) => client.deleteSchema("x/y"),
  attest: (client) => client.attest({ claim: "memory_count_gte", threshold: 1 }),
  revokeGrant: (client) => client.revokeGrant({ grant: { p: { f: "0x1", g: "0x2", e: 1 }, s: "0x", c: "evm" } }),
  deposit: (client) => client.deposit(0.5),
  credits: (client) => client.credits(),
  transactions: (client) => client.transactions({ limit: 10 }),
  receipt: (client) => client.receipt("x/y"),
  statement: (client) => client.statement({ from: "2026-11-01", limit: 10 }),
  requests: (client) => client.requests({ operation: "memories", refused: true, limit: 10 }),
  costs: (client) => client.costs({ from: "2026-11-01", limit: 10 }),
  events: (client) => client.events({ limit: 10 }),
  whoami: (client) => client.whoami(),
  listKeys: (client) => client.listKeys(),
  createKey: (client) => client.createKey({ readOnly: true }),
  revokeKey: (client) => client.revokeKey("x/y", {}),
  listHooks: (client) => client.listHooks(),
  createHook: (client) => client.createHook({ url: "https://hooks.example.com/x" }),
  getHook: (client) => client.getHook("x/y"),
  changeHook: (client) => client.changeHook("x/y", { state: "paused" }),
  removeHook: (client) => client.removeHook("x/y"),
  rotateHookSecret: (client) => client.rotateHookSecret("x/y"),
  testHook: (client) => client.testHook("x/y"),
  hookDeliveries: (client) => client.hookDeliveries("x/y", { state: "failed" }),
  repeatDeliveries: (client) => client.repeatDeliveries("x/y", {})
}

/** Names of the headers that an endpoint declares. */
const namesOf = ({ ast }: Schema.Top): ReadonlyArray<PropertyKey> =>
  ast._tag === "Objects" ? ast.propertySignatures.map(({ name }) => name) : []

const byName: Readonly<Record<string, (client: ContractClient) => Promise<unknown>>> = calls

describe("the client follows the contract", () => {
  const { memories, events, schemas, attestations, credits, account, keys, hooks } = MunimentApi.groups
  for (const endpoint of [memories, events, schemas, attestations, credits, account, keys, hooks].flatMap((group) =>
    Object.values(group.endpoints)
  )) {
    it(`${endpoint.identifier} calls ${endpoint.method} ${endpoint.path}`, async () => {
      await using server = await startWireServer(() => ok({}))
      await byName[endpoint.identifier]?.(clientOf(server.url))
      const [request] = server.requests
      expect(request?.method).toBe(endpoint.method)
      expect(request?.url.split("?")[0]).toBe(endpoint.path.replace(/:\w+/, "x%2Fy"))
      expect(request?.headers["authorization"]).toBe("Bearer key")
      const declared = endpoint.headers === undefined ? [] : namesOf(endpoint.headers)
      expect("idempotency-key" in (request?.headers ?? {})).toBe(declared.includes("idempotency-key"))
    })
  }
})

describe("the client reads its settings", () => {
  afterEach(() => vi.unstubAllEnvs())

  it("from MUNIMENT_API_KEY and MUNIMENT_URL where they are not given", async () => {
    await using server = await startWireServer(() => ok({}))
    vi.stubEnv("MUNIMENT_URL", server.url)
    vi.stubEnv("MUNIMENT_API_KEY", "mun_environment")
    await new Muniment().whoami()
    await new Muniment({ apiKey: "mun_given" }).whoami()
    const sent = server.requests.map(({ headers }) => headers["authorization"])
    expect(sent).toEqual(["Bearer mun_environment", "Bearer mun_given"])
  })

  it.each<[MunimentOptions, Record<string, string>, string]>([
    [{ apiKey: "" }, {}, "apiKey is empty"],
    [{ apiKey: "mun_x\n" }, {}, "apiKey is no key: it has a blank or a line end"],
    [{}, { MUNIMENT_API_KEY: "a b" }, "MUNIMENT_API_KEY is no key: it has a blank or a line end"],
    [{}, {}, "give apiKey or wallet, or set MUNIMENT_API_KEY"],
    [
      { apiKey: "k", baseUrl: "localhost:8787" },
      {},
      'baseUrl must begin with http:// or https:// and name a host: "localhost:8787"'
    ],
    [{ apiKey: "k", baseUrl: "" }, {}, 'baseUrl must begin with http:// or https:// and name a host: ""'],
    [
      { apiKey: "k" },
      { MUNIMENT_URL: "memory" },
      'MUNIMENT_URL must begin with http:// or https:// and name a host: "memory"'
    ]
  ])("and names one that cannot be used: %j %j", (options, environment, message) => {
    vi.stubEnv("MUNIMENT_API_KEY", undefined)
    vi.stubEnv("MUNIMENT_URL", undefined)
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
    expect(() => new Muniment(options)).toThrow(new TypeError(message))
  })
})

describe("the client in few words", () => {
  it("adds a text, or messages", async () => {
    await using server = await startWireServer(() => ok({ created: [], updated: [] }))
    const conversation = [{ role: "user" as const, content: "hi" }]
    await clientOf(server.url).add("I live in Oslo")
    await clientOf(server.url).add(conversation, { agentId: "a", subjectId: "bob", threadId: "t" })
    expect(server.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(Array(2).fill("POST /v1/memories"))
    expect(server.requests.map(({ body }) => body)).toEqual([
      { agentId: "assistant", conversation: "I live in Oslo" },
      { agentId: "a", subjectId: "bob", threadId: "t", conversation }
    ])
  })

  it("forgets a memory, or all of a subject", async () => {
    await using server = await startWireServer(() => ok({ deleted: 3 }))
    expect(await clientOf(server.url).forget({ subjectId: "bob" })).toMatchObject({ deleted: 3 })
    expect(await clientOf(server.url).forget("mem_1")).toMatchObject({ deleted: 3 })
    const [byFilters, byId] = server.requests
    expect(byFilters!.body).toEqual({ filters: { subjectId: "bob" }, versions: "all" })
    expect(byId).toMatchObject({ method: "DELETE", url: "/v1/memories/mem_1?versions=all" })
  })

  it("forgets nothing where what is meant is missing", async () => {
    await using server = await startWireServer(() => ok({ deleted: 3 }))
    const client = clientOf(server.url)
    for (const nothing of ["", {}]) await expect(client.forget(nothing)).rejects.toThrow("give the id of a memory")
    // As JavaScript may call it.
    const unset: object = { agentId: "a", subjectId: undefined }
    await expect(client.forget(unset)).rejects.toThrow("subjectId is undefined: nothing was forgotten")
    expect(server.requests).toEqual([])
  })
})

describe("the client encodes", () => {
  it.each(["", "/", "/v1", "/v1/"])("finds the service by a base URL that ends with %j", async (ending) => {
    await using server = await startWireServer(() => ok({}))
    await clientOf(`${server.url}${ending}`).whoami()
    expect(server.requests[0]?.url).toBe("/v1/account")
  })

  it("sends query parameters as text and leaves out those that are undefined", async () => {
    await using server = await startWireServer(() => ok({ memories: [], searchedAt: "now" }))
    await clientOf(`${server.url}/`).search({ query: "who & where", limit: 3, explain: true, tags: "a,b" })
    const [, text] = server.requests[0]!.url.split("?")
    expect(Object.fromEntries(new URLSearchParams(text))).toEqual({
      query: "who & where",
      limit: "3",
      explain: "true",
      tags: "a,b"
    })
  })

  it("sends a search that is long in a URL as a body, well-formed", async () => {
    await using server = await startWireServer(() => ok({ memories: [], searchedAt: "now" }))
    const query = `${"我住在哪里".repeat(100)}\ud83d`
    await clientOf(server.url).search({ query, limit: 3, explain: true, tags: "a,b", mode: "llm" })
    const [request] = server.requests
    expect(request).toMatchObject({ method: "POST", url: "/v1/memories/search" })
    expect(request?.headers["idempotency-key"]).toBeUndefined()
    const text = `${"我住在哪里".repeat(100)}\ufffd`
    expect(request?.body).toEqual({ query: text, limit: 3, explain: true, tags: "a,b", mode: "llm" })
  })

  it("sends bodies as JSON and returns the answer's body", async () => {
    await using server = await startWireServer(() => ok({ created: [memory], updated: [] }))
    const answer = await clientOf(server.url).create(direct)
    expect(server.requests[0]?.body).toEqual(direct)
    expect(server.requests[0]?.headers["content-type"]).toBe("application/json")
    expect(answer.created[0]?.id).toBe("mem_1")
  })

  it("turns the pages of a listing until there is no cursor", async () => {
    await using server = await startWireServer((_, index) =>
      ok({ memories: [{ ...memory, id: `mem_${index}` }], total: 3, ...(index < 2 ? { nextCursor: `c${index}` } : {}) })
    )
    const ids = await Array.fromAsync(clientOf(server.url).listAll({ agentId: "a", limit: 1 }), ({ id }) => id)
    expect(ids).toEqual(["mem_0", "mem_1", "mem_2"])
    expect(server.requests.map(({ url }) => new URL(url, server.url).searchParams.get("cursor"))).toEqual([
      null,
      "c0",
      "c1"
    ])
  })
})

describe("the client retries", () => {
  it("repeats a write under one idempotency key", async () => {
    await using server = await startWireServer((_, index) => (index === 0 ? busy : ok({ created: [], updated: [] })))
    await clientOf(server.url).create(direct)
    const keys = server.requests.map(({ headers }) => headers["idempotency-key"])
    expect(keys).toHaveLength(2)
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
    expect(keys[1]).toBe(keys[0])
  })

  it("repeats after a cut connection", async () => {
    await using server = await startWireServer((_, index) => (index === 0 ? undefined : ok({ memory })))
    expect((await clientOf(server.url).get("m")).memory.id).toBe("mem_1")
  })

  it("waits as long as the service asks, and more by chance, the more the later", async () => {
    const asked = [1, 1, 7, 1, 1]
    for (let run = 0; run < 8; run++) {
      await using server = await startWireServer((_, index) =>
        index < asked.length ? later(503, asked[index]!) : ok({ memory })
      )
      pauses.length = 0
      await clientOf(server.url).get("m")
      expect(pauses).toHaveLength(asked.length)
      for (const [at, spread] of [1, 2, 10, 8, 10].entries()) {
        expect(pauses[at]).toBeGreaterThanOrEqual(asked[at]! * 1_000)
        expect(pauses[at]).toBeLessThanOrEqual((asked[at]! + spread) * 1_000)
      }
      expect(pauses.every((millis) => millis % 1_000 === 0)).toBe(false)
    }
  })

  it("does not wait for a time that is beyond its patience", async () => {
    await using server = await startWireServer(() => later(429, 3_600))
    pauses.length = 0
    expect((await failureOf(clientOf(server.url).get("m"))).retryAfterMillis).toBe(3_600_000)
    expect([server.requests.length, pauses.length]).toEqual([1, 0])
  })

  it("waits for no more than its patience in all", async () => {
    await using server = await startWireServer(() => later(503, 1))
    pauses.length = 0
    await failureOf(clientOf(server.url, { patienceMillis: 30_000 }).get("m"))
    const waited = pauses.reduce((sum, millis) => sum + millis, 0)
    expect(waited).toBeGreaterThan(15_000)
    expect(waited).toBeLessThanOrEqual(30_000)
  })

  it.each([408, 502, 504])("repeats after %d, which a proxy says for the service", async (status) => {
    const gone: WireAnswer = { status, body: "<html>bad gateway</html>" }
    await using server = await startWireServer((_, index) => (index < 2 ? gone : ok({ created: [], updated: [] })))
    await clientOf(server.url).create(direct)
    expect(new Set(server.requests.map(({ headers }) => headers["idempotency-key"])).size).toBe(1)
    expect(server.requests).toHaveLength(3)
    await using never = await startWireServer(() => gone)
    await failureOf(clientOf(never.url, { retries: 0 }).create(direct))
    expect(never.requests).toHaveLength(1)
    await failureOf(clientOf(never.url).search({ query: "q".repeat(3_000) }))
    expect(never.requests).toHaveLength(4)
  })

  it("gives up after the configured retries, with pauses that grow", async () => {
    await using server = await startWireServer(() => busy)
    pauses.length = 0
    const error = await failureOf(clientOf(server.url, { retries: 3 }).get("m"))
    expect(error.code).toBe("overloaded")
    expect(server.requests).toHaveLength(4)
    expect(pauses.map((millis, index) => millis >= 100 * 2 ** index && millis <= 200 * 2 ** index)).toEqual([
      true,
      true,
      true
    ])
  })

  it("neither repeats nor keys a write when retries are off", async () => {
    await using server = await startWireServer(() => busy)
    await failureOf(clientOf(server.url, { retries: 0 }).create(direct))
    expect(server.requests).toHaveLength(1)
    expect(server.requests[0]?.headers["idempotency-key"]).toBeUndefined()
  })

  it("does not repeat what the service refused", async () => {
    await using server = await startWireServer(() => ({
      status: 500,
      body: { success: false, error: "x", code: "internal_error" }
    }))
    await failureOf(clientOf(server.url).get("m"))
    expect(server.requests).toHaveLength(1)
  })

  it("uses the caller's idempotency key", async () => {
    await using server = await startWireServer(() => ok({}))
    await clientOf(server.url).delete("m", { idempotencyKey: "mine" })
    expect(server.requests[0]?.headers["idempotency-key"]).toBe("mine")
  })
})

describe("the client fails", () => {
  it("with the service's status, code, text and details", async () => {
    const details = [{ index: 0, path: "/fact", message: "is missing" }]
    await using server = await startWireServer(() => ({
      status: 400,
      body: { success: false, error: "data against schema", code: "schema_validation_failed", details }
    }))
    const error = await failureOf(clientOf(server.url).create(direct))
    expect(error).toMatchObject({
      status: 400,
      code: "schema_validation_failed",
      message: "data against schema",
      details
    })
  })

  it("with invalid_response when something else answers", async () => {
    await using server = await startWireServer(() => ({ status: 502, body: "<html>bad gateway</html>" }))
    expect(await failureOf(clientOf(server.url).whoami())).toMatchObject({ status: 502, code: "invalid_response" })
  })

  it("with network_error when nobody listens", async () => {
    const server = await startWireServer(() => ok({}))
    await server[Symbol.asyncDispose]()
    expect(await failureOf(clientOf(server.url).whoami())).toMatchObject({ status: 0, code: "network_error" })
  })

  it("with timeout when an attempt takes too long", async () => {
    const silent: typeof fetch = (_url, init) =>
      new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)))
    const client = clientOf("http://127.0.0.1:9", { fetch: silent, timeoutMillis: 1, retries: 0 })
    expect(await failureOf(client.whoami())).toMatchObject({ status: 0, code: "timeout" })
  })

  it("with the caller's own reason when the caller aborts, without another attempt", async () => {
    await using server = await startWireServer(() => ok({}))
    const signal = AbortSignal.abort("enough")
    await expect(clientOf(server.url).whoami({ signal })).rejects.toBe("enough")
    expect(server.requests).toHaveLength(0)
  })
})
