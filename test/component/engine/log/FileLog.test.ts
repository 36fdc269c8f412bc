/** The commit log in files: order, durability, fencing, reopening, erasure. */
import { describe, expect } from "vitest"
import { Effect, Fiber, type Scope } from "effect"
import fs, { cpSync, existsSync, readFileSync, readlinkSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { join } from "node:path"
import { setImmediate as turnOfTheLoop } from "node:timers/promises"
import { type FileLog, openFileLog } from "@muniment/engine/log/FileLog"
import { processTag, recordKinds } from "@muniment/engine/log/logFormat"
import { scanLog } from "@muniment/engine/log/LogScan"
import { RecordReader } from "@muniment/engine/log/RecordReader"
import { listSegments, segmentPath } from "@muniment/engine/log/segmentFiles"
import { cpuMillis } from "../../../support/CpuTime.ts"
import { fillLog, logCommit, logTag, smallLog } from "../../../support/CommitLogs.ts"
import { editSegment } from "../../../support/HandMadeLog.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { effectOf, type Steps, it } from "../../../support/it.ts"

/** Opens the log, uses it, closes it. */
const withLog = <A>(directory: string, use: (log: FileLog) => Steps<Scope.Scope, A>) =>
  Effect.scoped(Effect.flatMap(openFileLog(smallLog(directory)), (log) => effectOf(use(log))))

const logging = (name: string, use: (log: FileLog) => Steps<Scope.Scope>): void =>
  it.live(name, () => withLog(temporaryDirectory(), use))

const upTo = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, at) => at)

describe("the commit log", () => {
  it.live("keeps records that may fill a segment of their own, however fast they come", function* () {
    const directory = temporaryDirectory()
    const kept = yield* Effect.scoped(
      Effect.gen(function* () {
        const log = yield* openFileLog({ directory, segmentBytes: 262_144 })
        yield* log.attach(logTag(1), { epoch: 1, seq: 0 })
        for (const seq of upTo(200)) {
          // The room that is asked for is the most that a record may take: here more than a segment.
          const { ordinal } = yield* log.append(logCommit(1, seq, "x".repeat(200_000)))
          yield* log.whenSynced(ordinal)
        }
        return yield* log.tail(logTag(1), 0)
      })
    )
    const reader = new RecordReader(directory)
    expect(kept.map((entry) => reader.read(entry).header.fromSeq)).toEqual(upTo(200))
    reader.close()
  })

  it.live("numbers records without gaps and keeps them across a close", function* () {
    const directory = temporaryDirectory()
    const filled = yield* withLog(directory, (log) => fillLog(log, [1, 2], 50))
    const ordinals = filled.map(({ ordinal }) => ordinal)
    expect(ordinals).toEqual([...new Set(ordinals)].sort((a, b) => a - b))
    const ofSecond = ordinals.filter((_, at) => at % 2 === 1)
    yield* withLog(directory, function* (log) {
      expect(log.damage).toEqual([])
      const entries = yield* log.tail(logTag(2), ofSecond[19]!)
      expect(entries.map(({ ordinal }) => ordinal)).toEqual(ofSecond.slice(20))
      expect([...log.recordsFrom(1)].map(({ header }) => header.ordinal)).toEqual(
        upTo(log.syncedOrdinal()).map((at) => at + 1)
      )
      const reader = new RecordReader(directory)
      const read = entries.map((entry) => reader.read(entry))
      reader.close()
      expect(read.map(({ text }) => text)).toEqual(upTo(30).map((at) => `text ${at + 20} of 2`))
      expect(read.every(({ header, vectors }) => vectors.readFloatLE(0) === header.fromSeq)).toBe(true)
      yield* log.attach(logTag(2), { epoch: 1, seq: 50 })
      const before = log.syncedOrdinal()
      expect((yield* log.append(logCommit(2, 50))).ordinal).toBe(before + 1)
    })
  })

  logging("refuses an owner of another epoch, or behind another change, and writes nothing", function* (log) {
    yield* log.attach(logTag(1), { epoch: 1, seq: 0 })
    for (const wrong of [{ epoch: 0 }, { epoch: 2 }, { fromSeq: 1 }, { tag: logTag(9) }]) {
      const failure = yield* Effect.flip(log.append({ ...logCommit(1, 0), ...wrong }))
      expect(failure._tag).toBe("LogFenced")
    }
    yield* log.append({ ...logCommit(1, 0), isClaim: true })
    expect((yield* Effect.flip(log.append(logCommit(1, 1))))._tag).toBe("LogFenced")
    yield* log.append({ ...logCommit(1, 1), epoch: 2 })
    const written = [...log.recordsFrom(1)].length
    expect(written).toBeLessThanOrEqual(3)
  })

  it.live("shares syncs between all that comes meanwhile, and starts a segment when one is full", function* () {
    const directory = temporaryDirectory()
    yield* withLog(directory, function* (log) {
      const write = Effect.fnUntraced(function* (number: number) {
        yield* log.attach(logTag(number), { epoch: 1, seq: 0 })
        const { ordinal } = yield* log.append(logCommit(number, 0, "x".repeat(1_000)))
        yield* log.whenSynced(ordinal)
      })
      yield* Effect.forEach(upTo(200), write, { concurrency: "unbounded" })
      expect(log.syncs).toBeLessThan(100)
      expect(listSegments(directory).length).toBeGreaterThan(3)
      const kinds = [...log.recordsFrom(1)].map(({ header }) => header.kind)
      expect(kinds.filter((kind) => kind === recordKinds.commit)).toHaveLength(200)
    })
  })

  logging("syncs at most .15 times a write of 64 writers that the loop serves one after the other", function* (log) {
    const [writers, writes] = [64, 20]
    const write = Effect.fnUntraced(function* (number: number) {
      yield* log.attach(logTag(number), { epoch: 1, seq: 0 })
      for (let seq = 0; seq < writes; seq++) {
        yield* Effect.promise(() => turnOfTheLoop())
        const { ordinal } = yield* log.append(logCommit(number, seq))
        yield* log.whenSynced(ordinal)
      }
    })
    yield* Effect.forEach(upTo(writers), write, { concurrency: "unbounded" })
    expect(log.syncs).toBeLessThanOrEqual(writers * writes * 0.15)
  })

  it.live.runIf(existsSync("/proc/self/fd"))("makes its own folder durable when it opens", function* () {
    const above = temporaryDirectory()
    const { fsyncSync } = fs
    const replace = (stand: typeof fsyncSync) => {
      Object.assign(fs, { fsyncSync: stand })
      syncBuiltinESMExports()
    }
    const synced: Array<string> = []
    replace((file) => {
      synced.push(readlinkSync(`/proc/self/fd/${file}`))
      fsyncSync(file)
    })
    yield* Effect.ensuring(
      openFileLog(smallLog(join(above, "log"))),
      Effect.sync(() => replace(fsyncSync))
    )
    expect(synced).toContain(above)
  })

  it.live("takes a record that is larger than a segment", function* () {
    const directory = temporaryDirectory()
    const text = "x".repeat(200_000)
    yield* withLog(directory, (log) => fillLog(log, [1], 3, (_, seq) => (seq === 1 ? text : "small")))
    yield* withLog(directory, function* (log) {
      const reader = new RecordReader(directory)
      const texts = (yield* log.tail(logTag(1), 0)).map((entry) => reader.read(entry).text)
      reader.close()
      expect(texts).toEqual(["small", text, "small"])
    })
  })

  it.live("keeps a refused commit from every replay", function* () {
    const directory = temporaryDirectory()
    const ordinalsOf = (log: FileLog) =>
      Effect.map(log.tail(logTag(1), 0), (entries) => entries.map(({ ordinal }) => ordinal))
    const kept = yield* withLog(directory, function* (log) {
      const [first, second, third] = (yield* fillLog(log, [1], 3)).map(({ ordinal }) => ordinal)
      yield* log.refuse(logTag(1), second!, 5)
      expect(yield* ordinalsOf(log)).toEqual([first, third])
      return [first, third]
    })
    expect(yield* withLog(directory, ordinalsOf)).toEqual(kept)
  })

  it.live("erases in place: the text is in no segment, other namespaces stay", function* () {
    const directory = temporaryDirectory()
    const segmentsWith = (text: string) =>
      listSegments(directory).filter((segment) => readFileSync(segmentPath(directory, segment)).includes(text))
    yield* withLog(directory, function* (log) {
      const filled = yield* fillLog(log, [1, 2], 100, (number) => `secret of ${number} `.repeat(60))
      const through = filled.at(-2)!.ordinal
      expect(segmentsWith("secret of 1").length).toBeGreaterThan(2)
      expect(yield* log.erase(logTag(1), through, 7)).toBe(100)
      expect(segmentsWith("secret of 1")).toEqual([])
      expect((yield* Effect.flip(log.tail(logTag(1), 100)))._tag).toBe("LogDamaged")
      expect(yield* log.tail(logTag(1), through)).toEqual([])
    })
    yield* withLog(directory, function* (log) {
      expect(log.damage).toEqual([])
      expect(yield* log.tail(logTag(2), 0)).toHaveLength(100)
      expect((yield* Effect.flip(log.tail(logTag(1), 100)))._tag).toBe("LogDamaged")
    })
  })

  it.live("loses with a damaged header only what its own namespace had there", function* () {
    const directory = temporaryDirectory()
    const filled = yield* withLog(directory, (log) => fillLog(log, [1, 2], 20))
    const { ordinal, place } = filled[10]!
    editSegment(directory, place.segment, (bytes) => (bytes[place.offset + 27]! ^= 4))
    yield* withLog(directory, function* (log) {
      expect(log.damage).toMatchObject([{ from: ordinal, to: ordinal, tag: logTag(1) }])
      expect(yield* log.tail(logTag(2), 0)).toHaveLength(20)
      expect(yield* log.tail(logTag(3), 0)).toEqual([])
      expect(yield* log.tail(logTag(1), ordinal)).toHaveLength(14)
      expect((yield* Effect.flip(log.tail(logTag(1), ordinal - 1)))._tag).toBe("LogDamaged")
    })
  })

  it.live("names the namespaces of its records at least every 1,024 records, however busy it is", function* () {
    const directory = temporaryDirectory()
    const directoryBusy = temporaryDirectory()
    const count = yield* withLog(directory, function* (log) {
      yield* log.attach(logTag(1), { epoch: 1, seq: 0 })
      for (let seq = 0; seq < 1_100; seq++) yield* log.append(logCommit(1, seq))
      yield* log.whenSynced(log.syncedOrdinal() + 1)
      // As a kill leaves it: no mark of a close.
      cpSync(directory, directoryBusy, { recursive: true })
      return log.syncedOrdinal()
    })
    const [first = 1] = listSegments(directoryBusy)
    editSegment(directoryBusy, first, (bytes) => (bytes[27]! ^= 4))
    expect(count).toBeGreaterThan(1_024)
    expect(scanLog(directoryBusy).damage).toMatchObject([{ from: 1, to: 1, tag: logTag(1) }])
  })

  logging("syncs the changes of control.db with what comes, or by itself when nothing comes", function* (log) {
    const change = (number: number) => ({ number, version: 18, atMillis: 9, changes: new Uint8Array(9) })
    const before = log.syncs
    const entries = yield* Effect.forEach(upTo(50), (at) => log.appendControl(change(at + 1)))
    yield* log.whenSynced(entries.at(-1)!.ordinal)
    expect(log.syncs - before).toBe(1)
    yield* log.attach(logTag(1), { epoch: 1, seq: 0 })
    yield* log.appendControl(change(51))
    const { ordinal } = yield* log.append(logCommit(1, 0))
    yield* log.whenSynced(ordinal)
    expect(log.syncs - before).toBe(2)
  })

  logging("says of no namespace that it was removed until that is synced", function* (log) {
    // The second one of the same name must not hide the first.
    for (const round of upTo(2)) {
      yield* fillLog(log, [1], 1)
      const before = log.removedThrough(logTag(1))
      const removal = yield* Effect.forkChild(log.remove(logTag(1), 5), { startImmediately: true })
      expect(log.syncedOrdinal()).toBeLessThan(log.status.lastOrdinal)
      expect(log.removedThrough(logTag(1)), `${round}`).toBe(before)
      yield* Fiber.join(removal)
      expect(log.removedThrough(logTag(1))).toBeGreaterThan(before)
      expect(yield* log.tail(logTag(1), 0)).toEqual([])
    }
  })

  it.live("closes with all that was appended where its last mark finds no room", function* () {
    const directory = temporaryDirectory()
    let last = 0
    yield* withLog(directory, function* (log) {
      const append = (bytes: number) =>
        log.appendControl({ number: ++last, version: 18, atMillis: 9, changes: new Uint8Array(bytes) })
      // Larger than a segment. The next spare is made when it is synced, and nothing waits for that here.
      yield* append(smallLog(directory).segmentBytes ?? 0)
      expect(log.syncedOrdinal()).toBeLessThan(last)
    })
    yield* withLog(directory, (log) => Effect.map(log.newestControl, (newest) => expect(newest?.number).toBe(last)))
  })

  logging(
    "carries the changes of control.db between the commits, and hands all records to an archive",
    function* (log) {
      const [, second] = yield* fillLog(log, [1], 2)
      const { ordinal } = yield* log.appendControl({ number: 1, version: 18, atMillis: 9, changes: new Uint8Array(9) })
      yield* log.whenSynced(ordinal)
      const found = [...log.recordsFrom(second!.ordinal)]
        .filter(({ header }) => header.kind !== recordKinds.mark)
        .map(({ bytes, header }) => [header.ordinal, header.kind, bytes.length])
      expect(found).toEqual([
        [second!.ordinal, recordKinds.commit, 128],
        [ordinal, recordKinds.control, 128]
      ])
    }
  )

  it.live(
    "hands the newest records to an archive without reading all that lies before them in the segment",
    function* () {
      const log = yield* openFileLog({ directory: temporaryDirectory() })
      const entries = yield* fillLog(log, [1, 2], 2_000)
      const { ordinal } = entries.at(-1)!
      const readFrom = (from: number) => cpuMillis(() => [...log.recordsFrom(from)])
      readFrom(1)
      const newest = upTo(20).reduce((millis) => millis + readFrom(ordinal), 0)
      expect(newest).toBeLessThan(readFrom(1) * 3)
      expect([...log.recordsFrom(ordinal)][0]?.header.ordinal).toBe(ordinal)
    }
  )

  it.live(
    "finds the changes of the control database behind a number, and keeps their numbers when they are erased",
    () =>
      withLog(temporaryDirectory(), function* (log) {
        expect(yield* log.newestControl).toBeUndefined()
        const changes = (number: number) => (number === 2 ? "base" : Uint8Array.of(number, 0))
        for (const number of [2, 3, 4]) {
          yield* fillLog(log, [number], 1)
          const { ordinal } = yield* log.appendControl({
            number,
            version: 18,
            atMillis: number,
            changes: changes(number)
          })
          yield* log.whenSynced(ordinal)
        }
        const behind = (number: number) =>
          Effect.map(log.controlBehind(number), (found) => found.map((change) => [change.number, change.changes]))
        expect(yield* behind(0)).toEqual([
          [2, "base"],
          [3, Buffer.of(3, 0)],
          [4, Buffer.of(4, 0)]
        ])
        expect(yield* behind(3)).toEqual([[4, Buffer.of(4, 0)]])
        expect(yield* log.newestControl).toMatchObject({ number: 4, version: 18, atMillis: 4 })
        expect(yield* log.erase(processTag, log.syncedOrdinal(), 9)).toBe(3)
        expect(yield* behind(2)).toEqual([
          [3, "erased"],
          [4, "erased"]
        ])
      })
  )

  logging("tells of every segment that has got its last record", function* (log) {
    const told: Array<number> = []
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* log.onSealed(({ firstOrdinal, lastOrdinal }) => void told.push(firstOrdinal, lastOrdinal))
        yield* fillLog(log, [1], 130, () => "x".repeat(1_000))
      })
    )
    expect(log.sealed.flatMap(({ firstOrdinal, lastOrdinal }) => [firstOrdinal, lastOrdinal])).toEqual(told)
    expect(told.length).toBeGreaterThan(2)
    expect(told[0]).toBe(1)
  })
})
