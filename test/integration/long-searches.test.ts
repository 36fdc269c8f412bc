/** Searches that no URL holds (contract: Search): by URL as far as its bound, and by body as the same search. */
import { beforeAll, describe, expect, it } from "vitest"
import { Muniment } from "@muniment/client/Muniment"
import { Limits } from "@muniment/domain/Limits"
import { toCredits } from "@muniment/domain/Money"
import { Prices } from "@muniment/domain/Plans"
import { accountCalls, fact, idsOf, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"
import { refusalOf } from "../support/TestServer.ts"
import { evmWallet, grantsHeader } from "../support/TrustCalls.ts"

const server = useSharedServer()
const alice = useAccount(server, "alice")
let ids: ReadonlyArray<string>
beforeAll(async () => {
  const written = await alice.create("diary", [
    { ...fact("Alice", "Alice lives in Oslo"), data: { subject: "Alice", fact: "Alice lives in Oslo", city: "Oslo" } },
    fact("Alice", "Alice bakes bread in Turin"),
    fact("Bob", "Bob repairs bicycles")
  ])
  ids = idsOf(written)
  await alice.call("PATCH", `/v1/memories/${ids[0]}`, { body: { tags: ["home", "north"] } })
})

const ends = "Where does Alice live?"
const queries: Readonly<Record<string, string>> = {
  "1,800 Chinese characters": `${ends}${"我住在奥斯陆，你呢？".repeat(200).slice(0, 1_800 - ends.length)}`,
  "1,400 emoji": `${ends}${"🏠".repeat(1_400 - ends.length)}`,
  "2,000 characters beyond the first plane": `${ends}${"𠮷".repeat(Limits.queryLengthMax - ends.length)}`,
  "2,000 characters of Arabic": `${ends}${"أسكن".repeat(500)}`.slice(0, Limits.queryLengthMax),
  "2,000 characters that a URL escapes": `${ends}${"%&+=#".repeat(400)}`.slice(0, Limits.queryLengthMax)
}

describe.each(Object.entries(queries))("a query of %s", (_, query) => {
  it("is answered by URL and by body, the same", async () => {
    const byUrl = await alice.call("GET", `/v1/memories/search?${new URLSearchParams({ query, agentId: "diary" })}`)
    const byBody = await alice.post("/v1/memories/search", { query, agentId: "diary" })
    expect([byUrl.status, byBody.status]).toEqual([200, 200])
    expect(byBody.body.memories.length).toBe(3)
    expect(idsOf(byBody.body.memories)).toEqual(idsOf(byUrl.body.memories))
  })

  it("is answered through the client, in every mode", async () => {
    const client = new Muniment({ baseUrl: server.url, apiKey: alice.key, retries: 0 })
    expect((await client.search({ query, agentId: "diary" })).memories.length).toBe(3)
    expect(await client.search({ query, agentId: "diary", mode: "answer" })).toHaveProperty("grounded")
    expect(await client.search({ query, agentId: "diary", mode: "map" })).toHaveProperty("memoryMap")
  })
})

describe("a search by body", () => {
  const search = (body: object) => alice.post("/v1/memories/search", body)
  const found = async (body: object) => {
    const answer = await search({ query: "Alice", ...body })
    expect(answer.body).toMatchObject({ success: true })
    return idsOf(answer.body.memories)
  }

  it("takes each parameter in JSON's type, and lists and objects as a URL has them", async () => {
    expect(await found({ tags: ["home", "nowhere"] })).toEqual([ids[0]])
    expect(await found({ tags: "nowhere,north" })).toEqual([ids[0]])
    expect(await found({ data: { city: "Oslo" } })).toEqual([ids[0]])
    expect(await found({ data: '{"city":"Oslo"}' })).toEqual([ids[0]])
    expect(await found({ limit: 1 })).toHaveLength(1)
    expect(await found({ agentId: "diary", kind: "factual_memory", include: "extracted" })).toHaveLength(3)
    const explained = await search({
      query: "Alice",
      explain: true,
      newerFirst: false,
      minRelevance: 0,
      recall: "strict"
    })
    expect(explained.body.memories[0].explain).toBeDefined()
    const clock = { now: "2026-03-01T10:00:00+01:00", timeZone: "Europe/Berlin" }
    expect((await search({ query: "yesterday", ...clock, includeSuperseded: true })).status).toBe(200)
  })

  it.each([
    ["invalid_request", { query: "" }],
    ["invalid_request", { query: "x".repeat(Limits.queryLengthMax + 1) }],
    ["invalid_request", {}],
    ["invalid_request", { query: "x", limit: "5" }],
    ["invalid_request", { query: "x", limit: 1_000 }],
    ["invalid_request", { query: "x", mode: "vague" }],
    ["invalid_request", { query: "x", recall: "strict", mode: "map" }],
    ["invalid_request", { query: "x", data: { a: [1] } }],
    ["invalid_request", { query: "x", data: "no JSON" }],
    ["invalid_tag", { query: "x", tags: [] }],
    ["invalid_tag", { query: "x", tags: "," }],
    ["unknown_parameter", { query: "x", subject: "s" }],
    ["unknown_parameter", { query: "x", filters: { agentId: "a" } }],
    ["grants_required", { query: "x", scope: "shared" }]
  ])("is refused with %s: %j", async (code, body) => {
    expect(refusalOf(await search(body))).toEqual([400, code])
  })

  it("costs what the other costs, under its name, and a key that only reads may do it", async () => {
    const bob = await accountCalls(server, "bob")
    const answer = await bob.post("/v1/memories/search", { query: "anything" })
    expect(Number(answer.headers.get("x-credits-charged"))).toBe(toCredits(Prices.searchMemories))
    const { body } = await bob.call("GET", "/v1/credits/transactions")
    expect(body.transactions[0]).toMatchObject({ operation: "search" })
    const { body: reader } = await bob.post("/v1/keys", { readOnly: true })
    const read = await server.call("POST", "/v1/memories/search", { key: reader.secret, body: { query: "anything" } })
    expect(read.status).toBe(200)
  })

  it("is made anew each time, whatever its Idempotency-Key", async () => {
    const carol = await accountCalls(server, "carol")
    const once = () => carol.post("/v1/memories/search", { query: "tea" }, { "idempotency-key": "same" })
    expect((await once()).body.memories).toEqual([])
    await carol.create("a", [fact("Carol", "Carol drinks tea")])
    expect((await once()).body.memories).toHaveLength(1)
  })

  it("takes grants in their header, ten long ones too", async () => {
    const long = "ü".repeat(Limits.identifierLengthMax)
    const grants = Array.from({ length: 10 }, (_, at) => ({
      p: {
        f: evmWallet(`grantor ${at}`).wallet.address,
        g: evmWallet("grantee").wallet.address,
        e: 2_000_000_000,
        a: long,
        u: long
      },
      s: `0x${"0".repeat(130)}`,
      c: "evm"
    }))
    const headers = { "x-grants": grantsHeader(grants)["x-grants"]! }
    expect(headers["x-grants"].length).toBeGreaterThan(8_192)
    const query = queries["2,000 characters beyond the first plane"]!
    expect((await alice.post("/v1/memories/search", { query }, headers)).status).toBe(200)
    const url = `/v1/memories/search?${new URLSearchParams({ query })}`
    expect((await alice.call("GET", url, { headers })).status).toBe(200)
  })
})
