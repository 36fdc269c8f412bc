/** Calls of accounts kept over restarts: bounded by days and rows, found by filters, forgotten with their account. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import {
  PendingRequests,
  RequestFile,
  type RequestFilter,
  makeRequestHistory
} from "@muniment/server/operator/requests/RequestHistory"
import { Database } from "@muniment/sqlite/Database"
import { temporaryDirectory } from "../../../sqlite/TemporaryDirectory.ts"
import { it } from "../../../../support/it.ts"

const start = Date.UTC(2026, 10, 25, 12, 0, 0)
const day = 86_400_000

const entry = (at: number, account = "a", status = 200) => ({
  at,
  method: "GET",
  operation: at % 2 === 0 ? "memories.search" : "memoriesOther.list",
  status,
  millis: 1.23,
  account,
  caller: `key of ${account}`
})
const requestsFile = () => join(temporaryDirectory(), "requests.db")
const opened = Effect.fnUntraced(function* (path: string | undefined, days = 30) {
  const pending = new PendingRequests()
  const history = yield* makeRequestHistory(pending, path, { days })
  const times = (filter: Partial<RequestFilter> = {}) =>
    Effect.map(history.list({ limit: 100, ...filter }), (found) => found.map(({ at }) => at))
  return { pending, history, times }
})

describe("calls of accounts", () => {
  it("of a file of an earlier release are kept, with deletions, agents and codes from then on", () => {
    const path = requestsFile()
    const earlier = new Database({ filename: path, isScratch: true })
    earlier.exec(`CREATE TABLE request (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, method TEXT NOT NULL,
      operation TEXT NOT NULL, status INTEGER NOT NULL, millis REAL NOT NULL, account TEXT, caller TEXT) STRICT;
      INSERT INTO request VALUES (7, 1, 'GET', 'memories.list', 200, 1.5, 'a', 'k')`)
    earlier.close()
    const file = new RequestFile(path, 10)
    const deleted = { subjectId: "clara", memories: 3 }
    file.add([{ ...entry(start), deleted, agentId: "desk", code: "rate_limited" }])
    expect(file.list({ limit: 10 }, 0, 100)).toMatchObject([
      { id: 8, at: start, deleted, agentId: "desk", code: "rate_limited" },
      { id: 7, at: 1 }
    ])
    expect(file.list({ limit: 10 }, 0, 8)[0]).not.toHaveProperty("deleted")
    file.close()
  })

  it("are found by agent, status and time, with the stages of their time, the slowest first where that is asked", () => {
    const file = new RequestFile(undefined, 100)
    const call = (millis: number, status: number, agentId: string, stages = {}) => {
      file.add([{ ...entry(start + millis, "a", status), millis, agentId, stages }])
    }
    call(5, 200, "desk", { embedding: 3.14, records: 0.01, storing: 1 })
    call(900, 200, "desk")
    call(30, 404, "lamp")
    call(700, 503, "desk")
    call(900, 499, "lamp")
    const found = (filter: Partial<RequestFilter>) =>
      file.list({ limit: 10, ...filter }, 0, 100).map(({ id, millis }) => [id, millis])
    expect(file.list({ limit: 10 }, 0, 2)[0]!.stages).toEqual({ embedding: 3.1, storing: 1 })
    expect(file.list({ limit: 10 }, 2, 3)[0]).not.toHaveProperty("stages")
    expect(found({ agentId: "lamp" }).map(([id]) => id)).toEqual([5, 3])
    expect(found({ statuses: [400, 499] }).map(([id]) => id)).toEqual([3])
    expect(found({ statuses: [499, 499] }).map(([id]) => id)).toEqual([5])
    expect(found({ statuses: [500, 599] }).map(([id]) => id)).toEqual([4])
    expect(found({ millisMin: 700, isSlowestFirst: true })).toEqual([
      [5, 900],
      [2, 900],
      [4, 700]
    ])
    file.close()
  })

  it.effect("are the slowest of all that are kept, or those after an id", function* () {
    yield* TestClock.setTime(start)
    const { history, pending } = yield* opened(undefined)
    for (let at = 0; at < 50; at++) pending.add({ ...entry(start + at), millis: (at * 7) % 50 })
    const slowest = yield* history.list({ limit: 3, isSlowestFirst: true })
    expect(slowest.map(({ millis }) => millis)).toEqual([49, 48, 47])
    const later = yield* history.list({ limit: 100, after: 46 })
    expect(later.map(({ id }) => id)).toEqual([50, 49, 48, 47])
  })

  it.effect("are listed newest first, at once and after a restart, and go on before an id", function* () {
    yield* TestClock.setTime(start)
    const path = requestsFile()
    yield* Effect.scoped(
      Effect.gen(function* () {
        const { history, pending } = yield* opened(path)
        for (let at = start; at < start + 5; at++) pending.add(entry(at))
        const found = yield* history.list({ limit: 2 })
        expect(found).toEqual([
          { id: 5, ...entry(start + 4), millis: 1.2 },
          { id: 4, ...entry(start + 3), millis: 1.2 }
        ])
        pending.add(entry(start + 5))
      })
    )
    const { times } = yield* opened(path)
    expect(yield* times({ before: 4 })).toEqual([start + 2, start + 1, start])
    expect(yield* times({ limit: 1 })).toEqual([start + 5])
  })

  it.effect("are found by account, caller, operation or its group, outcome and time", function* () {
    const { pending, times } = yield* opened(undefined, 0)
    pending.add(entry(0))
    pending.add(entry(1, "b", 403))
    pending.add(entry(2, "b"))
    expect(yield* times({ account: "b" })).toEqual([2, 1])
    expect(yield* times({ caller: "key of a" })).toEqual([0])
    expect(yield* times({ operation: "memories" })).toEqual([2, 0])
    expect(yield* times({ operation: "memoriesOther.list" })).toEqual([1])
    expect(yield* times({ isRefused: true })).toEqual([1])
    expect(yield* times({ isRefused: false, account: "b" })).toEqual([2])
    expect(yield* times({ from: 1, until: 2 })).toEqual([1])
  })

  it.effect("go after their days, while newer ones stay", function* () {
    yield* TestClock.setTime(start)
    const { pending, times } = yield* opened(requestsFile(), 2)
    for (const age of [3, 2.5, 1, 0]) pending.add(entry(start - age * day))
    expect(yield* times()).toHaveLength(4)
    yield* TestClock.adjust(Limits.requestFlushMillis)
    expect(yield* times()).toEqual([start, start - day])
    yield* TestClock.adjust("1 days")
    expect(yield* times()).toEqual([start])
  })

  it.effect("are pruned as far as they must, however many came at once, and by a clock that is believed", function* () {
    yield* TestClock.setTime(start)
    const pending = new PendingRequests()
    // The clock of the machine is forty days ahead of the one that is believed.
    let believed = start - 40 * day
    const history = yield* makeRequestHistory(pending, requestsFile(), { days: 2, now: Effect.sync(() => believed) })
    const many = 5 * Limits.requestsSliceMax
    for (let at = 0; at < many; at += 1) pending.add(entry(start - 3 * day))
    pending.add(entry(start))
    yield* TestClock.adjust(Limits.requestFlushMillis)
    expect(yield* history.list({ limit: 2 * many })).toHaveLength(many + 1)
    believed = start
    yield* TestClock.adjust(Limits.requestFlushMillis)
    expect(yield* history.list({ limit: 2 * many })).toHaveLength(1)
  })

  it("are the newest ones where there are more than fit", () => {
    const file = new RequestFile(undefined, 3)
    file.add([1, 2, 3, 4, 5].map((at) => entry(at)))
    file.prune(0)
    expect(file.list({ limit: 10 }, 0, 100).map(({ id }) => id)).toEqual([5, 4, 3])
    file.close()
  })

  it("wait in a bounded list: without a store the oldest are dropped", () => {
    const pending = new PendingRequests()
    for (let at = 0; at < Limits.requestsPendingMax + 1; at++) pending.add(entry(at))
    expect(pending.take()[0]?.at).toBe(Limits.requestsSliceMax)
  })

  it.effect("leave the disk with their account", function* () {
    const path = requestsFile()
    yield* Effect.scoped(
      Effect.gen(function* () {
        const { history, pending, times } = yield* opened(path)
        pending.add(entry(1, "erasable"))
        pending.add(entry(2, "unknown-later"))
        pending.add(entry(3, "kept"))
        yield* history.forget("erasable")
        yield* history.keepOnly((account) => account === "kept")
        expect(yield* times()).toEqual([3])
      })
    )
    const bytes = readFileSync(path, "latin1")
    expect(bytes).toContain("kept")
    for (const account of ["erasable", "unknown-later"]) expect(bytes).not.toContain(account)
  })

  it.effect("begin anew in a file that is damaged", function* () {
    const path = requestsFile()
    writeFileSync(path, "no database at all, but long enough to have a header of one ".repeat(20))
    const { pending, times } = yield* opened(path)
    pending.add(entry(7))
    expect(yield* times()).toEqual([7])
  })
})
