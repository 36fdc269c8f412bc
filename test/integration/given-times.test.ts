/** Times that callers give (contract: Conventions): bounded on both sides, and refused with the unit that was meant. */
import { describe, expect, it } from "vitest"
import { instantIn } from "@muniment/domain/GivenTimes"
import { fact, useAccount } from "../support/MemoryCalls.ts"
import { mcpCaller } from "../support/McpCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"
import type { Answer } from "../support/TestServer.ts"

const server = useSharedServer()
const alice = useAccount(server, "times")

const yearAheadMillis = Date.UTC(new Date().getUTCFullYear() + 1, 0, 1)
const yearAheadSeconds = yearAheadMillis / 1_000
const yearAhead = new Date(yearAheadMillis).toISOString().slice(0, 10)

/** What is refused as the end of a memory, and what the refusal says. */
const wrongEnds: ReadonlyArray<readonly [number, string]> = [
  [yearAheadSeconds, `if it is meant in seconds (${yearAhead}T00:00:00Z), give ${yearAheadMillis}`],
  [yearAheadMillis * 1_000, `if it is meant in microseconds (${yearAhead}T00:00:00Z), give ${yearAheadMillis}`],
  [0, "0 is 1970-01-01T00:00:00Z"],
  [-5, "-5 is 1969-12-31T23:59:59.995Z"],
  [1.5, "whole milliseconds"],
  [yearAheadMillis + 0.5, "whole milliseconds"],
  [1_600_000_000_000, "is 2020-09-13T12:26:40Z, in the past; to remove a memory, delete it"],
  [253_402_300_799_000, "at most 100 years ahead"],
  [1e15, "at most 100 years ahead"]
]

const refusal = ({ body, status }: Answer) => [status, body.code, body.error] as const

describe.each(wrongEnds)("expiresAt %d", (expiresAt, says) => {
  it("is refused wherever a memory gets an end, and changes nothing", async () => {
    const [{ id }] = await alice.create("ends", [fact("a", "b")])
    const memories = [fact("c", "d")]
    const ways: ReadonlyArray<() => Promise<Answer>> = [
      () => alice.post("/v1/memories", { agentId: "ends", memories, expiresAt }),
      () => alice.post("/v1/memories", { agentId: "ends", memories: [{ ...memories[0], expiresAt }] }),
      () => alice.post("/v1/memories", { agentId: "ends", memories: [{ ...memories[0], id, expiresAt }] }),
      () =>
        alice.post("/v1/memories", { agentId: "ends", conversation: [{ role: "user", content: "Hello." }], expiresAt }),
      () => alice.post("/v1/memories/batch/create", { agentId: "ends", memories, expiresAt }),
      () => alice.call("PATCH", `/v1/memories/${id}`, { body: { expiresAt } }),
      () => alice.post("/v1/memories/batch/update", { ids: [id], update: { expiresAt } })
    ]
    for (const way of ways) {
      expect(refusal(await way())).toEqual([400, "invalid_expiry", expect.stringContaining(says)])
    }
    const mcp = await mcpCaller(server, alice.key)
    for (const [tool, given] of [
      ["memory_update", { id, expiresAt }],
      ["memory_create", { agentId: "ends", memories, expiresAt }],
      ["write_factual_memory", { agentId: "ends", ...memories[0]!.data, expiresAt }]
    ] as const) {
      expect((await mcp.call(tool, given)).json).toMatchObject({
        code: "invalid_expiry",
        error: expect.stringContaining(says)
      })
    }
    await mcp.close()
    expect((await alice.get(id)).metadata).not.toHaveProperty("expiresAt")
  })
})

describe("expiresAt as a text", () => {
  const noon = yearAheadMillis + 43_200_000
  const noonText = `; if ${yearAhead}T12:00:00Z is meant, give ${noon}`
  it.each([
    [`${yearAhead}T12:00:00Z`, noonText],
    [`${yearAhead}T13:00:00+01:00`, noonText],
    [String(noon), noonText],
    [String(noon / 1_000), noonText],
    [yearAhead, `; if ${yearAhead}T00:00:00Z is meant, give ${yearAheadMillis}`],
    ["1 January", undefined],
    ["2024-02-30T10:00:00Z", undefined]
  ])("%s is refused with the number that is meant", async (expiresAt, meant) => {
    const [{ id }] = await alice.create("ends", [fact("a", "b")])
    const memories = [fact("c", "d")]
    const mcp = await mcpCaller(server, alice.key)
    const answers = [
      await alice.post("/v1/memories", { agentId: "ends", memories, expiresAt }),
      await alice.post("/v1/memories", { agentId: "ends", memories: [{ ...memories[0], expiresAt }] }),
      await alice.call("PATCH", `/v1/memories/${id}`, { body: { expiresAt } }),
      await alice.post("/v1/memories/batch/update", { ids: [id], update: { expiresAt } }),
      { body: (await mcp.call("memory_update", { id, expiresAt })).json }
    ]
    await mcp.close()
    for (const { body } of answers) {
      expect(body).toMatchObject({ code: "invalid_expiry", error: expect.stringContaining("whole milliseconds") })
      if (meant === undefined) expect(body.error).not.toContain("is meant")
      else expect(body.error).toContain(meant)
    }
  })
})

it("a time in the future is the end of a memory", async () => {
  const [{ metadata }] = await alice.create("ends", [{ ...fact("a", "b"), expiresAt: yearAheadMillis }])
  expect(metadata.expiresAt).toBe(yearAheadMillis)
})

describe("a time as text", () => {
  const search = (name: string, value: string) =>
    alice.call("GET", `/v1/memories/search?${new URLSearchParams({ query: "tea", [name]: value })}`)
  const seconds = "1700000000 looks like seconds since the epoch: give 2023-11-14T22:13:20Z"

  it.each([
    ["eventDateFrom", "1700000000", seconds],
    [
      "eventDateTo",
      "1700000000000",
      "1700000000000 looks like milliseconds since the epoch: give 2023-11-14T22:13:20Z"
    ],
    ["eventDateFrom", "0000-01-01", "of a year from 1 to 9999"],
    ["now", "1700000000", seconds],
    ["now", "0001-01-01T00:00:00Z", "of a year from 1900 to 2200; this is 0001-01-01T00:00:00Z"],
    ["now", "9999-12-31T23:59:59Z", "of a year from 1900 to 2200"]
  ])("%s=%s of a search is refused", async (name, value, says) => {
    expect(refusal(await search(name, value))).toEqual([400, "invalid_request", expect.stringContaining(says)])
  })

  it.each([
    ["eventDateFrom", "2024-02-30"],
    ["eventDateTo", "2023-02-29T10:00:00Z"],
    ["eventDateTo", "2024-01-01 10:00 PST"],
    ["now", "2024-04-31T10:00:00+02:00"]
  ])("%s=%s of a search names no time", async (name, value) => {
    expect(refusal(await search(name, value))).toEqual([400, "invalid_request", expect.stringContaining("ISO 8601")])
  })

  it.each(["2024-02-30T10:00:00Z", "2023-06-31T10:00:00+02:00"])("a message of %s is refused", async (sentAt) => {
    for (const name of ["sentAt", "timestamp"]) {
      const conversation = [{ role: "user", content: "Hello.", [name]: sentAt }]
      const answer = await alice.post("/v1/memories", { agentId: "days", conversation })
      expect(refusal(answer)).toEqual([400, "invalid_request", expect.stringContaining("ISO 8601")])
    }
  })

  it("without an offset is in UTC in a filter, wherever the service runs", () => {
    expect(instantIn("2026-01-31T09:30:00")).toBe(Date.UTC(2026, 0, 31, 9, 30))
    expect(instantIn("2026-01-31T09:30:00+01:00")).toBe(Date.UTC(2026, 0, 31, 8, 30))
    expect(instantIn("2026-01-31")).toBe(Date.UTC(2026, 0, 31))
  })

  it("may name any year of the common era in a filter", async () => {
    expect((await search("eventDateFrom", "0001-01-01")).status).toBe(200)
    expect((await search("eventDateTo", "9999-12-31")).status).toBe(200)
  })

  it.each([
    "0001-01-01",
    "2300-01-01",
    "1700000000",
    "2026-02-30",
    "yesterday",
    "2026-2-3",
    "",
    "2026-02-28T10:00:00Z"
  ])("conversationDate %s is refused", async (conversationDate) => {
    const conversation = [{ role: "user", content: "Hello." }]
    const answer = await alice.post("/v1/memories", { agentId: "days", conversation, conversationDate })
    expect(refusal(answer)).toEqual([400, "invalid_request", expect.stringContaining("a day of the calendar")])
  })

  it("of the operator's lists is bounded too", async () => {
    for (const path of ["/admin/requests?from=0001-01-01", "/admin/revenue?to=9999-12-31"]) {
      const { body, status } = await server.call("GET", path, { key: server.operatorToken })
      expect([status, body.error]).toEqual([400, expect.stringContaining("of a year from 1900 to 2200")])
    }
  })
})

describe("an imported record", () => {
  const record = {
    id: "mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T",
    agentId: "moved",
    ...fact("a", "b"),
    tags: [],
    mentions: [],
    confidence: 1,
    contentHash: `0x${"0".repeat(64)}`,
    createdAt: 1_700_000_000_000,
    updatedAt: 1_700_000_000_000,
    origin: "direct"
  }

  it.each([
    ["createdAt", 1_700_000_000],
    ["updatedAt", 0],
    ["expiresAt", 1_700_000_000],
    ["createdAt", "2023-11-14T22:13:20Z"],
    ["expiresAt", "2023-11-14T22:13:20Z"]
  ])("with %s %s is refused", async (name, value) => {
    const account = (await alice.call("GET", "/v1/account")).body.account.name
    const body = { account, records: [{ ...record, [name]: value }] }
    const answer = await server.call("POST", "/admin/import", { key: server.operatorToken, body })
    expect([answer.status, answer.body.error]).toEqual([400, expect.stringContaining("whole milliseconds")])
    if (typeof value === "string")
      expect(answer.body.error).toContain("if 2023-11-14T22:13:20Z is meant, give 1700000000000")
  })
})
