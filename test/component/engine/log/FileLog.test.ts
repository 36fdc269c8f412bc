/** The commit log in files: order, durability, fencing, reopening, and who may read what. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import type { NewCommit } from "@muniment/engine/log/CommitLog"
import { openFileLog } from "@muniment/engine/log/FileLog"
import { RecordReader } from "@muniment/engine/log/RecordReader"
import { listSegments, segmentPath } from "@muniment/engine/log/segmentFiles"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"

const tag = (number: number): string => number.toString(16).padStart(12, "0")
const options = (directory: string) => ({ directory, segmentBytes: 65_536 })

const commit = (number: number, fromSeq: number, text = `text ${fromSeq}`): NewCommit => ({
  tag: tag(number),
  epoch: 1,
  fromSeq,
  changes: 1,
  isClaim: false,
  atMillis: 1_000 + fromSeq,
  isErasure: false,
  body: { text, vectors: [Float32Array.of(fromSeq)] }
})

describe("the commit log", () => {
  it.effect("numbers records without gaps and keeps them across a close", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const log = yield* openFileLog(options(directory))
          for (const number of [1, 2]) yield* log.attach(tag(number), { epoch: 1, seq: 0 })
          for (let seq = 0; seq < 50; seq++) {
            for (const number of [1, 2]) {
              const { ordinal } = yield* log.append(commit(number, seq))
              expect(ordinal).toBe(seq * 2 + number)
            }
          }
          yield* log.whenSynced(100)
          expect(log.syncedOrdinal()).toBe(100)
        })
      )
      const log = yield* openFileLog(options(directory))
      expect(log.damage).toEqual([])
      const entries = yield* log.tail(tag(2), 40)
      expect(entries.map(({ ordinal }) => ordinal)).toEqual(Array.from({ length: 30 }, (_, at) => 42 + at * 2))
      const reader = new RecordReader(directory)
      const read = entries.map((entry) => reader.read(entry))
      reader.close()
      expect(read.map(({ text }) => text)).toEqual(Array.from({ length: 30 }, (_, at) => `text ${at + 20}`))
      expect(read.map(({ header, vectors }) => vectors.readFloatLE(0) - header.fromSeq)).toEqual(new Array(30).fill(0))
      yield* log.attach(tag(2), { epoch: 1, seq: 50 })
      expect((yield* log.append(commit(2, 50))).ordinal).toBe(101)
    }).pipe(Effect.scoped)
  )

  it.effect("refuses an owner of another epoch, or behind another change, and writes nothing", () =>
    Effect.gen(function* () {
      const log = yield* openFileLog(options(temporaryDirectory()))
      yield* log.attach(tag(1), { epoch: 1, seq: 0 })
      for (const wrong of [{ epoch: 0 }, { epoch: 2 }, { fromSeq: 1 }, { tag: tag(9) }]) {
        const failure = yield* Effect.flip(log.append({ ...commit(1, 0), ...wrong }))
        expect(failure._tag).toBe("LogFenced")
      }
      expect((yield* log.append({ ...commit(1, 0), isClaim: true })).ordinal).toBe(1)
      expect((yield* Effect.flip(log.append(commit(1, 1))))._tag).toBe("LogFenced")
      expect((yield* log.append({ ...commit(1, 1), epoch: 2 })).ordinal).toBe(2)
    }).pipe(Effect.scoped)
  )

  it.effect("shares a sync between all that comes meanwhile, and starts a segment when one is full", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const log = yield* openFileLog(options(directory))
      yield* Effect.forEach(
        Array.from({ length: 200 }, (_, at) => at + 1),
        (number) =>
          Effect.gen(function* () {
            yield* log.attach(tag(number), { epoch: 1, seq: 0 })
            const { ordinal } = yield* log.append(commit(number, 0, "x".repeat(1_000)))
            yield* log.whenSynced(ordinal)
          }),
        { concurrency: "unbounded" }
      )
      expect(log.syncedOrdinal()).toBe(200)
      expect(listSegments(directory)).toHaveLength(4)
    }).pipe(Effect.scoped)
  )

  it.effect("keeps a refused commit from every replay", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const log = yield* openFileLog(options(directory))
          yield* log.attach(tag(1), { epoch: 1, seq: 0 })
          for (const seq of [0, 1, 2]) yield* log.append(commit(1, seq))
          yield* log.refuse(tag(1), 2, 5)
          expect((yield* log.tail(tag(1), 0)).map(({ ordinal }) => ordinal)).toEqual([1, 3])
        })
      )
      const log = yield* openFileLog(options(directory))
      expect((yield* log.tail(tag(1), 0)).map(({ ordinal }) => ordinal)).toEqual([1, 3])
    }).pipe(Effect.scoped)
  )

  it.effect("erases in place: the text is gone from every segment, other namespaces stay", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const holds = (text: string) =>
        listSegments(directory).filter((segment) => readFileSync(segmentPath(directory, segment)).includes(text))
      yield* Effect.scoped(
        Effect.gen(function* () {
          const log = yield* openFileLog(options(directory))
          for (const number of [1, 2]) yield* log.attach(tag(number), { epoch: 1, seq: 0 })
          for (let seq = 0; seq < 100; seq++)
            for (const number of [1, 2]) yield* log.append(commit(number, seq, `secret of ${number} `.repeat(60)))
          yield* log.whenSynced(200)
          expect(holds("secret of 1")).toEqual(listSegments(directory))
          expect(yield* log.erase(tag(1), 199, 7)).toBe(100)
          expect(holds("secret of 1")).toEqual([])
          expect((yield* Effect.flip(log.tail(tag(1), 100)))._tag).toBe("LogDamaged")
          expect(yield* log.tail(tag(1), 199)).toEqual([])
        })
      )
      const log = yield* openFileLog(options(directory))
      expect(log.damage).toEqual([])
      expect(yield* log.tail(tag(2), 0)).toHaveLength(100)
      expect((yield* Effect.flip(log.tail(tag(1), 100)))._tag).toBe("LogDamaged")
    }).pipe(Effect.scoped)
  )
})
