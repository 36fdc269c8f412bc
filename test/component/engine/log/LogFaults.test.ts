/** The commit log on a disk that fails or is full: nothing is acknowledged that a reopened log does not have. */
import { describe, expect } from "vitest"
import { Context, Effect, Exit, Layer } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { CommitLog } from "@muniment/engine/log/CommitLog"
import { openFileLog } from "@muniment/engine/log/FileLog"
import { fileLogLayer } from "@muniment/engine/log/RunningLog"
import { listSegments, segmentPath } from "@muniment/engine/log/segmentFiles"
import { fillLog, logCommit, logTag, smallLog } from "../../../support/CommitLogs.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { it } from "../../../support/it.ts"

/** A module in its URL: a thread does not see the query of its own entry, but that of what it imports. */
const failingThread = (query: string): URL => {
  const { href } = new URL(`../../../support/FailingLogWorker.ts?${query}`, import.meta.url)
  return new URL(`data:text/javascript,${encodeURIComponent(`await import(${JSON.stringify(href)})`)}`)
}

const faults = [
  "call=fdatasyncSync&code=EIO&at=4",
  "call=fdatasyncSync&code=EIO&at=4&once=1",
  "call=writevSync&code=EIO&at=3&once=1",
  "call=writevSync&code=ENOSPC&at=1"
]

describe("an error of the disk", () => {
  it.live.each(faults)("ends the log, also if it is the only one: %s", function* (fault) {
    const directory = temporaryDirectory()
    const acknowledged = yield* Effect.scoped(
      Effect.gen(function* () {
        const log = yield* openFileLog({ ...smallLog(directory), threadEntry: failingThread(fault) })
        yield* log.attach(logTag(1), { epoch: 1, seq: 0 })
        let count = 0
        const failure = yield* Effect.gen(function* () {
          for (;;) {
            const { ordinal } = yield* log.append(logCommit(1, count))
            yield* log.whenSynced(ordinal)
            count++
          }
        }).pipe(Effect.flip)
        expect(failure._tag).toBe("LogFault")
        expect(count > 0).toBe(!fault.endsWith("at=1"))
        expect(log.isCurrent()).toBe(false)
        const files = () => listSegments(directory).map((segment) => readFileSync(segmentPath(directory, segment)))
        const before = files()
        expect((yield* Effect.flip(log.append(logCommit(1, count + 1))))._tag).toMatch(/LogFault|LogFenced/)
        expect(
          (yield* Effect.flip(log.appendControl({ number: 1, version: 1, atMillis: 1, changes: "base" })))._tag
        ).toBe("LogFault")
        expect((yield* Effect.flip(log.erase(logTag(1), 1, 1)))._tag).toBe("LogFault")
        expect((yield* Effect.flip(log.whenSynced(count + 100)))._tag).toBe("LogFault")
        expect(files()).toEqual(before)
        return count
      })
    )
    const log = yield* openFileLog(smallLog(directory))
    expect(log.damage).toEqual([])
    const kept = yield* log.tail(logTag(1), 0)
    // What was on its way may be there too.
    expect(kept.length).toBeGreaterThanOrEqual(acknowledged)
    yield* log.attach(logTag(1), { epoch: 1, seq: kept.length })
    const { ordinal } = yield* log.append(logCommit(1, kept.length))
    yield* log.whenSynced(ordinal)
  })
})

/** Of a thread that cannot be made, so that every request to it dies; and of one that cannot be loaded. */
const threads = [
  ["cannot be made", "http://127.0.0.1/LogWorker.ts"],
  ["cannot be loaded", new URL("./absent.ts", import.meta.url).href]
] as const

describe.each(threads)("a log thread that %s", (_, entry) => {
  const opened = Effect.suspend(() => openFileLog({ ...smallLog(temporaryDirectory()), threadEntry: new URL(entry) }))

  it.live("fails those who wait for a sync, and what comes, and hangs nobody", function* () {
    const log = yield* opened
    yield* log.attach(logTag(1), { epoch: 1, seq: 0 })
    const { ordinal } = yield* log.append(logCommit(1, 0))
    expect((yield* Effect.flip(log.whenSynced(ordinal)))._tag).toBe("LogFault")
    expect(log.isCurrent()).toBe(false)
    expect((yield* Effect.flip(log.append(logCommit(1, 1))))._tag).toBe("LogFault")
    expect(yield* log.tail(logTag(1), 0)).toEqual([])
  })

  it.live.each(["erase", "remove", "refuse"] as const)(
    "fails the first thing that it is asked for: %s",
    function* (what) {
      const log = yield* opened
      const asked = {
        erase: Effect.asVoid(log.erase(logTag(1), 1, 1)),
        remove: log.remove(logTag(1), 1),
        refuse: log.refuse(logTag(1), 1, 1)
      }
      expect((yield* Effect.flip(asked[what]))._tag).toBe("LogFault")
      expect(log.isCurrent()).toBe(false)
    }
  )
})

it.live(
  "a log thread that ends in the middle of a write fails who waits, and the log that is opened anew goes on with all that was acknowledged",
  function* () {
    const directory = temporaryDirectory()
    // The service's own log, whose thread ends once and is another one after that.
    const entry = failingThread("call=fdatasyncSync&ends=1&at=6")
    const logs = yield* Effect.map(
      Layer.build(fileLogLayer({ ...smallLog(directory), threadEntry: entry })),
      Context.get(CommitLog)
    )
    const first = yield* logs.current
    yield* first.attach(logTag(1), { epoch: 1, seq: 0 })
    let told = 0
    const failure = yield* Effect.gen(function* () {
      for (;;) {
        const { ordinal } = yield* first.append(logCommit(1, told))
        yield* first.whenSynced(ordinal)
        told++
      }
    }).pipe(Effect.flip)
    expect(failure._tag).toBe("LogFault")
    expect(told).toBeGreaterThan(0)
    const second = yield* logs.current
    expect(second).not.toBe(first)
    const kept = yield* second.tail(logTag(1), 0)
    expect(kept.length).toBeGreaterThanOrEqual(told)
    yield* second.attach(logTag(1), { epoch: 1, seq: kept.length })
    const { ordinal } = yield* second.append(logCommit(1, kept.length))
    yield* second.whenSynced(ordinal)
  }
)

it.live(
  "a commit that cannot be put into bytes takes no place in the log, which goes on and opens without damage",
  function* () {
    const directory = temporaryDirectory()
    yield* Effect.scoped(
      Effect.gen(function* () {
        const log = yield* openFileLog(smallLog(directory))
        yield* log.attach(logTag(1), { epoch: 1, seq: 0 })
        const first = yield* log.append(logCommit(1, 0))
        // More than the header has bits for.
        const failed = yield* Effect.exit(log.append({ ...logCommit(1, 1), changes: 2 ** 32 }))
        expect(Exit.hasDies(failed)).toBe(true)
        const second = yield* log.append(logCommit(1, 1))
        expect(second.ordinal).toBe(first.ordinal + 1)
        yield* log.whenSynced(second.ordinal)
      })
    )
    const log = yield* openFileLog(smallLog(directory))
    expect(log.damage).toEqual([])
    expect(yield* log.tail(logTag(1), 0)).toHaveLength(2)
  }
)

it.live("a full disk is no fault: the log answers LogFull, and goes on", function* () {
  const log = yield* openFileLog({ directory: temporaryDirectory(), segmentBytes: 2 ** 52 })
  yield* log.attach(logTag(1), { epoch: 1, seq: 0 })
  expect((yield* Effect.flip(log.append(logCommit(1, 0))))._tag).toBe("LogFull")
  expect(log.isCurrent()).toBe(true)
  expect(yield* log.tail(logTag(1), 0)).toEqual([])
})

describe("segments that nobody needs", () => {
  it.live("are deleted with a note, after which the log opens without damage", function* () {
    const directory = temporaryDirectory()
    const left = yield* Effect.scoped(
      Effect.gen(function* () {
        // Records of long ago: the newest segments are not kept for repairs.
        const log = yield* openFileLog(smallLog(directory))
        const filled = yield* fillLog(log, [1, 2], 130, () => "x".repeat(1_000))
        const held = filled[99]!.ordinal
        yield* log.rebase(logTag(1), filled.at(-1)!.ordinal)
        yield* log.rebase(logTag(2), held)
        expect(yield* log.holders).toEqual([logTag(2)])
        const before = listSegments(directory)
        const dropped = yield* log.dropUnneeded
        expect(dropped).toBeGreaterThan(0)
        expect(listSegments(directory)).toEqual(before.slice(dropped))
        expect(log.sealed[0]!.firstOrdinal).toBeLessThanOrEqual(held + 1)
        return { held, count: (yield* log.tail(logTag(2), held)).length }
      })
    )
    expect(left.count).toBe(80)
    const log = yield* openFileLog(smallLog(directory))
    expect(log.damage).toEqual([])
    expect(yield* log.tail(logTag(2), left.held)).toHaveLength(80)
  })

  it.live(
    "are deleted again where a power cut brings back the first of them alone, and no copy is refused for it",
    function* () {
      const directory = temporaryDirectory()
      const ended = yield* Effect.scoped(
        Effect.gen(function* () {
          const log = yield* openFileLog(smallLog(directory))
          const seldom = (yield* fillLog(log, [3], 1)).at(-1)!.ordinal
          const last = (yield* fillLog(log, [1], 260, () => "x".repeat(1_000))).at(-1)!.ordinal
          const [first = 0] = listSegments(directory)
          const bytes = readFileSync(segmentPath(directory, first))
          for (const number of [1, 3]) yield* log.rebase(logTag(number), last)
          expect(yield* log.dropUnneeded).toBeGreaterThan(2)
          return { first, bytes, seldom }
        })
      )
      writeFileSync(segmentPath(directory, ended.first), ended.bytes)
      const log = yield* openFileLog(smallLog(directory))
      expect(log.damage).toEqual([])
      expect(yield* log.tail(logTag(3), ended.seldom)).toEqual([])
      expect(new Set(yield* log.holders)).toEqual(new Set([logTag(1), logTag(3)]))
      for (const number of [1, 3]) yield* log.rebase(logTag(number), log.syncedOrdinal())
      expect(yield* log.dropUnneeded).toBeGreaterThan(0)
      expect(listSegments(directory)).not.toContain(ended.first)
    }
  )
})
