/** GET /v1/memories/search (contract: Search). */
import { beforeAll, describe, expect, it } from "vitest"
import { fact, idsOf, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"
import { refusalOf } from "../support/TestServer.ts"

const server = useSharedServer()
const alice = useAccount(server, "alice")
beforeAll(async () => {
  for (const agentId of ["a1", "a2"]) {
    for (const subjectId of ["s1", "s2"]) {
      for (const threadId of ["t1", "t2"]) {
        const words = `Walrus note of ${agentId} ${subjectId} ${threadId}`
        const memories = [fact("Walrus", words), { kind: "temporal_event", data: { event: words } }]
        await alice.create(agentId, memories, { subjectId, threadId })
      }
    }
  }
})

const search = (parameters: Readonly<Record<string, string>>) =>
  alice.call("GET", `/v1/memories/search?${new URLSearchParams({ query: "walrus", ...parameters })}`)
const found = async (parameters: Readonly<Record<string, string>>) =>
  idsOf(await alice.search({ query: "walrus", limit: "100", ...parameters })).sort()
describe("a hit", () => {
  it("has the fields of the contract and no others, beside searchedAt", async () => {
    const event = { kind: "temporal_event", data: { event: "Regatta", eventDate: "2026-05-01" } }
    const [created] = await alice.create("shape", [event])
    const before = Date.now()
    const { status, headers, body } = await search({ query: "regatta", agentId: "shape" })
    expect(status).toBe(200)
    expect(headers.get("content-type")).toMatch(/^application\/json/)
    expect(body).toEqual({
      success: true,
      memories: [
        {
          id: expect.stringMatching(/^mem_/),
          kind: "temporal_event",
          quality: { relevance: expect.any(Number), confidence: 1 },
          data: { event: "Regatta", eventDate: "2026-05-01" },
          context: { when: "2026-05-01T00:00:00.000Z", mentions: [], tags: [], isLatest: true },
          source: "own",
          metadata: (await alice.get(created.id)).metadata
        }
      ],
      searchedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    })
    expect(Date.parse(body.searchedAt)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(body.searchedAt)).toBeLessThanOrEqual(Date.now())
  })

  it("has no context.when unless the memory has an event time", async () => {
    const [hit] = await alice.search({ query: "walrus", kind: "factual_memory" })
    expect(hit.context).not.toHaveProperty("when")
  })

  it("has a relevance of 0 to 1 in 4 digits, sorted from the best, equals newer first", async () => {
    const [older, newer] = await alice
      .create("ties", [fact("Same", "Same words")])
      .then(async (first) => [first[0], (await alice.create("ties", [fact("Same", "Same words")]))[0]])
    const hits = await alice.search({ query: "walrus note t1 words", limit: "100" })
    const scores = hits.map(({ quality }) => quality.relevance as number)
    expect(scores.length).toBeGreaterThan(10)
    expect(scores).toEqual(scores.toSorted((left, right) => right - left))
    for (const score of scores) {
      expect(score).toBe(Math.round(score * 10_000) / 10_000)
      expect(score >= 0 && score <= 1).toBe(true)
    }
    expect(idsOf(await alice.search({ query: "same words", agentId: "ties" }))).toEqual([newer.id, older.id])
  })
})

describe("filters", () => {
  it("that name an agent, subject, thread or kind that nobody knows give no hits and no error", async () => {
    for (const name of ["agentId", "subjectId", "threadId", "kind"]) {
      const { status, body } = await search({ [name]: "unheard-of" })
      expect([status, body.success, body.memories]).toEqual([200, true, []])
    }
  })

  it("by tags let a memory through that has any of them, and combine with the others", async () => {
    const agent = { agentId: "tagged" }
    const created = await alice.create(
      "tagged",
      ["red", "green", "both", "none"].map((name) => fact("Walrus", name))
    )
    const [red, green, both] = idsOf(created)
    const tag = (id: string | undefined, tags: ReadonlyArray<string>) =>
      alice.call("PATCH", `/v1/memories/${id}`, { body: { tags } })
    await tag(red, ["red"])
    await tag(green, ["green"])
    await tag(both, ["red", "green"])
    const sorted = (...ids: ReadonlyArray<string | undefined>) => ids.toSorted()
    expect(await found({ ...agent, tags: "red" })).toEqual(sorted(red, both))
    expect(await found({ ...agent, tags: "red,green" })).toEqual(sorted(red, green, both))
    expect(await found({ ...agent, tags: " green , unused " })).toEqual(sorted(green, both))
    expect(await found({ ...agent, tags: "re" })).toEqual([])
    expect(await found({ ...agent, tags: "red", kind: "temporal_event" })).toEqual([])
    const { body } = await search({ tags: " , " })
    expect(body.code).toBe("invalid_tag")
  })

  it("by eventDate take both bounds in, a bare upper date as its whole day, and no memory without a time", async () => {
    const event = (eventDate?: string) => ({ kind: "temporal_event", data: { event: "Walrus", eventDate } })
    const days = ["2026-01-01", "2026-01-02T12:00:00Z", "2026-01-03"]
    const [first, second, third] = idsOf(await alice.create("dated", [...days.map(event), event()]))
    const within = (bounds: Readonly<Record<string, string>>) => found({ agentId: "dated", ...bounds })
    const sorted = (...ids: ReadonlyArray<string | undefined>) => ids.toSorted()
    expect(await within({ eventDateFrom: "2026-01-02" })).toEqual(sorted(second, third))
    expect(await within({ eventDateTo: "2026-01-02" })).toEqual(sorted(first, second))
    expect(await within({ eventDateTo: "2026-01-02T11:59:59Z" })).toEqual(sorted(first))
    expect(await within({ eventDateFrom: "2026-01-01T00:00:00Z", eventDateTo: "2026-01-01T00:00:00Z" })).toEqual([
      first
    ])
    expect(await within({ eventDateFrom: "2026-02-01", eventDateTo: "2026-01-01" })).toEqual([])
    for (const bad of ["yesterday", "2026-13-01", "1767225600000"]) {
      expect((await search({ eventDateFrom: bad })).body.code).toBe("invalid_request")
    }
  })
})

describe("parameters", () => {
  it("limit is 10 unless given and may be 1 to 100", async () => {
    expect((await search({})).body.memories).toHaveLength(10)
    expect((await search({ limit: "1" })).body.memories).toHaveLength(1)
    expect((await search({ limit: "100" })).body.memories.length).toBeGreaterThanOrEqual(16)
    for (const limit of ["0", "101", "-1", "1.5", "ten", ""]) {
      expect(refusalOf(await search({ limit }))).toEqual([400, "invalid_request"])
    }
  })

  it("limit keeps the best", async () => {
    const all = await alice.search({ query: "walrus a1 s1", limit: "100" })
    expect(idsOf(await alice.search({ query: "walrus a1 s1", limit: "3" }))).toEqual(idsOf(all).slice(0, 3))
  })

  it("minRelevance leaves out what is below it", async () => {
    const all = await alice.search({ query: "walrus a1 t1", limit: "100" })
    const floor = all[4].quality.relevance
    const kept = all.filter(({ quality }) => quality.relevance >= floor)
    const some = await alice.search({ query: "walrus a1 t1", limit: "100", minRelevance: String(floor) })
    expect(idsOf(some)).toEqual(idsOf(kept))
    for (const bad of ["-0.1", "1.1", "high"]) expect((await search({ minRelevance: bad })).status).toBe(400)
  })

  it("explain adds the scores and the rank to each hit", async () => {
    const hits = await alice.search({ query: "walrus", explain: "true" })
    expect(hits.map(({ explain }) => explain.rank)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    for (const { explain, quality } of hits) {
      expect(Object.keys(explain).sort()).toEqual(["dense", "fused", "lexical", "rank", "score", "terms"])
      expect(explain.fused).toBe(quality.relevance)
    }
    const [plain] = await alice.search({ query: "walrus", explain: "false" })
    expect(plain).not.toHaveProperty("explain")
  })

  it("query is required, trimmed, and 1 to 2,000 characters", async () => {
    expect((await alice.call("GET", "/v1/memories/search")).body.code).toBe("invalid_request")
    for (const query of ["", "   ", "q".repeat(2_001)]) {
      expect(refusalOf(await search({ query }))).toEqual([400, "invalid_request"])
    }
    expect((await search({ query: `  ${"q".repeat(2_000)}  ` })).status).toBe(200)
    const padded = await alice.search({ query: "  walrus  " })
    expect(idsOf(padded)).toEqual(idsOf(await alice.search({ query: "walrus" })))
  })

  it.each([
    ["mode", "llm", 200],
    ["mode", "raw", 200],
    ["mode", "answer", 200],
    ["mode", "map", 200],
    ["mode", "poem", 400],
    ["mode", "", 400],
    ["scope", "own", 200],
    ["scope", "all", 200],
    ["scope", "shared", 400],
    ["scope", "everyone", 400]
  ])("%s=%j answers with %i", async (name, value, status) => {
    expect((await search({ [name]: value })).status).toBe(status)
  })
})

describe("ranking", () => {
  beforeAll(async () => {
    await alice.create("notes", [
      fact("Alice", "Alice lives in Seattle with her two dogs"),
      fact("Alice", "Alice is allergic to peanuts"),
      fact("Order", "The invoice number is ZX-48151"),
      fact("Bob", "Bob repairs old motorcycles in his garage"),
      fact("Carol", "Carol teaches mathematics at a primary school")
    ])
  })

  it("puts the memory with the exact term first", async () => {
    const [hit] = await alice.search({ query: "ZX-48151", agentId: "notes" })
    expect(hit.data.subject).toBe("Order")
  })

  it("puts the memory that means the same first, though they share no word", async () => {
    const { body } = await server.call("GET", "/health/ready")
    expect(body.checks.embedding.state).toBe("ready")
    const [dogs] = await alice.search({ query: "who owns pets?", agentId: "notes" })
    expect(dogs.data.fact).toContain("dogs")
    const [food] = await alice.search({ query: "which snacks would be dangerous for her?", agentId: "notes" })
    expect(food.data.fact).toContain("peanuts")
  })
})
