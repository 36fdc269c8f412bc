/**
 * Conformance of implementations of `NamespaceLog`. A suite, not a test: each implementation calls it with a place to
 * keep a log in. The same place again is a restart. Namespaces have numbers of their own in every case, so that all
 * cases of an implementation may share one place.
 */
import { describe, expect } from "vitest"
import { Effect, type Scope } from "effect"
import type { CopyState, NamespaceLog } from "@muniment/engine/log/CommitLog"
import { LogDamaged, type LogError } from "@muniment/engine/log/LogError"
import { readHeader, recordFlags, writeHeader } from "@muniment/engine/log/logFormat"
import type { LogRecord } from "@muniment/engine/log/RecordReader"
import { logCommit, logTag } from "./CommitLogs.ts"
import { SeededRandom } from "./SeededRandom.ts"
import { it } from "./it.ts"

export interface Kept {
  readonly ordinal: number
  readonly record: LogRecord
}

/** A log that is open. */
export interface OpenLog {
  readonly log: NamespaceLog<{ readonly ordinal: number }>
  /** Becomes the owner of a namespace whose copy holds `state`. */
  readonly enter: (number: number, state: CopyState) => Effect.Effect<void, LogError>
  /** What `tail` has, read. */
  readonly read: (number: number, afterOrdinal: number) => Effect.Effect<ReadonlyArray<Kept>, LogError>
}

/** Where a log is kept while none is open. */
export interface LogPlace {
  readonly open: Effect.Effect<OpenLog, LogError, Scope.Scope>
  /** Changes the bytes of one stored record; their number stays. */
  readonly edit: (number: number, ordinal: number, change: (record: Buffer) => void) => Effect.Effect<void, LogError>
  /** How many of the stored pieces (segments, rows) contain these bytes. */
  readonly piecesWith: (text: string) => Effect.Effect<number, LogError>
}

const upTo = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, at) => at)
const seqsOf = (kept: ReadonlyArray<Kept>): ReadonlyArray<number> => kept.map(({ record }) => record.header.fromSeq)
const beginning: CopyState = { epoch: 1, seq: 0 }

/** Appends and waits until it is durable. */
const appended = Effect.fnUntraced(function* ({ log }: OpenLog, number: number, fromSeq: number, text?: string) {
  const { ordinal } = yield* log.append(logCommit(number, fromSeq, text))
  yield* log.whenSynced(ordinal)
  return ordinal
})

/** Enters a namespace of which nothing is known and appends `count` commits; returns their ordinals. */
const filled = (open: OpenLog, number: number, count: number, text?: string) =>
  Effect.andThen(
    open.enter(number, beginning),
    Effect.forEach(upTo(count), (seq) => appended(open, number, seq, text))
  )

export const logConformance = (name: string, placeOf: () => LogPlace): void => {
  let numbers = 0
  const fresh = (): number => ++numbers
  const within = <A, E>(place: LogPlace, use: (open: OpenLog) => Effect.Effect<A, E>) =>
    Effect.scoped(Effect.flatMap(place.open, use))
  const alone = <A, E>(use: (open: OpenLog) => Effect.Effect<A, E>) => within(placeOf(), use)

  describe(`conformance of ${name}`, () => {
    it.live("keeps the order of each namespace, and what a commit says, across a restart", function* () {
      const [place, one, two] = [placeOf(), fresh(), fresh()]
      const ordinals = yield* within(place, (open) =>
        Effect.gen(function* () {
          yield* open.enter(one, beginning)
          yield* open.enter(two, beginning)
          const found: Array<number> = []
          for (const seq of upTo(20)) {
            found.push(yield* appended(open, one, seq))
            yield* appended(open, two, seq)
          }
          return found
        })
      )
      expect(ordinals).toEqual([...new Set(ordinals)].sort((a, b) => a - b))
      yield* within(place, (open) =>
        Effect.gen(function* () {
          const kept = yield* open.read(one, 0)
          expect(kept.map(({ ordinal }) => ordinal)).toEqual(ordinals)
          expect(kept.map(({ record }) => record.text)).toEqual(upTo(20).map((seq) => `text ${seq} of ${one}`))
          for (const { record } of kept) {
            expect(record.header).toMatchObject({ tag: logTag(one), epoch: 1, changes: 1 })
            expect(record.header.atMillis).toBe(1_000 + record.header.fromSeq)
            expect(record.vectors.readFloatLE(0)).toBe(record.header.fromSeq)
          }
          expect(seqsOf(yield* open.read(one, ordinals[12]!))).toEqual([13, 14, 15, 16, 17, 18, 19])
          expect(yield* open.read(one, ordinals[19]!)).toEqual([])
          yield* open.enter(one, { epoch: 1, seq: 20 })
          expect(yield* appended(open, one, 20)).toBeGreaterThan(ordinals[19]!)
        })
      )
    })

    it.live("has nothing of a namespace that never committed", () =>
      alone((open) => Effect.map(open.read(fresh(), 0), (kept) => expect(kept).toEqual([])))
    )

    it.live("refuses another epoch, another change and a namespace that was not entered, and changes nothing", () =>
      alone((open) =>
        Effect.gen(function* () {
          const [number, other] = [fresh(), fresh()]
          yield* filled(open, number, 2)
          for (const wrong of [{ epoch: 0 }, { epoch: 2 }, { fromSeq: 1 }, { fromSeq: 3 }, { tag: logTag(other) }]) {
            const failure = yield* Effect.flip(open.log.append({ ...logCommit(number, 2), ...wrong }))
            expect(failure._tag).toBe("LogFenced")
          }
          expect(seqsOf(yield* open.read(number, 0))).toEqual([0, 1])
          expect(yield* open.read(other, 0)).toEqual([])
          yield* appended(open, number, 2)
          expect(seqsOf(yield* open.read(number, 0))).toEqual([0, 1, 2])
        })
      )
    )

    it.live("takes the next epoch with the first commit of an owner", () =>
      alone((open) =>
        Effect.gen(function* () {
          const number = fresh()
          yield* filled(open, number, 1)
          const claim = yield* open.log.append({ ...logCommit(number, 1), isClaim: true })
          yield* open.log.whenSynced(claim.ordinal)
          expect((yield* Effect.flip(open.log.append(logCommit(number, 2))))._tag).toBe("LogFenced")
          const next = yield* open.log.append({ ...logCommit(number, 2), epoch: 2 })
          yield* open.log.whenSynced(next.ordinal)
          const kept = yield* open.read(number, 0)
          expect(kept.map(({ record }) => [record.header.epoch, record.header.flags & recordFlags.claim])).toEqual([
            [1, 0],
            [1, recordFlags.claim],
            [2, 0]
          ])
        })
      )
    )

    it.live("takes nothing of a namespace that was released, until it is entered again", () =>
      alone((open) =>
        Effect.gen(function* () {
          const number = fresh()
          yield* filled(open, number, 2)
          yield* open.log.release(logTag(number))
          expect((yield* Effect.flip(open.log.append(logCommit(number, 2))))._tag).toBe("LogFenced")
          yield* open.enter(number, { epoch: 1, seq: 2 })
          yield* appended(open, number, 2)
          expect(seqsOf(yield* open.read(number, 0))).toEqual([0, 1, 2])
        })
      )
    )

    it.live("keeps the order of each namespace when many append at once", () =>
      alone((open) =>
        Effect.gen(function* () {
          const many = upTo(12).map(fresh)
          yield* Effect.forEach(many, (number) => filled(open, number, 8), { concurrency: "unbounded" })
          for (const number of many) expect(seqsOf(yield* open.read(number, 0))).toEqual(upTo(8))
        })
      )
    )

    it.live("keeps a refused commit from every replay, and lets its owner go on before it", function* () {
      const [place, number] = [placeOf(), fresh()]
      yield* within(place, (open) =>
        Effect.gen(function* () {
          const ordinals = yield* filled(open, number, 3)
          yield* open.log.refuse(logTag(number), ordinals[2]!, 5)
          expect(seqsOf(yield* open.read(number, 0))).toEqual([0, 1])
          yield* open.log.release(logTag(number))
          yield* open.enter(number, { epoch: 1, seq: 2 })
          yield* appended(open, number, 2, "instead")
        })
      )
      const kept = yield* within(place, (open) => open.read(number, 0))
      expect(kept.map(({ record }) => record.text)).toEqual([`text 0 of ${number}`, `text 1 of ${number}`, "instead"])
    })

    it.live(
      "erases the bodies up to a commit: the text is nowhere, later commits and other namespaces stay",
      function* () {
        const [place, number, other] = [placeOf(), fresh(), fresh()]
        const secret = `secret of ${name} ${number}`
        const ordinals = yield* within(place, (open) =>
          Effect.gen(function* () {
            const found = yield* filled(open, number, 4, secret)
            yield* appended(open, number, 4, "later")
            yield* filled(open, other, 3)
            expect(yield* place.piecesWith(secret)).toBeGreaterThan(0)
            expect(yield* open.log.erase(logTag(number), found[3]!, 7)).toBe(4)
            return found
          })
        )
        expect(yield* place.piecesWith(secret)).toBe(0)
        yield* within(place, (open) =>
          Effect.gen(function* () {
            expect((yield* Effect.flip(open.read(number, ordinals[2]!)))._tag).toBe("LogDamaged")
            expect((yield* open.read(number, ordinals[3]!)).map(({ record }) => record.text)).toEqual(["later"])
            expect(seqsOf(yield* open.read(other, 0))).toEqual([0, 1, 2])
          })
        )
      }
    )

    it.live("forgets a namespace that is removed; a later one of its tag begins anew", function* () {
      const [place, number] = [placeOf(), fresh()]
      const secret = `removed of ${name} ${number}`
      yield* within(place, (open) =>
        Effect.gen(function* () {
          yield* filled(open, number, 3, secret)
          yield* open.log.remove(logTag(number), 7)
          expect((yield* Effect.flip(open.log.append(logCommit(number, 3))))._tag).toBe("LogFenced")
          expect(yield* open.read(number, 0)).toEqual([])
        })
      )
      expect(yield* place.piecesWith(secret)).toBe(0)
      yield* within(place, (open) => filled(open, number, 2, "anew"))
      const kept = yield* within(place, (open) => open.read(number, 0))
      expect(kept.map(({ record }) => [record.header.fromSeq, record.text])).toEqual([
        [0, "anew"],
        [1, "anew"]
      ])
    })

    it.live("reads a tail of many pages, with records of megabytes", () =>
      alone((open) =>
        Effect.gen(function* () {
          const number = fresh()
          yield* open.enter(number, beginning)
          const textOf = (seq: number) => (seq % 60 === 0 ? String(seq % 7).repeat(2_500_000) : `small ${seq}`)
          for (const seq of upTo(300)) yield* appended(open, number, seq, textOf(seq))
          const kept = yield* open.read(number, 0)
          expect(seqsOf(kept)).toEqual(upTo(300))
          expect(kept.every(({ record }, seq) => record.text === textOf(seq))).toBe(true)
        })
      )
    )

    /** A record of which one commit before and one behind are whole, and another namespace beside it. */
    const afterEdit = Effect.fnUntraced(function* (
      change: (record: Buffer) => void,
      says: (ordinal: number) => string
    ) {
      const [place, number, other] = [placeOf(), fresh(), fresh()]
      const [first = 0, second = 0] = yield* within(place, (open) =>
        Effect.tap(filled(open, number, 3), () => filled(open, other, 3))
      )
      yield* place.edit(number, second, change)
      yield* within(place, (open) =>
        Effect.gen(function* () {
          const failure = yield* Effect.flip(open.read(number, first))
          expect(failure).toBeInstanceOf(LogDamaged)
          expect(failure.message).toContain(says(second))
          expect(seqsOf(yield* open.read(number, second))).toEqual([2])
          expect(seqsOf(yield* open.read(other, 0))).toEqual([0, 1, 2])
        })
      )
    })

    it.live("hands out no record of which a bit has changed", () =>
      afterEdit(
        (record) => (record[70]! ^= 1),
        (ordinal) => String(ordinal)
      )
    )

    it.live("hands out no record of a format that this release does not read", () =>
      afterEdit(
        (record) => writeHeader(record, 0, { ...readHeader(record, 0)!, format: 9 }),
        (ordinal) => `record ${ordinal} has format 9`
      )
    )

    it.live("holds a random history, as its model says", function* () {
      const [place, random] = [placeOf(), new SeededRandom(17)]
      const namespaces = upTo(3).map(() => ({ number: fresh(), seq: 0, kept: [] as Array<[number, string]> }))
      for (let round = 0; round < 3; round++)
        yield* within(place, (open) =>
          Effect.gen(function* () {
            for (const { number, seq } of namespaces) yield* open.enter(number, { epoch: 1, seq })
            for (let step = 0; step < 20; step++) {
              const one = namespaces[Math.floor(random.next() * 3)]!
              const tag = logTag(one.number)
              const draw = random.next()
              if (draw < 0.85 || one.kept.length === 0) {
                const text = `${round}.${step} ${"x".repeat(random.next() * 500)}`
                one.kept.push([yield* appended(open, one.number, one.seq++, text), text])
              } else if (draw < 0.95) {
                const [refused] = one.kept.pop()!
                yield* open.log.refuse(tag, refused, 9)
                yield* open.log.release(tag)
                yield* open.enter(one.number, { epoch: 1, seq: --one.seq })
              } else {
                yield* open.log.remove(tag, 9)
                one.kept.length = 0
                one.seq = 0
                yield* open.enter(one.number, beginning)
              }
              const after = one.kept[Math.floor(random.next() * one.kept.length)]?.[0] ?? 0
              expect(
                (yield* open.read(one.number, after)).map(({ ordinal, record }) => [ordinal, record.text])
              ).toEqual(one.kept.filter(([ordinal]) => ordinal > after))
            }
          })
        )
    })
  })
}
