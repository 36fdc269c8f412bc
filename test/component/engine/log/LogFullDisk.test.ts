/**
 * The commit log on a tiny disk that really gets full. Needs mount namespaces (Linux); where they are forbidden the set-up
 * fails and says so.
 */
import { Effect } from "effect"
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, vi } from "vitest"
import type { LogEntry } from "@muniment/engine/log/CommitLog"
import { type FileLog, openFileLog } from "@muniment/engine/log/FileLog"
import { scanLog } from "@muniment/engine/log/LogScan"
import { SegmentPlaces } from "@muniment/engine/log/SegmentPlaces"
import { listSegments, segmentPath, sparePath } from "@muniment/engine/log/segmentFiles"
import { logCommit, logTag, smallLog } from "../../../support/CommitLogs.ts"
import { editSegment } from "../../../support/HandMadeLog.ts"
import { makeSmallDisk, type SmallDisk } from "../../../support/SmallDisk.ts"
import { effectOf, type Steps, it } from "../../../support/it.ts"

const segmentBytes = 65_536
/** A spare is made where two segments fit. */
const littleBytes = segmentBytes + 16_384

let disk: SmallDisk
let directory: string
/** Commits of namespace 1 that were synced. */
let seq: number

beforeEach(async () => {
  disk = await makeSmallDisk(2)
  directory = join(disk.outside, "log")
  mkdirSync(directory)
  seq = 0
})
afterEach(() => disk.remove())

const othersPath = () => join(disk.outside, "taken by others")
const leave = (bytes: number) => writeFileSync(othersPath(), Buffer.alloc(disk.freeBytes() - bytes))
const makeRoom = () => rmSync(othersPath())

const withLog = <A>(use: (log: FileLog) => Steps<never, A>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const log = yield* openFileLog(smallLog(directory))
      yield* log.attach(logTag(1), { epoch: 1, seq })
      return yield* effectOf(use(log))
    })
  )

const logging = (name: string, use: (log: FileLog) => Steps): void => it.live(name, () => withLog(use))

const append = Effect.fnUntraced(function* (log: FileLog, isErasure: boolean) {
  const entry = yield* log.append({ ...logCommit(1, seq, "x".repeat(1_000)), isErasure })
  seq++
  yield* log.whenSynced(entry.ordinal)
})

/** Commits until the log is full. */
const fillUp = (log: FileLog) =>
  Effect.flip(Effect.forever(append(log, false))).pipe(Effect.map(({ _tag }) => expect(_tag).toBe("LogFull")))

const erasures = (log: FileLog, count: number) => Effect.repeat(append(log, true), { times: count - 1 })

/** Everything that was synced is there. */
const verify = () => {
  const { damage, index } = scanLog(directory)
  expect(damage).toEqual([])
  expect(index.commitsOf(logTag(1), 0)).toHaveLength(seq)
}

const untilSpare = Effect.promise(() => vi.waitUntil(() => existsSync(sparePath(directory)), { timeout: 60_000 }))
const change = (places: SegmentPlaces) => Effect.callback<void>((resume) => places.onChange(() => resume(Effect.void)))

describe("a full disk", () => {
  it.live("leaves a whole segment to what erases", function* () {
    yield* withLog(function* (log) {
      yield* append(log, false)
      leave(littleBytes)
      yield* fillUp(log)
      expect(log.status.isFull).toBe(true)
      yield* erasures(log, 50)
      expect((yield* Effect.flip(append(log, false)))._tag).toBe("LogFull")
      expect(log.isCurrent()).toBe(true)
    })
    verify()
  })

  it.live("lets one start after another go on, in the segment that was the last one", function* () {
    yield* withLog((log) => append(log, false))
    leave(littleBytes)
    yield* withLog(fillUp)
    for (let starts = 0; starts < 6; starts++) {
      yield* withLog(function* (log) {
        yield* erasures(log, 5)
        expect((yield* Effect.flip(append(log, false)))._tag).toBe("LogFull")
      })
      verify()
    }
    expect(existsSync(sparePath(directory))).toBe(false)
    expect(disk.freeBytes()).toBeGreaterThanOrEqual(segmentBytes)
  })

  it.live("continues behind a torn tail only once it is overwritten", function* () {
    yield* withLog((log) => append(log, false))
    leave(littleBytes)
    yield* withLog((log) => Effect.andThen(fillUp(log), erasures(log, 1)))
    const segments = listSegments(directory)
    const torn = scanLog(directory).end!
    editSegment(directory, torn.segment, (bytes) => void bytes.write("torn text", torn.offset + 64))
    yield* withLog((log) => erasures(log, 1))
    expect(listSegments(directory)).toEqual(segments)
    expect(readFileSync(segmentPath(directory, torn.segment)).includes("torn text")).toBe(false)
    verify()
  })

  logging("takes commits again with the first one after room has returned", function* (log) {
    yield* append(log, false)
    leave(littleBytes)
    yield* fillUp(log)
    // Without a spare too.
    yield* erasures(log, 50)
    makeRoom()
    yield* append(log, false)
    expect(log.status.isFull).toBe(false)
  })

  it.live("gives up its spare as long as erasures have room in the current segment", function* () {
    yield* withLog(function* (log) {
      yield* append(log, false)
      yield* untilSpare
      yield* append(log, false)
      leave(segmentBytes / 2)
      const before = disk.freeBytes()
      expect(yield* log.giveUpSpare).toBe(true)
      expect(disk.freeBytes()).toBeGreaterThanOrEqual(before + segmentBytes)
      expect(yield* log.giveUpSpare).toBe(false)
      expect((yield* Effect.flip(append(log, false)))._tag).toBe("LogFull")
      yield* erasures(log, 30)
      makeRoom()
      for (let left = 48 - seq; left > 0; left--) yield* append(log, false)
      yield* untilSpare
      yield* append(log, false)
      expect(yield* log.giveUpSpare).toBe(false)
    })
    verify()
  })

  logging("keeps no segment only for repairs", function* (log) {
    const nowMillis = Date.now()
    for (; seq < 120; seq++) {
      const commit = { ...logCommit(1, seq, "x".repeat(1_000)), atMillis: nowMillis }
      yield* log.whenSynced((yield* log.append(commit)).ordinal)
    }
    yield* log.rebase(logTag(1), log.syncedOrdinal())
    expect(yield* log.dropUnneeded).toBe(0)
    const sealed = listSegments(directory).slice(0, -1)
    leave(littleBytes)
    expect(yield* log.dropUnneeded).toBe(sealed.length)
    expect(disk.freeBytes()).toBeGreaterThan(littleBytes)
  })
})

logging(
  "a removal of a namespace that finds no room leaves the log what the namespace's copy may lack",
  function* (log) {
    yield* append(log, false)
    leave(littleBytes)
    yield* fillUp(log)
    yield* Effect.flip(Effect.forever(append(log, true)))
    // As small as the note of a removal.
    yield* Effect.flip(Effect.forever(log.refuse(logTag(2), 1, 5)))
    expect((yield* Effect.flip(log.remove(logTag(1), 5)))._tag).toBe("LogFull")
    expect(yield* log.holders).toEqual([logTag(1)])
    makeRoom()
    yield* log.remove(logTag(1), 5)
    expect(yield* log.holders).toEqual([])
  }
)

describe("a spare segment", () => {
  it.live("that is half made takes no room after the next start", function* () {
    writeFileSync(`${sparePath(directory)}.writing`, Buffer.alloc(disk.freeBytes() - segmentBytes))
    yield* withLog((log) => append(log, false))
    expect(existsSync(`${sparePath(directory)}.writing`)).toBe(false)
  })

  it.live("of another size is made anew", function* () {
    writeFileSync(sparePath(directory), Buffer.alloc(100))
    yield* withLog((log) => append(log, false))
    expect(readFileSync(segmentPath(directory, 1))).toHaveLength(segmentBytes)
  })

  it.live("that a record of unsure size took is made anew", function* () {
    const places = new SegmentPlaces(directory, { segmentBytes, reserveBytes: segmentBytes }, 0)
    yield* change(places)
    // The log thread takes it also for a record that turns out to be no larger than a segment.
    rmSync(sparePath(directory))
    places.begun()
    yield* places.settled
    expect(existsSync(sparePath(directory))).toBe(true)
  })

  it.live("is waited for by a record that may be larger than a segment, and is often enough", function* () {
    const places = new SegmentPlaces(directory, { segmentBytes, reserveBytes: segmentBytes }, 0)
    yield* change(places)
    expect(places.roomFor(64, false)).toBe("free")
    places.place(64)
    expect(places.roomFor(2 * segmentBytes, false)).toBe("wait")
    rmSync(sparePath(directory))
    places.begun()
    yield* change(places)
    expect(places.roomFor(2 * segmentBytes, false)).toBe("free")
    yield* places.settled
  })

  it.live(
    "that is not there yet is waited for by commits before they take what erasures would need without it",
    function* () {
      const places = new SegmentPlaces(directory, { segmentBytes, reserveBytes: segmentBytes }, 0)
      yield* change(places)
      for (; places.roomFor(1_024, false) === "free"; seq++) places.place(1_024)
      expect(places.roomFor(1_024, false)).toBe("wait")
      rmSync(sparePath(directory))
      leave(littleBytes)
      places.begun()
      expect(places.roomFor(1_024, false)).toBe("full")
      let erasures = 0
      for (; places.roomFor(1_024, true) === "free"; erasures++) places.place(1_024)
      expect(erasures).toBe(16)
      expect(seq).toBe(48)
      yield* places.settled
    }
  )

  logging("is made although the first record of the segment before it wants no sync", function* (log) {
    const appendText = (length: number) => log.append(logCommit(1, seq++, "x".repeat(length)))
    const restBehind = ({ place }: LogEntry) => segmentBytes - place.offset - place.length
    let last = yield* appendText(0)
    yield* log.whenSynced(last.ordinal)
    yield* untilSpare
    // Records of 1,088 bytes, then of 192 or 128, until 64 are left.
    for (let rest = restBehind(last); rest > 64; rest = restBehind(last))
      last = yield* appendText(rest > 4_096 ? 1_000 : rest % 128 === 0 ? 100 : 0)
    expect(restBehind(last)).toBe(64)
    yield* log.whenSynced(last.ordinal)
    // The mark of a quiet log, which is longer.
    yield* Effect.promise(() => vi.waitUntil(() => existsSync(segmentPath(directory, 2)), { timeout: 60_000 }))
    const large = yield* appendText(2 * segmentBytes)
    expect(large.place.segment).toBe(3)
    yield* log.whenSynced(large.ordinal)
  })

  it.live("that cannot be made although there seems to be room leaves the current one to what erases", function* () {
    const places = new SegmentPlaces(directory, { segmentBytes, reserveBytes: segmentBytes }, 0)
    yield* change(places)
    expect(places.roomFor(64, false)).toBe("free")
    places.place(64)
    rmSync(sparePath(directory))
    mkdirSync(`${sparePath(directory)}.writing`)
    places.begun()
    yield* change(places)
    expect(places.shortage).toBeDefined()
    expect(places.roomFor(64, false)).toBe("full")
    // One that waited would be woken by an attempt that fails, and begin the next one, without end.
    expect(places.roomFor(2 * segmentBytes, false)).toBe("full")
    expect(places.roomFor(64, true)).toBe("free")
    yield* change(places)
    rmdirSync(`${sparePath(directory)}.writing`)
    expect(places.roomFor(64, false)).toBe("full")
    yield* change(places)
    expect(places.roomFor(64, false)).toBe("free")
    yield* places.settled
  })

  it.live("is not needed by a record larger than a segment, for which the disk must have room", function* () {
    const places = new SegmentPlaces(directory, { segmentBytes, reserveBytes: segmentBytes }, 0)
    yield* change(places)
    expect(places.roomFor(2 ** 52, false)).toBe("full")
    expect(places.roomFor(2 ** 52, true)).toBe("full")
    expect(places.roomFor(2 * segmentBytes, false)).toBe("free")
    places.place(2 * segmentBytes)
    places.begun()
    expect(places.roomFor(64, false)).toBe("free")
  })
})
