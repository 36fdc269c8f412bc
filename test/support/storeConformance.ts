/**
 * Conformance of implementations of `NamespaceStore`. A suite, not a test: each implementation calls it with its layer over
 * a directory. The same directory again is a restart; two layers at the same time are two owners.
 */
import { describe, expect } from "vitest"
import { Effect, Layer, type Scope } from "effect"
import fc from "fast-check"
import type { MemoryRecord } from "@muniment/domain/Memory"
import { memoryColumns } from "@muniment/engine/text/MemoryText"
import type { ConversationAdvance, ConversationChange } from "@muniment/engine/store/Conversations"
import { conditionOf, conditionOfData, isMatch } from "@muniment/domain/Where"
import { whereCases } from "./whereCases.ts"
import {
  NamespaceStore,
  type OpenNamespace,
  type SlotRange,
  type StoredVector
} from "@muniment/engine/store/NamespaceStore"
import { memoryBytes, type MemoryRow } from "@muniment/engine/store/MemoryRow"
import type { MemoryChange, CommandChanges, MemoryVector } from "@muniment/engine/store/Commit"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"
import { axisVector, memoryRecord, namespaceKey, turnOf } from "./EngineFixtures.ts"
import { it } from "./it.ts"

const key = namespaceKey()

/** Values that JSON writes in ways of its own, in fields and in lists. */
const scalar = fc.oneof(
  fc.constantFrom("Oslo", "", "30", "true", "null", 'a "quoted" \\ text', "é\u2028", "\u0000", "%_*?["),
  fc.constantFrom(30, 0, -0, 1e21, 0.1),
  fc.boolean(),
  fc.constant(null)
)
const fieldName = fc.constantFrom("city", "age", "likes", "toString", "a\u0000", 'a"b', "")
const dataOf = fc.dictionary(
  fieldName,
  fc.oneof(scalar, fc.array(scalar, { maxLength: 4 }), fc.constant({ city: "Oslo" }))
)
const filterOf = fc.dictionary(fieldName, scalar, { minKeys: 1, maxKeys: 3 })

export const put = (slot: number, record: MemoryRecord, vector?: MemoryVector): MemoryChange => ({
  _tag: "Put",
  slot,
  record,
  columns: memoryColumns(record),
  vector
})
export const unit = (
  changes: ReadonlyArray<MemoryChange>,
  token?: string,
  conversation?: ConversationChange
): CommandChanges => ({
  changes,
  idempotency: token === undefined ? undefined : { key: token, fingerprint: "f", result: `result of ${token}` },
  conversation
})
const advance = (numbers: ReadonlyArray<number>, more: Partial<ConversationAdvance> = {}): ConversationAdvance => ({
  _tag: "Advance",
  scope: {},
  processed: numbers.map((number) => turnOf(number).key),
  turns: numbers.map((number) => turnOf(number)),
  summary: undefined,
  expiresAt: undefined,
  summaryExpiresAt: more.expiresAt,
  ...more
})

interface Owners {
  /**
   * Owners of a directory have the same file, several at once, and claim it with their first commit. Otherwise each has a
   * copy of its own without saved segments, and claims with its open.
   */
  readonly sharesFiles: boolean
}

export const storeConformance = (
  name: string,
  layerOf: (directory: string) => Layer.Layer<NamespaceStore>,
  { sharesFiles }: Owners = { sharesFiles: true }
): void => {
  /** Of a commit that does not follow what is there. */
  const refusedAs = sharesFiles ? "StoreFenced" : "StoreFault"
  const itShares: (title: string, test: () => Effect.Effect<void, unknown, Scope.Scope>) => void = (title, test) => {
    if (sharesFiles) it.effect(title, test)
  }
  const opened = (directory: string) =>
    Effect.flatMap(Layer.build(Layer.fresh(layerOf(directory))), (services) =>
      Effect.provide(
        NamespaceStore.use((store) => store.open(key)),
        services
      )
    )
  /** The content of a file, as a new owner reads it. */
  const contents = (directory: string) =>
    Effect.scoped(
      Effect.gen(function* () {
        const file = yield* opened(directory)
        const rows: Array<MemoryRow> = []
        const vectors: Array<StoredVector> = []
        yield* file.whole((all) => all.eachRow((row) => rows.push(row)))
        yield* file.whole((all) => all.eachVector((vector) => vectors.push(vector)))
        // By slots, and none of a slot that has none.
        expect(yield* file.whole((all) => all.vectors([...vectors.map(({ slot }) => slot), 9_999]))).toEqual(
          expect.arrayContaining(vectors)
        )
        const records = yield* file.records(rows.map(({ slot }) => slot))
        const lengths: Array<number> = []
        file.postings.forEachLength((slot) => lengths.push(slot))
        return { seq: file.lastSeq, rows, vectors, lengths, records: records.map(({ record }) => record) }
      })
    )

  describe(`${name}: what is committed`, () => {
    it.effect("is complete after a restart", function* () {
      const directory = temporaryDirectory()
      const full = memoryRecord(1, "", {
        subjectId: "s",
        threadId: "t",
        data: { fact: 'ä\u2028\u0000 "quoted"', nested: { n: 1.5e300, list: [null, true] } },
        tags: ["a", "b"],
        mentions: [{ name: "Ann", type: "person" }],
        when: "2026-11-21T00:00:00.000Z",
        confidence: 0.25,
        expiresAt: 9_007_199_254_740_991,
        uniqueKey: "k",
        origin: "extraction",
        sources: [{ key: "00ff", id: "m1" }, { key: "01ff" }],
        neighbours: ["before", "after"]
      })
      const bare = memoryRecord(2, "bare", { expiresAt: 0.5 })
      const vector = axisVector(3)
      yield* Effect.scoped(
        Effect.flatMap(opened(directory), (file) => file.commit(0, [unit([put(0, full, vector), put(7, bare)])], 1))
      )
      const found = yield* contents(directory)
      expect(found.records.map((record) => ({ ...record }))).toEqual([full, bare])
      expect(found.vectors).toEqual([{ slot: 0, seq: 1, ...vector }])
      expect(found.rows.map(({ slot, createdSeq, eventAt }) => ({ slot, createdSeq, eventAt }))).toEqual([
        { slot: 0, createdSeq: 1, eventAt: Date.parse(full.when!) },
        { slot: 7, createdSeq: 2, eventAt: undefined }
      ])
      expect(found).toMatchObject({ seq: 2, lengths: [0, 7] })
    })

    it.effect("is found by values of the data, at once and after a restart", function* () {
      const directory = temporaryDirectory()
      const records = fc
        .sample(dataOf, { numRuns: 400, seed: 1 })
        .map((data, at, all) =>
          memoryRecord(at, "", { data, metadata: at % 3 === 0 ? undefined : all[all.length - 1 - at] })
        )
      const names = ["city", "age", "likes", "toString", "a\u0000", 'a"b']
      const wheres = whereCases(["data", "metadata"], names, scalar)
      const filters = [
        ...fc.sample(filterOf, { numRuns: 100, seed: 2 }).map(conditionOfData),
        ...fc.sample(wheres, { numRuns: 200, seed: 3 }).map(({ where }) => conditionOf(where))
      ]
      const find = Effect.fnUntraced(function* (file: OpenNamespace) {
        for (const wanted of filters) {
          const found = yield* file.slotsOfData({ from: 100, to: 300 }, wanted)
          const right = records.flatMap((record, at) => (isMatch(wanted, record) ? [at] : []))
          expect(found.every((slot) => slot >= 100 && slot < 300)).toBe(true)
          expect(found).toEqual(expect.arrayContaining(right.filter((slot) => slot >= 100 && slot < 300)))
        }
      })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const file = yield* opened(directory)
          yield* file.commit(0, [unit(records.map((record, slot) => put(slot, record)))], 1)
          yield* find(file)
        })
      )
      yield* find(yield* opened(directory))
    })

    it.effect(
      "has feedback, and its row what that says, at once and after a restart; its bytes count it",
      function* () {
        const directory = temporaryDirectory()
        const [first, second] = [
          { useful: true, query: "é \u2028", at: 1e12, by: "k" },
          { useful: false, at: 2e12 }
        ]
        const record = memoryRecord(1, "one", { feedback: [first], metadata: { a: 1 } })
        const plain = memoryRecord(2, "two")
        const patched = { ...record, feedback: [first, second] }
        const patch: MemoryChange = { _tag: "Patch", slot: 0, record: patched, columns: memoryColumns(patched) }
        yield* Effect.scoped(
          Effect.gen(function* () {
            const file = yield* opened(directory)
            yield* file.commit(0, [unit([put(0, record), put(1, plain)]), unit([patch])], 1)
            expect(file.bytes()).toBe(memoryBytes(patched) + memoryBytes(plain))
          })
        )
        const { records, rows } = yield* contents(directory)
        expect(records.map(({ feedback }) => feedback)).toEqual([[first, second], undefined])
        expect(rows.map(({ feedback }) => feedback)).toEqual([["given", "useful", "not_useful"], undefined])
      }
    )

    it.effect("is numbered change by change, and an insertion keeps its number when it is replaced", function* () {
      const directory = temporaryDirectory()
      const record = memoryRecord(1, "one")
      yield* Effect.scoped(
        Effect.gen(function* () {
          const file = yield* opened(directory)
          expect(yield* file.commit(0, [unit([put(0, record)]), unit([put(1, memoryRecord(2, "two"))])], 1)).toBe(2)
          const patched = { ...record, tags: ["x"], updatedAt: 99, uniqueKey: "another" }
          const patch: MemoryChange = { _tag: "Patch", slot: 0, record: patched, columns: memoryColumns(patched) }
          expect(yield* file.commit(2, [unit([patch, put(1, memoryRecord(2, "again"), axisVector(1))])], 2)).toBe(4)
          expect(yield* file.commit(4, [unit([], "only a key")], 3)).toBe(4)
        })
      )
      const { rows, vectors, records } = yield* contents(directory)
      expect(rows.map(({ createdSeq, tags, uniqueKey }) => ({ createdSeq, tags, uniqueKey }))).toEqual([
        { createdSeq: 1, tags: ["x"], uniqueKey: "another" },
        { createdSeq: 2, tags: [], uniqueKey: undefined }
      ])
      expect(vectors.map(({ seq }) => seq)).toEqual([4])
      expect(records.map(({ updatedAt, data }) => ({ updatedAt, data }))).toEqual([
        { updatedAt: 99, data: { fact: "one" } },
        { updatedAt: memoryRecord(2, "").updatedAt, data: { fact: "again" } }
      ])
    })

    it.effect("loses text, words and vector when a memory is removed, and its slot can be reused", function* () {
      const directory = temporaryDirectory()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const file = yield* opened(directory)
          yield* file.commit(0, [unit([put(0, memoryRecord(1, "zebra"), axisVector(1))])], 1)
          yield* file.commit(1, [unit([{ _tag: "Remove", slot: 0 }])], 2)
          expect(yield* file.slotOf(memoryRecord(1, "").id)).toBeUndefined()
          expect(file.postings.occurrences("zebra")).toEqual([])
          yield* file.commit(2, [unit([put(0, memoryRecord(2, "quagga"))])], 3)
        })
      )
      const { rows, vectors, seq } = yield* contents(directory)
      expect(rows.map(({ id, createdSeq }) => ({ id, createdSeq }))).toEqual([
        { id: memoryRecord(2, "").id, createdSeq: 3 }
      ])
      expect([vectors.length, seq]).toEqual([0, 3])
    })
  })

  describe(`${name}: a commit`, () => {
    it.effect("is all or nothing: a failing change rolls back all earlier ones, and the key", function* () {
      const directory = temporaryDirectory()
      const error = yield* Effect.scoped(
        Effect.gen(function* () {
          const file = yield* opened(directory)
          yield* file.commit(0, [unit([put(0, memoryRecord(1, "one"))])], 1)
          const again = put(5, memoryRecord(1, "the same id in another slot"))
          return yield* Effect.flip(
            file.commit(1, [unit([put(1, memoryRecord(2, "two"), axisVector(1))], "token"), unit([again])], 2)
          )
        })
      )
      expect(error._tag).toBe("StoreFault")
      const found = yield* contents(directory)
      expect(found).toMatchObject({ seq: 1, lengths: [0], vectors: [] })
      expect(found.rows).toHaveLength(1)
      const key = yield* Effect.scoped(Effect.flatMap(opened(directory), (file) => file.storedResult("token")))
      expect(key).toBeUndefined()
    })

    it.effect("is refused when it does not follow the last one", function* () {
      const directory = temporaryDirectory()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const file = yield* opened(directory)
          yield* file.commit(0, [unit([put(0, memoryRecord(1, "one"))])], 1)
          for (const expected of [0, 2]) {
            const refused = yield* Effect.flip(file.commit(expected, [unit([put(1, memoryRecord(2, "two"))])], 2))
            expect(refused._tag).toBe(refusedAs)
          }
          yield* file.commit(1, [unit([put(1, memoryRecord(2, "two"))])], 2)
        })
      )
      expect((yield* contents(directory)).rows).toHaveLength(2)
    })

    itShares("of the older of two owners is refused after the newer one's first commit", () =>
      Effect.gen(function* () {
        const directory = temporaryDirectory()
        yield* Effect.scoped(
          Effect.gen(function* () {
            const older = yield* opened(directory)
            yield* older.commit(0, [unit([put(0, memoryRecord(1, "one"))])], 1)
            const newer = yield* opened(directory)
            yield* older.commit(1, [unit([put(1, memoryRecord(2, "still the owner"))])], 2)
            // The newer owner's read is outdated: it must not write either.
            expect((yield* Effect.flip(newer.commit(1, [unit([])], 3)))._tag).toBe("StoreFenced")
            const newest = yield* opened(directory)
            yield* newest.commit(2, [unit([put(2, memoryRecord(3, "new owner"))])], 4)
            const refused = yield* Effect.flip(older.commit(2, [unit([put(3, memoryRecord(4, "stale"))])], 5))
            expect(refused._tag).toBe("StoreFenced")
            const known = yield* Effect.flip(older.commit(3, [unit([put(3, memoryRecord(4, "stale"))])], 5))
            expect(known._tag).toBe("StoreFenced")
          })
        )
        expect((yield* contents(directory)).rows.map(({ slot }) => slot)).toEqual([0, 1, 2])
      })
    )

    itShares("by the first of two owners who opened the same state wins", () =>
      Effect.gen(function* () {
        const directory = temporaryDirectory()
        yield* Effect.scoped(
          Effect.gen(function* () {
            const [first, second] = [yield* opened(directory), yield* opened(directory)]
            yield* first.commit(0, [unit([], "of the first")], 1)
            expect((yield* Effect.flip(second.commit(0, [unit([], "of the second")], 1)))._tag).toBe("StoreFenced")
          })
        )
      })
    )
  })

  describe(`${name}: a result under a key`, () => {
    it.effect("is found until it is forgotten by age, and a key cannot have two", function* () {
      const directory = temporaryDirectory()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const file = yield* opened(directory)
          yield* file.commit(0, [unit([], "old")], 10)
          yield* file.commit(0, [unit([], "new")], 20)
          const old = { key: "old", fingerprint: "f", result: "result of old" }
          expect(yield* file.storedResult("old")).toEqual(old)
          expect(yield* file.storedResult("old", 10)).toEqual(old)
          expect(yield* file.storedResult("old", 11)).toBeUndefined()
          expect((yield* Effect.flip(file.commit(0, [unit([], "old")], 30)))._tag).toBe("StoreFault")
          expect(yield* file.whole((all) => all.forgetResultsBefore(20))).toBe(1)
          expect(yield* file.storedResult("old")).toBeUndefined()
          expect(yield* file.storedResult("new")).toBeDefined()
        })
      )
    })
  })

  describe(`${name}: slots without a vector of a model`, () => {
    it.effect("are counted, whatever other models have", function* () {
      const directory = temporaryDirectory()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const file = yield* opened(directory)
          const vectors = [axisVector(0, 8, "old"), axisVector(1, 8, "new"), undefined, axisVector(3, 8, "old")]
          yield* file.commit(0, [unit(vectors.map((vector, slot) => put(slot, memoryRecord(slot, "x"), vector)))], 1)
          expect(yield* file.whole((all) => all.countWithoutVector("new"))).toBe(3)
          yield* file.commit(
            4,
            [unit([{ _tag: "Embed", slot: 0, isPassage: false, vector: axisVector(0, 8, "new") }])],
            2
          )
          expect(yield* file.whole((all) => all.countWithoutVector("new"))).toBe(2)
          expect(yield* file.whole((all) => all.countWithoutVector("old"))).toBe(3)
        })
      )
    })
  })

  describe(`${name}: segments of encoded vectors`, () => {
    const model = axisVector(0).model
    const bytes = new Uint8Array(20_000).map((_, at) => (at * 31) >> 3)
    /** A vector in each of three segments, one memory without, and a segment stored for each of the first two. */
    const filled = Effect.fnUntraced(function* (directory: string) {
      const file = yield* opened(directory)
      const slots = [0, 1_023, 1_024, 5_000]
      const changes = slots.map((slot, at) => put(slot, memoryRecord(slot, "x"), axisVector(at)))
      yield* file.commit(0, [unit([...changes, put(7, memoryRecord(7, "x"))])], 1)
      for (const segment of [0, 1]) expect(yield* file.segments.save(5, segment, model, bytes)).toBe(true)
      return file
    })

    itShares("are the same after a restart, with the slots that they must hold", () =>
      Effect.gen(function* () {
        const directory = temporaryDirectory()
        yield* Effect.scoped(filled(directory))
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { segments } = yield* opened(directory)
            expect(yield* segments.stored).toEqual([0, 1])
            expect(yield* segments.soleModel).toEqual({ model, dims: 8 })
            expect(yield* segments.read(1, model)).toEqual(bytes)
            expect([yield* segments.read(1, "another"), yield* segments.read(4, model)]).toEqual([undefined, undefined])
            expect([yield* segments.slots(0, model), yield* segments.slots(4, model)]).toEqual([[0, 1_023], [5_000]])
            expect(yield* segments.slots(0, "another")).toEqual([])
          })
        )
      })
    )

    const touching: ReadonlyArray<readonly [string, MemoryChange, ReadonlyArray<number>]> = [
      ["a memory is removed", { _tag: "Remove", slot: 1_023 }, [1]],
      ["a memory is replaced", put(1_024, memoryRecord(1_024, "y"), axisVector(9)), [0]],
      ["a memory is added", put(1_030, memoryRecord(1_030, "y"), axisVector(9)), [0]],
      ["a vector is stored", { _tag: "Embed", slot: 7, isPassage: false, vector: axisVector(9) }, [1]]
    ]
    for (const [what, change, left] of touching) {
      itShares(`are deleted by the commit in which ${what}, and no others are`, () =>
        Effect.gen(function* () {
          const directory = temporaryDirectory()
          yield* Effect.scoped(Effect.flatMap(filled(directory), (file) => file.commit(5, [unit([change])], 2)))
          yield* Effect.scoped(
            Effect.gen(function* () {
              const file = yield* opened(directory)
              expect([file.lastSeq, yield* file.segments.stored]).toEqual([6, left])
            })
          )
        })
      )
    }

    it.effect("stay when tags change, and when the commit fails", function* () {
      const file = yield* filled(temporaryDirectory())
      const record = { ...memoryRecord(0, "x"), tags: ["t"] }
      const patch: MemoryChange = { _tag: "Patch", slot: 0, record, columns: memoryColumns(record) }
      yield* file.commit(5, [unit([patch])], 2)
      const failing = put(9, memoryRecord(0, "the id of another slot"))
      yield* Effect.flip(file.commit(6, [unit([{ _tag: "Remove", slot: 1_024 }, failing])], 3))
      expect(yield* file.segments.stored).toEqual([0, 1])
    })

    it.effect(
      "are not saved when they were encoded before the last change, or by an owner who was replaced",
      function* () {
        const directory = temporaryDirectory()
        const older = yield* filled(directory)
        expect(yield* older.segments.save(4, 4, model, bytes)).toBe(false)
        if (!sharesFiles) return
        const newer = yield* opened(directory)
        yield* newer.commit(5, [unit([], "claims the file")], 2)
        expect(yield* older.segments.save(5, 4, model, bytes)).toBe(false)
        expect(yield* newer.segments.save(5, 4, model, bytes)).toBe(true)
        yield* newer.segments.discard([0, 3])
        expect(yield* newer.segments.stored).toEqual([1, 4])
      }
    )

    it.effect("have no common model when there are none, or several", function* () {
      const file = yield* opened(temporaryDirectory())
      expect(yield* file.segments.soleModel).toBeUndefined()
      const models = ["a", "b"].map((name, slot) => put(slot, memoryRecord(slot, "x"), axisVector(slot, 8, name)))
      yield* file.commit(0, [unit(models)], 1)
      expect(yield* file.segments.soleModel).toBeUndefined()
    })

    it.effect("leave ranges of slots, whose vectors alone are read", function* () {
      const file = yield* filled(temporaryDirectory())
      const slotsIn = Effect.fnUntraced(function* (ranges?: ReadonlyArray<SlotRange>) {
        const slots: Array<number> = []
        yield* file.whole((all) => all.eachVector(({ slot }) => slots.push(slot), ranges))
        return slots
      })
      expect(yield* slotsIn()).toEqual([0, 1_023, 1_024, 5_000])
      expect(yield* slotsIn([])).toEqual([])
      const ranges = [
        { from: 0, to: 1_023 },
        { from: 1_024, to: 5_000 }
      ]
      expect(yield* slotsIn(ranges)).toEqual([0, 1_024])
    })
  })

  describe(`${name}: a conversation`, () => {
    it.effect("comes back after a restart, scope by scope", function* () {
      const directory = temporaryDirectory()
      const scope = { subjectId: "s" }
      yield* Effect.scoped(
        Effect.gen(function* () {
          const file = yield* opened(directory)
          yield* file.commit(0, [unit([], undefined, advance([1, 2], { summary: "of nobody", expiresAt: 500 }))], 10)
          yield* file.commit(0, [unit([put(0, memoryRecord(1, "x"))], "token", advance([3], { scope }))], 20)
        })
      )
      yield* Effect.scoped(
        Effect.gen(function* () {
          const file = yield* opened(directory)
          const { conversations } = file
          const keys = [1, 2, 3].map((number) => turnOf(number).key)
          expect(yield* conversations.context({}, 499)).toMatchObject({
            turns: [turnOf(1), turnOf(2)],
            summary: "of nobody"
          })
          expect(yield* conversations.context({}, 500)).toMatchObject({ turns: [], summary: undefined })
          expect(yield* conversations.context(scope, 500)).toMatchObject({ turns: [turnOf(3)], summary: undefined })
          expect(yield* conversations.processed({}, keys)).toEqual(new Set(keys.slice(0, 2)))
          expect(yield* conversations.processed({ subjectId: "s", threadId: "t" }, keys)).toEqual(new Set())
          expect(conversations.nextExpiry).toBe(500)
          expect([yield* file.sweepConversations(499), yield* file.sweepConversations(500)]).toEqual([0, 3])
          expect(conversations.nextExpiry).toBeUndefined()
        })
      )
    })

    it.effect("is not stored when a later change of the commit fails", function* () {
      const directory = temporaryDirectory()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const file = yield* opened(directory)
          yield* file.commit(0, [unit([put(0, memoryRecord(1, "one"))])], 1)
          const failing = unit([put(5, memoryRecord(1, "the same id"))])
          yield* Effect.flip(file.commit(1, [unit([], undefined, advance([1], { summary: "s" })), failing], 2))
        })
      )
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { conversations } = yield* opened(directory)
          expect(yield* conversations.context({}, 0)).toMatchObject({ turns: [], summary: undefined })
          expect((yield* conversations.processed({}, [turnOf(1).key])).size).toBe(0)
        })
      )
    })

    it.effect("loses the sources of a removed memory, and everything when it is erased", function* () {
      yield* Effect.scoped(
        Effect.gen(function* () {
          const file = yield* opened(temporaryDirectory())
          const { conversations } = file
          const taken = memoryRecord(1, "x", { sources: [{ key: turnOf(1).key }] })
          yield* file.commit(0, [unit([put(0, taken)], undefined, advance([1, 2], { summary: "s" }))], 1)
          yield* file.commit(1, [unit([{ _tag: "Remove", slot: 0 }])], 2)
          expect(yield* conversations.context({}, 2)).toMatchObject({ turns: [turnOf(2)], summary: undefined })
          const forget = { _tag: "Forget", within: {} } as const
          expect(yield* conversations.finds(forget)).toBe(true)
          expect(yield* conversations.finds({ _tag: "Forget", within: { subjectId: "s" } })).toBe(false)
          yield* file.commit(2, [unit([], undefined, forget)], 3)
          expect(yield* conversations.finds(forget)).toBe(false)
          expect((yield* conversations.processed({}, [turnOf(1).key])).size).toBe(0)
        })
      )
    })

    it.effect("loses turns by age", function* () {
      yield* Effect.scoped(
        Effect.gen(function* () {
          const file = yield* opened(temporaryDirectory())
          yield* file.commit(0, [unit([], undefined, advance([1]))], 10)
          yield* file.commit(0, [unit([], undefined, advance([2]))], 20)
          const drop = (beforeMillis: number) => ({ _tag: "DropTurns", beforeMillis }) as const
          expect(yield* file.conversations.finds(drop(10))).toBe(false)
          expect(yield* file.conversations.finds(drop(20))).toBe(true)
          yield* file.commit(0, [unit([], undefined, drop(20))], 30)
          expect((yield* file.conversations.context({}, 30)).turns).toMatchObject([turnOf(2)])
        })
      )
    })
  })

  describe(`${name}: memories with the same content`, () => {
    it.effect("are found by content and subject, the last inserted first", function* () {
      yield* Effect.scoped(
        Effect.gen(function* () {
          const file = yield* opened(temporaryDirectory())
          const subjects = [undefined, "s", undefined, "t"]
          const changes = subjects.map((subjectId, at) => put(3 - at, memoryRecord(at, "same", { subjectId })))
          yield* file.commit(0, [unit([...changes, put(7, memoryRecord(7, "other"))])], 1)
          const { contentHash } = memoryRecord(0, "same")
          expect(yield* file.slotsOfContent(contentHash, undefined)).toEqual([1, 3])
          expect(yield* file.slotsOfContent(contentHash, "s")).toEqual([2])
          expect(yield* file.slotsOfContent(contentHash, "u")).toEqual([])
        })
      )
    })
  })
}
