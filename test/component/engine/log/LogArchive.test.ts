/** Parts of the commit log in archives, and logs made again of them. */
import { describe, expect } from "vitest"
import { Effect, type Scope } from "effect"
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type FileLog, openFileLog } from "@muniment/engine/log/FileLog"
import { type LogEnd, type LogPart, RestoredLog, writePart } from "@muniment/engine/log/LogArchive"
import { RecordReader } from "@muniment/engine/log/RecordReader"
import { fillLog, logCommit, logTag, smallLog } from "../../../support/CommitLogs.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { effectOf, type Steps, it } from "../../../support/it.ts"

const withLog = <A>(directory: string, use: (log: FileLog) => Steps<Scope.Scope, A>) =>
  Effect.scoped(Effect.flatMap(openFileLog(smallLog(directory)), (log) => effectOf(use(log))))

const never: LogEnd = { ordinal: Infinity, millis: Infinity }

const archived = Effect.fnUntraced(function* (log: FileLog, after: number) {
  const path = join(temporaryDirectory(), "part")
  const part = yield* writePart(log.recordsFrom(after + 1), path)
  return { part, bytes: readFileSync(path) }
})

/** A log made of bytes that come in small pieces. */
const restored = (bytes: Buffer, { first }: Pick<LogPart, "first">, from: number, end = never) => {
  const directory = join(temporaryDirectory(), "log")
  mkdirSync(directory)
  const log = new RestoredLog(directory, first, from, end)
  for (let at = 0; at < bytes.length; at += 100) log.add(bytes.subarray(at, at + 100))
  return { directory, last: log.close() }
}

const textsOf = (log: FileLog, directory: string, tag: number, after: number) =>
  Effect.map(log.tail(logTag(tag), after), (entries) => {
    const reader = new RecordReader(directory)
    const texts = entries.map((entry) => reader.read(entry).text)
    reader.close()
    return texts
  })

describe("a part of the log", () => {
  it.live("makes a log that has the same records, misses none before them, and goes on behind them", function* () {
    const directory = temporaryDirectory()
    const { bytes, part, texts } = yield* withLog(directory, function* (log) {
      yield* fillLog(log, [1, 2], 60)
      const found = yield* archived(log, 20)
      return { ...found, texts: yield* textsOf(log, directory, 1, 20) }
    })
    expect(part).toMatchObject({ first: 21, isCut: false, bytes: bytes.length })
    const again = restored(bytes, part!, part!.last)
    expect(again.last).toBe(part!.last)
    yield* withLog(again.directory, function* (log) {
      // A copy from before the part: what it has is not looked for.
      expect(log.damage).toEqual([])
      expect(yield* textsOf(log, again.directory, 1, 3)).toEqual(texts)
      yield* log.attach(logTag(1), { epoch: 1, seq: 60 })
      expect((yield* log.append(logCommit(1, 60))).ordinal).toBeGreaterThan(part!.last)
    })
  })

  it.live("ends at an ordinal or a time, but not before the copies do", function* () {
    const { bytes, part } = yield* withLog(temporaryDirectory(), (log) =>
      Effect.andThen(fillLog(log, [1], 30), archived(log, 0))
    )
    expect(restored(bytes, part!, 5, { ...never, ordinal: 12 }).last).toBe(12)
    expect(restored(bytes, part!, 5, { ...never, ordinal: 2 }).last).toBe(5)
    expect(restored(bytes, part!, 5, { ...never, millis: 0 }).last).toBe(5)
  })

  it.live("of nothing is none, and a log of it goes on behind the copies", function* () {
    const directory = temporaryDirectory()
    const found = yield* withLog(directory, (log) => Effect.andThen(fillLog(log, [1], 5), archived(log, 1_000)))
    expect(found.part).toBeUndefined()
    const again = restored(Buffer.alloc(0), { first: 41 }, 40)
    yield* withLog(again.directory, (log) =>
      Effect.sync(() => {
        expect(log.damage).toEqual([])
        expect(log.status.lastOrdinal).toBeGreaterThan(40)
      })
    )
  })

  it.live("ends before what was erased, and has no byte of it", function* () {
    const { after, before } = yield* withLog(temporaryDirectory(), function* (log) {
      const filled = yield* fillLog(log, [1, 2], 10)
      yield* log.erase(logTag(2), filled[5]!.ordinal, 1)
      return { before: yield* archived(log, 0), after: yield* archived(log, filled[5]!.ordinal) }
    })
    expect(before.part).toMatchObject({ isCut: true, first: 1, last: 1 })
    expect(before.bytes.includes("of 2")).toBe(false)
    expect(after.part).toMatchObject({ isCut: false, erases: true })
    expect(after.bytes.includes("text 9 of 2")).toBe(true)
  })

  it.live(
    "with a record that erases makes a log that still has what came before, but for removed namespaces",
    function* () {
      const directory = temporaryDirectory()
      const { bytes, part, texts } = yield* withLog(directory, function* (log) {
        yield* fillLog(log, [1, 2], 10)
        const before = yield* archived(log, 0)
        const texts = yield* textsOf(log, directory, 1, 0)
        yield* log.erase(logTag(1), before.part!.last, 1)
        yield* log.remove(logTag(2), 1)
        const after = yield* archived(log, before.part!.last)
        return { bytes: Buffer.concat([before.bytes, after.bytes]), part: after.part!, texts }
      })
      const again = restored(bytes, { first: 1 }, part.last)
      yield* withLog(again.directory, function* (log) {
        expect(yield* textsOf(log, again.directory, 1, 0)).toEqual(texts)
        expect(yield* textsOf(log, again.directory, 2, 0)).toEqual([])
      })
    }
  )

  it.live("that is damaged, or lacks a record, is refused", function* () {
    const { bytes, part } = yield* withLog(temporaryDirectory(), (log) =>
      Effect.andThen(fillLog(log, [1], 10), archived(log, 0))
    )
    for (let at = 0; at < bytes.length; at += 97) {
      const flipped = Buffer.from(bytes)
      flipped[at]! ^= 4
      expect(() => restored(flipped, part!, part!.last), `bit of byte ${at}`).toThrow("archived log is damaged")
    }
    expect(() => restored(bytes.subarray(0, -64), part!, part!.last)).toThrow("archived log is damaged")
    expect(() => restored(bytes, { first: 2 }, part!.last)).toThrow("archived log is damaged")
  })
})
