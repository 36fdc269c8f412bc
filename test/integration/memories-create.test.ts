/** POST /v1/memories in direct mode (contract: Memories). */
import { createHash } from "node:crypto"
import { describe, expect, it } from "vitest"
import { fact, schemaText, text, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"
import { refusalOf } from "../support/TestServer.ts"

const server = useSharedServer()
const alice = useAccount(server, "alice")

const total = async (agentId: string) => (await alice.call("GET", `/v1/memories?agentId=${agentId}`)).body.total

describe("a created memory", () => {
  it("is answered as id, kind, data and metadata with the data laid flat beside the system fields", async () => {
    const before = Date.now()
    const { status, body } = await alice.post("/v1/memories", {
      agentId: "shape",
      subjectId: "user-1",
      threadId: "thread-1",
      memories: [fact("Alice", "Alice lives in Seattle")],
      ttl: "1h"
    })
    const [entry] = body.created
    expect(status).toBe(200)
    expect(body).toEqual({ success: true, created: [entry], updated: [] })
    expect(entry).toEqual({
      id: expect.stringMatching(/^mem_[0-9A-HJKMNP-TV-Z]{26}$/),
      kind: "factual_memory",
      data: { subject: "Alice", fact: "Alice lives in Seattle" },
      metadata: {
        subject: "Alice",
        fact: "Alice lives in Seattle",
        agentId: "shape",
        subjectId: "user-1",
        threadId: "thread-1",
        tags: [],
        confidence: 1,
        createdAt: expect.any(Number),
        updatedAt: entry.metadata.createdAt,
        contentHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        expiresAt: entry.metadata.createdAt + 3_600_000
      }
    })
    expect(entry.metadata.createdAt).toBeGreaterThanOrEqual(before)
    expect(entry.metadata.createdAt).toBeLessThanOrEqual(Date.now())
  })

  it("leaves out of metadata what the request did not give", async () => {
    const [entry] = await alice.create("bare", [fact("Bob", "Bob sings")])
    expect(Object.keys(entry.metadata).sort()).toEqual(
      ["agentId", "confidence", "contentHash", "createdAt", "fact", "subject", "tags", "updatedAt"].sort()
    )
  })

  it("is hashed over the canonical JSON of agentId, data and kind", async () => {
    const [entry] = await alice.create("hash", [{ kind: "factual_memory", data: { subject: "é", fact: "ü" } }])
    const canonical = '{"agentId":"hash","data":{"fact":"ü","subject":"é"},"kind":"factual_memory"}'
    expect(entry.metadata.contentHash).toBe(`0x${createHash("sha256").update(canonical).digest("hex")}`)
  })

  it("lets the system field win in metadata on a name clash, while data stays as given", async () => {
    const data = { subject: "s", fact: "f", agentId: "forged", tags: ["x"], confidence: 0, createdAt: 1 }
    const [entry] = await alice.create("clash", [{ kind: "factual_memory", data }])
    expect(entry.data).toEqual(data)
    expect(entry.metadata).toMatchObject({ agentId: "clash", tags: [], confidence: 1 })
    expect(entry.metadata.createdAt).toBeGreaterThan(1)
  })

  it("can be read and found as soon as the create call returned", async () => {
    const [entry] = await alice.create("reader", [fact("Zoe", "Zoe keeps axolotls")])
    expect(await alice.get(entry.id)).toEqual({
      ...entry,
      context: { mentions: [], tags: [], isLatest: true },
      source: "own",
      version: expect.stringMatching(/^[0-9a-f]{32}$/)
    })
    const found = await alice.search({ query: "axolotls", agentId: "reader" })
    expect(found[0].id).toBe(entry.id)
  })

  it("has the time of its event as context.when in UTC", async () => {
    const [day, moment] = await alice.create("events", [
      { kind: "temporal_event", data: { event: "Conference", eventDate: "2026-03-01" } },
      { kind: "temporal_event", data: { event: "Dinner", eventDate: "2026-03-01T20:00:00+02:00" } }
    ])
    expect((await alice.get(day.id)).context.when).toBe("2026-03-01T00:00:00.000Z")
    expect((await alice.get(moment.id)).context.when).toBe("2026-03-01T18:00:00.000Z")
  })

  it("gets the defaults that its schema declares for properties that are missing", async () => {
    const schema = schemaText({ title: text, state: { type: "string", default: "open" } })
    await alice.post("/v1/schemas", { name: "ticket", description: "A ticket", schema })
    const [entry] = await alice.create("defaults", [{ kind: "ticket", data: { title: "Leak" } }])
    expect(entry.data).toEqual({ title: "Leak", state: "open" })
  })
})

describe("a request with several memories", () => {
  it("gives one created entry for each, in its order, also for two preferences of one subject", async () => {
    const preference = (what: string) => ({
      kind: "preference_memory",
      data: { subject: "Ann", preferenceType: "likes", preference: what }
    })
    const created = await alice.create("several", [preference("tea"), preference("rain"), fact("Ann", "Ann skis")])
    expect(created.map(({ data }) => data.preference ?? data.fact)).toEqual(["tea", "rain", "Ann skis"])
    expect(new Set(created.map(({ id }) => id)).size).toBe(3)
  })

  it("is stored whole or not at all, and every bad memory is named with its index", async () => {
    const bad = { kind: "factual_memory", data: { subject: "only" } }
    const { status, body } = await alice.post("/v1/memories", {
      agentId: "whole",
      memories: [fact("a", "b"), bad, { kind: "factual_memory", data: { subject: "x", fact: 7 } }]
    })
    expect([status, body.code]).toEqual([400, "schema_validation_failed"])
    expect(body.details).toEqual([
      { index: 1, path: expect.any(String), message: expect.stringContaining("fact") },
      { index: 2, path: "/fact", message: expect.any(String) }
    ])
    expect(await total("whole")).toBe(0)
  })

  it("names the index of an unknown kind", async () => {
    const { body } = await alice.post("/v1/memories", {
      agentId: "whole",
      memories: [fact("a", "b"), { kind: "nobody_knows", data: {} }]
    })
    expect(body).toMatchObject({ code: "unknown_kind", details: [{ index: 1 }] })
    expect(await total("whole")).toBe(0)
  })

  it("may have 100 memories and not 101", async () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => fact("n", `number ${at}`))
    expect(await alice.create("hundred", many(100))).toHaveLength(100)
    const { status, body } = await alice.post("/v1/memories", { agentId: "hundred", memories: many(101) })
    expect([status, body.code]).toEqual([400, "batch_too_large"])
    expect(await total("hundred")).toBe(100)
  })
})

describe("a request", () => {
  it.each([
    ["neither conversation nor memories", { agentId: "a" }],
    ["both", { agentId: "a", memories: [fact("a", "b")], conversation: [{ role: "user", content: "hi" }] }],
    ["no memories in the list", { agentId: "a", memories: [] }],
    ["no messages in the conversation", { agentId: "a", conversation: [] }],
    ["no agentId", { memories: [fact("a", "b")] }],
    ["an empty agentId", { agentId: "", memories: [fact("a", "b")] }],
    ["an agentId of 129 characters", { agentId: "a".repeat(129), memories: [fact("a", "b")] }],
    ["a subjectId that is a number", { agentId: "a", subjectId: 7, memories: [fact("a", "b")] }],
    ["a role that does not exist", { agentId: "a", conversation: [{ role: "robot", content: "hi" }] }],
    ["data that is a string", { agentId: "a", memories: [{ kind: "factual_memory", data: "x" }] }],
    ["data that is a list", { agentId: "a", memories: [{ kind: "factual_memory", data: [] }] }],
    ["no kind", { agentId: "a", memories: [{ data: {} }] }]
  ])("with %s is invalid", async (_, body) => {
    expect(refusalOf(await alice.post("/v1/memories", body))).toEqual([400, "invalid_request"])
  })

  it("takes identifiers of 128 characters", async () => {
    const long = "i".repeat(128)
    const [entry] = await alice.create(long, [fact("a", "b")], { subjectId: long, threadId: long })
    expect(entry.metadata).toMatchObject({ agentId: long, subjectId: long, threadId: long })
  })

  it("takes 64 KiB of data and depth 16, and refuses more", async () => {
    const nested = (depth: number): unknown => (depth === 0 ? "end" : { in: nested(depth - 1) })
    const tries = [
      [{ fact: "x".repeat(60_000) }, 200],
      [{ fact: "x".repeat(66_000) }, 400],
      [{ fact: "f", deep: nested(14) }, 200],
      [{ fact: "f", deep: nested(17) }, 400]
    ] as const
    for (const [extra, status] of tries) {
      const memories = [{ kind: "factual_memory", data: { subject: "s", ...extra } }]
      expect((await alice.post("/v1/memories", { agentId: "sizes", memories })).status).toBe(status)
    }
  })

  it("to batch/create stores and answers as POST /memories does", async () => {
    const { status, body } = await alice.post("/v1/memories/batch/create", {
      agentId: "batch",
      subjectId: "u",
      memories: [fact("a", "b"), fact("c", "d")],
      expiresAt: 4_102_444_800_000
    })
    expect([status, body.created.length, body.updated]).toEqual([200, 2, []])
    expect(body.created[0]).toMatchObject({ kind: "factual_memory", metadata: { expiresAt: 4_102_444_800_000 } })
  })
})
