/** GET /v1/memories (contract: Memories): pages of the account's memories, newest first. */
import { describe, expect, it } from "vitest"
import { accountCalls, fact, idsOf, type MemoryCalls } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"
import { refusalOf } from "../support/TestServer.ts"

const server = useSharedServer()

const page = async (calls: MemoryCalls, parameters: Readonly<Record<string, string>> = {}) => {
  const { status, body } = await calls.call("GET", `/v1/memories?${new URLSearchParams(parameters)}`)
  expect(status).toBe(200)
  return body
}

/** All pages from a cursor on; `between` runs before each but the first. */
const walk = async (
  calls: MemoryCalls,
  parameters: Readonly<Record<string, string>>,
  between: () => Promise<unknown> = async () => undefined
) => {
  const ids: Array<string> = []
  let cursor: string | undefined
  do {
    if (cursor !== undefined) await between()
    const { memories, nextCursor } = await page(calls, { ...parameters, ...(cursor !== undefined && { cursor }) })
    ids.push(...idsOf(memories))
    cursor = nextCursor
  } while (cursor !== undefined)
  return ids
}

const numbered = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => fact("n", `number ${from + at}`))

/** 23 memories over three agents, newest first. */
const spread = async (calls: MemoryCalls): Promise<ReadonlyArray<string>> => {
  const ids: Array<string> = []
  for (const [agentId, count] of [
    ["x", 5],
    ["y", 9],
    ["x", 4],
    ["z", 5]
  ] as const) {
    for (const memory of numbered(ids.length, count)) ids.push(...idsOf(await calls.create(agentId, [memory])))
  }
  return ids.toReversed()
}

describe("a listing", () => {
  it("leaves out as many first ones as are asked for, in either order, across agents, and goes on from there", async () => {
    const calls = await accountCalls(server, "list-skip")
    const newest = await spread(calls)
    const skipped = await page(calls, { skip: "7", limit: "5" })
    expect(idsOf(skipped.memories)).toEqual(newest.slice(7, 12))
    expect(skipped.total).toBe(newest.length)
    const next = await page(calls, { cursor: skipped.nextCursor, limit: "5", skip: "2" })
    expect(idsOf(next.memories)).toEqual(newest.slice(14, 19))
    const oldest = await page(calls, { order: "asc", skip: "3", limit: "4" })
    expect(idsOf(oldest.memories)).toEqual(newest.toReversed().slice(3, 7))
    const behind = await page(calls, { skip: String(newest.length) })
    expect([behind.memories, behind.nextCursor, behind.total]).toEqual([[], undefined, newest.length])
    for (const skip of ["-1", "10001", "x"]) {
      expect((await calls.call("GET", `/v1/memories?skip=${skip}`)).status).toBe(400)
    }
  })

  it("of an account without memories is empty and has no next page", async () => {
    const calls = await accountCalls(server, "empty")
    expect(await page(calls)).toEqual({ success: true, memories: [], total: 0 })
  })

  it("gives memories as GET does", async () => {
    const calls = await accountCalls(server, "shape")
    const [entry] = await calls.create("a", [fact("a", "b")])
    expect((await page(calls)).memories).toEqual([await calls.get(entry.id)])
  })

  it("is newest first over all agents, in pages that cover everything once", async () => {
    const calls = await accountCalls(server, "pages")
    const newestFirst = await spread(calls)
    for (const limit of ["1", "4", "23", "100"]) expect(await walk(calls, { limit })).toEqual(newestFirst)
    const first = await page(calls, { limit: "4" })
    expect([first.memories.length, first.total]).toEqual([4, 23])
    expect(first.nextCursor).toMatch(/^[\w-]+$/)
    expect(await page(calls, { limit: "23" })).not.toHaveProperty("nextCursor")
  })

  it("filters as search does, total counts what the filter lets through", async () => {
    const calls = await accountCalls(server, "filters")
    const newestFirst = await spread(calls)
    const { memories, total } = await page(calls, { agentId: "x" })
    expect([memories.length, total]).toEqual([9, 9])
    expect(await walk(calls, { agentId: "x", limit: "2" })).toEqual(
      newestFirst.filter((id) => idsOf(memories).includes(id))
    )
    const tagged = newestFirst.slice(3, 6)
    await calls.post("/v1/memories/batch/update", { ids: tagged, update: { tags: ["t"] } })
    expect(idsOf((await page(calls, { tags: "t,u" })).memories)).toEqual(tagged)
    expect((await page(calls, { kind: "temporal_event" })).total).toBe(0)
    expect((await page(calls, { agentId: "unknown" })).total).toBe(0)
    const [event] = await calls.create("e", [{ kind: "temporal_event", data: { event: "e", eventDate: "2026-01-01" } }])
    expect(idsOf((await page(calls, { eventDateFrom: "2026-01-01" })).memories)).toEqual([event.id])
  })

  it("shows each old memory once while new ones come in between its pages", async () => {
    const calls = await accountCalls(server, "inserts")
    const newestFirst = await spread(calls)
    const seen = await walk(calls, { limit: "3" }, () => calls.create("x", numbered(100, 2)))
    expect(seen).toEqual(newestFirst)
  })

  it("goes on behind its cursor when the memory it names is deleted", async () => {
    const calls = await accountCalls(server, "deletes")
    const newestFirst = await spread(calls)
    const { memories, nextCursor } = await page(calls, { limit: "5" })
    await calls.call("DELETE", `/v1/memories/${memories[4].id}`)
    const next = await page(calls, { limit: "5", cursor: nextCursor })
    expect(idsOf(next.memories)).toEqual(newestFirst.slice(5, 10))
    expect(next.total).toBe(22)
  })

  it("has 50 memories in a page unless told, at most 100", async () => {
    const calls = await accountCalls(server, "defaults")
    await calls.create("a", numbered(0, 60))
    expect((await page(calls)).memories).toHaveLength(50)
    for (const limit of ["0", "101", "x"]) {
      expect((await calls.call("GET", `/v1/memories?limit=${limit}`)).body.code).toBe("invalid_request")
    }
  })

  it("orders memories of one request by their id, the later ones first", async () => {
    const calls = await accountCalls(server, "order")
    const created = idsOf(await calls.create("a", numbered(0, 20)))
    expect(created).toEqual(created.toSorted())
    expect(await walk(calls, { limit: "7" })).toEqual(created.toReversed())
  })

  it("refuses a cursor that it did not make", async () => {
    const calls = await accountCalls(server, "cursors")
    const forged = Buffer.from('{"createdAt":"soon","id":1}').toString("base64url")
    for (const cursor of ["zz", "%00", "", forged, "e30", "..."]) {
      expect(refusalOf(await calls.call("GET", `/v1/memories?cursor=${cursor}`))).toEqual([400, "invalid_request"])
    }
  })

  it("with another account's cursor shows the caller's own memories only", async () => {
    const calls = await accountCalls(server, "first")
    const others = await accountCalls(server, "second")
    await calls.create("a", numbered(0, 3))
    const { nextCursor } = await page(calls, { limit: "1" })
    await others.create("a", numbered(0, 2))
    expect((await page(others, { cursor: nextCursor })).memories).toEqual([])
    expect((await page(others, { cursor: nextCursor })).total).toBe(2)
  })
})
