/**
 * Shared search between agents (contract: Grants): A grants B one agent and one subject; B sees exactly those memories,
 * C none, and nobody any after the grant's end. What comes with them verifies offline.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Attestation } from "@muniment/domain/Attestation"
import type { Grant } from "@muniment/domain/Grant"
import { fact, idsOf, schemaText, text, untilMoment, type MemoryCalls } from "../support/MemoryCalls.ts"
import { everyDay } from "../support/Repetitions.ts"
import { refusalOf, startServer, type TestServer } from "../support/TestServer.ts"
import {
  evmWallet,
  grantsHeader,
  isVerifiedOffline,
  nowSeconds,
  publishedKeys,
  searchPath,
  sha256Text,
  signedGrant,
  solWallet,
  walletCalls
} from "../support/TrustCalls.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none" }
const dataDirectory = temporaryDirectory()

let server: TestServer

beforeAll(async () => {
  server = await startServer({ dataDirectory, environment })
})
afterAll(async () => {
  await server.stop()
})

type Calls = Omit<MemoryCalls, "key">
type Found = ReadonlyArray<{ readonly id: string; readonly source: string; readonly metadata: { contentHash: string } }>

interface SearchBody {
  readonly memories: Found
  readonly sourceAttestations?: Readonly<
    Record<string, { readonly attestation: Attestation; readonly signature: string }>
  >
}

const search = async (
  calls: Calls,
  grants: ReadonlyArray<Grant>,
  parameters: Readonly<Record<string, string>> = {}
) => {
  const path = searchPath({ query: "tea", limit: "100", ...parameters })
  const { status, body } = await calls.call("GET", path, { headers: grantsHeader(grants) })
  expect([status, body.success]).toEqual([200, true])
  return body as SearchBody
}
const seen = async (calls: Calls, grants: ReadonlyArray<Grant>, parameters: Readonly<Record<string, string>> = {}) =>
  idsOf((await search(calls, grants, parameters)).memories).toSorted()

const contact = (email: string, note: string) => ({ kind: "contact", data: { email, note } })

describe.each(
  everyDay(1, [
    ["EVM", evmWallet("A"), solWallet("B"), evmWallet("C")],
    ["Solana", solWallet("A"), evmWallet("B"), solWallet("C")]
  ] as const)
)("A (%s) grants B one agent and one subject", (_, signerA, signerB, signerC) => {
  let a: Calls
  let b: Calls
  let c: Calls
  /** What the grant opens. */
  let granted: ReadonlyArray<string>
  let own: ReadonlyArray<string>
  let superseded: string
  const toB = (rest: object = {}) => signedGrant(signerA, { g: signerB.wallet.address, a: "travel", u: "kim", ...rest })

  beforeAll(async () => {
    ;[a, b, c] = [walletCalls(server, signerA), walletCalls(server, signerB), walletCalls(server, signerC)]
    const kim = { subjectId: "kim" }
    await a.post("/v1/schemas", {
      name: "contact",
      description: "d",
      uniqueOn: ["email"],
      schema: schemaText({ email: text, note: text })
    })
    const first = await a.create("travel", [fact("Kim", "drinks jasmine tea"), fact("Kim", "tea house in Kyoto")], kim)
    const [older] = await a.create("travel", [contact("kim@example.org", "tea at noon")], kim)
    const [newer] = await a.create("travel", [contact("kim@example.org", "tea at four")], kim)
    superseded = older.id
    granted = idsOf([...first, newer]).toSorted()
    await a.createExpired("travel", fact("Kim", "an expired tea"), kim)
    await a.create("travel", [fact("Lee", "tea with milk")], { subjectId: "lee" })
    await a.create("travel", [fact("all", "tea for everybody")])
    await a.create("work", [fact("Kim", "tea in the office")], kim)
    own = idsOf(await b.create("travel", [fact("Bo", "keeps tea of his own")], kim))
    await c.create("travel", [fact("Cy", "keeps tea too")], kim)
  })

  it("so that B sees exactly those under `shared`, and his own beside them under `all`", async () => {
    const grant = await toB()
    expect(await seen(b, [grant], { scope: "shared" })).toEqual(granted)
    expect(await seen(b, [grant], { scope: "all" })).toEqual([...granted, ...own].toSorted())
    expect(await seen(b, [grant])).toEqual([...granted, ...own].toSorted())
    expect(await seen(b, [grant], { scope: "own" })).toEqual(own)
    const sources = (await search(b, [grant])).memories.map(({ id, source }) => [own.includes(id), source])
    expect(sources.every(([isOwn, source]) => source === (isOwn ? "own" : "shared"))).toBe(true)
  })

  it("and each shared memory says so, with its grantor and its hash", async () => {
    const { memories } = await search(b, [await toB()], { scope: "shared", query: "jasmine tea" })
    expect(memories[0]).toMatchObject({
      kind: "factual_memory",
      data: { subject: "Kim", fact: "drinks jasmine tea" },
      source: "shared",
      grantor: signerA.wallet.address,
      metadata: { source: "shared", agentId: "travel", subject: "Kim", fact: "drinks jasmine tea" }
    })
    const hashed = '{"agentId":"travel","data":{"fact":"drinks jasmine tea","subject":"Kim"},"kind":"factual_memory"}'
    expect(memories[0]!.metadata.contentHash).toBe(`0x${sha256Text(hashed)}`)
    expect(JSON.stringify(memories)).not.toContain('"subjectId"')
  })

  it("and the source attestation verifies offline, over the hashes of what was returned, in order", async () => {
    for (const scope of ["shared", "all"]) {
      const before = nowSeconds()
      const { memories, sourceAttestations } = await search(b, [await toB()], { scope, query: "tea jasmine Kyoto" })
      expect(Object.keys(sourceAttestations!)).toEqual([signerA.wallet.address])
      const { attestation, signature, ...rest } = sourceAttestations![signerA.wallet.address]!
      const memoryHashes = memories.flatMap(({ source, metadata }) =>
        source === "shared" ? [metadata.contentHash] : []
      )
      expect(memoryHashes).toHaveLength(granted.length)
      expect([attestation, rest]).toEqual([
        {
          claim: "shared_memories_from",
          params: { grantor: signerA.wallet.address, memoryHashes },
          result: {
            satisfied: true,
            matchCount: memoryHashes.length,
            namespace: `0x${sha256Text(`muniment:ns:v1:${signerA.wallet.address}`)}`
          },
          issuedAt: expect.any(Number),
          expiresAt: attestation.issuedAt + 86_400,
          issuer: "muniment"
        },
        {}
      ])
      expect(attestation.issuedAt).toBeGreaterThanOrEqual(before)
      expect(attestation.issuedAt).toBeLessThanOrEqual(nowSeconds())
      const { attestationPublicKey } = await publishedKeys(server)
      expect(isVerifiedOffline({ attestation, signature }, attestationPublicKey)).toBe(true)
      const altered = { ...attestation, issuer: "other" }
      expect(isVerifiedOffline({ attestation: altered, signature }, attestationPublicKey)).toBe(false)
    }
  })

  it("so that C and A see nothing of it, and no attestation where nothing shared is found", async () => {
    const grant = await toB()
    const toC = await search(c, [grant], { scope: "shared" })
    const unusableGrants = [expect.objectContaining({ index: 0, reason: "not_for_caller" })]
    expect(toC).toEqual({ success: true, memories: [], searchedAt: expect.any(String), unusableGrants })
    expect((await search(c, [grant])).memories.every(({ source }) => source === "own")).toBe(true)
    expect(await seen(a, [grant], { scope: "shared" })).toEqual([])
    const unfound = await search(b, [grant], { scope: "shared", query: "submarine" })
    expect(unfound).not.toHaveProperty("sourceAttestations")
    expect(await search(b, [grant], { scope: "own" })).not.toHaveProperty("sourceAttestations")
  })

  it("so that B's own filters only narrow it, and a contradiction gives nothing", async () => {
    const shared = async (filters: Readonly<Record<string, string>>) =>
      seen(b, [await toB()], { scope: "shared", ...filters })
    expect(await shared({ agentId: "travel", subjectId: "kim" })).toEqual(granted)
    expect(await shared({ kind: "contact" })).toHaveLength(1)
    for (const filters of [{ agentId: "work" }, { subjectId: "lee" }, { agentId: "none" }, { threadId: "t" }]) {
      expect(await shared(filters)).toEqual([])
    }
    expect(await shared({ subjectId: "kim", minRelevance: "1" })).toEqual([])
  })

  it("without earlier versions, whatever B asks for and in whatever way", async () => {
    const [grant, withHistory] = [await toB(), await toB({ h: true })]
    const asked = { scope: "shared", includeSuperseded: "true" }
    expect(await seen(b, [grant], asked)).toEqual(granted)
    expect(await seen(b, [await toB({ h: false })], asked)).toEqual(granted)
    expect(await seen(b, [withHistory], { scope: "shared" })).toEqual(granted)
    expect(await seen(b, [withHistory], asked)).toEqual([...granted, superseded].toSorted())
    expect(await seen(b, [grant, withHistory], asked)).toEqual([...granted, superseded].toSorted())

    const headers = grantsHeader([grant])
    const query = { query: "tea at noon", limit: 100, filters: { includeSuperseded: true } }
    const batch = await b.post("/v1/memories/batch/search", { queries: [query], scope: "shared" }, headers)
    expect(idsOf(batch.body.results[0].memories).toSorted()).toEqual(granted)
    for (const mode of ["answer", "map"]) {
      const path = searchPath({ query: "tea at noon", mode, limit: "100", ...asked })
      const { body } = await b.call("GET", path, { headers })
      expect([mode, body.success]).toEqual([mode, true])
      expect(JSON.stringify(body)).not.toContain("tea at noon")
      expect(JSON.stringify(body)).not.toContain(superseded)
    }
    const message = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "memory_search", arguments: { ...asked, query: "tea at noon", includeSuperseded: true } }
    }
    const mcp = await b.call("POST", "/mcp", { body: message, headers })
    expect(mcp.status).toBe(200)
    expect(JSON.stringify(mcp.body)).not.toContain(superseded)
    expect(JSON.stringify(mcp.body)).toContain(granted[0])
  })

  it("at the service that it names alone", async () => {
    const own = { scope: "shared" }
    expect(await seen(b, [await toB({ o: server.url })], own)).toEqual(granted)
    for (const o of ["https://other.example", `${server.url}/`, server.url.replace("http:", "https:")]) {
      expect(await seen(b, [await toB({ o })], own), o).toEqual([])
    }
  })

  it("and leaves out what was superseded or has expired", async () => {
    const grant = await toB()
    const expiresAt = Date.now() + 3_000
    const [mortal] = await a.create("travel", [{ ...fact("Kim", "tea for a moment"), expiresAt }], { subjectId: "kim" })
    expect(await seen(b, [grant], { scope: "shared" })).toEqual([...granted, mortal.id].toSorted())
    await untilMoment(expiresAt + 1)
    expect(await seen(b, [grant], { scope: "shared" })).toEqual(granted)
    expect(await seen(b, [grant], { scope: "shared" })).not.toContain(superseded)
  })

  it("and nothing after the second that it names", async () => {
    const e = nowSeconds() + 4
    const grant = await toB({ e })
    expect(await seen(b, [grant], { scope: "shared" })).toEqual(granted)
    await untilMoment(e * 1_000)
    expect(await search(b, [grant], { scope: "shared" })).toMatchObject({ memories: [] })
    expect(await seen(b, [grant])).toEqual(own)
    expect(await seen(b, [await toB({ e: nowSeconds() })], { scope: "shared" })).toEqual([])
  })

  it("and nothing after A took it back, also after a restart; nobody else can", async () => {
    const grant = await toB({ e: nowSeconds() + 7_200 })
    const spared = await toB({ e: nowSeconds() + 7_201 })
    for (const calls of [b, c]) {
      expect(refusalOf(await calls.post("/v1/grants/revoke", { grant }))).toEqual([403, "not_grantor"])
    }
    expect(await seen(b, [grant], { scope: "shared" })).toEqual(granted)
    for (const headers of [{}, {}, { "idempotency-key": "revoke" }, { "idempotency-key": "revoke" }]) {
      const { status, body } = await a.post("/v1/grants/revoke", { grant }, headers)
      expect([status, body]).toEqual([200, { success: true, revoked: true }])
    }
    const isGone = async () => {
      expect(await seen(b, [grant], { scope: "shared" })).toEqual([])
      expect(await seen(b, [grant])).toEqual(own)
      expect(await seen(b, [spared], { scope: "shared" })).toEqual(granted)
      expect(await seen(b, [grant, spared], { scope: "shared" })).toEqual(granted)
    }
    await isGone()
    await server.stop()
    server = await startServer({ dataDirectory, environment })
    ;[a, b, c] = [walletCalls(server, signerA), walletCalls(server, signerB), walletCalls(server, signerC)]
    await isGone()
  })

  it("for search alone: nothing of it can be read by id, listed, counted, changed or deleted", async () => {
    const grant = await toB()
    const headers = grantsHeader([grant])
    const ids = [...granted]
    const before = await a.call("GET", "/v1/memories?limit=100&includeSuperseded=true")
    const attempts = ids.flatMap((id): ReadonlyArray<readonly [string, string, unknown?]> => [
      ["GET", `/v1/memories/${id}`],
      ["PATCH", `/v1/memories/${id}`, { tags: ["taken"] }],
      ["DELETE", `/v1/memories/${id}`],
      ["POST", "/v1/memories", { agentId: "travel", memories: [{ ...fact("Kim", "overwritten"), id }] }]
    ])
    for (const [method, path, body] of attempts) {
      const refusal = await b.call(method, path, { body, headers })
      expect([method, path, refusal.status, refusal.body.code]).toEqual([method, path, 404, "memory_not_found"])
    }
    const listed = await b.call("GET", "/v1/memories?agentId=travel&limit=100", { headers })
    expect(idsOf(listed.body.memories)).toEqual(own)
    const counts: ReadonlyArray<readonly [string, unknown, object]> = [
      ["/v1/memories/batch/update", { ids, update: { tags: ["taken"] } }, { updated: 0 }],
      ["/v1/memories/batch/delete", { ids }, { deleted: 0 }],
      ["/v1/memories/batch/delete", { ids, dryRun: true }, { deleted: 0 }],
      ["/v1/memories/batch/delete", { filters: { subjectId: "kim" }, dryRun: true }, { deleted: own.length }],
      ["/v1/memories/batch/delete", { filters: { kind: "contact" } }, { deleted: 0 }],
      ["/v1/attestations", { claim: "memory_count_gte", threshold: 0 }, { attestation: { result: { matchCount: 1 } } }],
      [
        "/v1/attestations",
        { claim: "has_schema", schemaName: "contact" },
        { attestation: { result: { matchCount: 0 } } }
      ]
    ]
    for (const [path, body, answer] of counts) expect((await b.post(path, body, headers)).body).toMatchObject(answer)
    expect((await b.call("GET", "/v1/account", { headers })).body.agents).toEqual([{ agentId: "travel", memories: 1 }])
    const exported = await b.call("GET", "/admin/export?account=operator", { headers })
    expect(exported.status).toBe(401)
    expect((await a.call("GET", "/v1/memories?limit=100&includeSuperseded=true")).body).toEqual(before.body)
  })
})
