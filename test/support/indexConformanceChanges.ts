/**
 * Part of the conformance suite: any sequence of changes between searches, growth and shrinking over every threshold,
 * vectors whose distribution changes, and changes that are replayed.
 */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"
import { expectSound, filled, Recall, workAll, workOnce, type EngineUnderTest } from "./indexConformanceCheck.ts"
import { Oracle, vectorsOf } from "./indexConformanceVectors.ts"
import { repetitions } from "./Repetitions.ts"

const dims = 32
const historySlots = 70
const pool = vectorsOf("clustered", 31, dims, 100, 0).rows
const poolRow = (at: number): Float32Array => pool[at % pool.length]!

/** `age` is how many changes older than now a change says it is: an old one is to be ignored. */
type Step =
  | { readonly kind: "upsert"; readonly slot: number; readonly row: number; readonly age: number }
  | { readonly kind: "remove"; readonly slot: number; readonly age: number }
  | { readonly kind: "work"; readonly times: number }
  | {
      readonly kind: "search"
      readonly row: number
      readonly k: number
      readonly allowed: ReadonlyArray<number> | undefined
    }

const slot = fc.nat({ max: historySlots - 1 })
const row = fc.nat({ max: pool.length - 1 })
const age = fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 40 }) })
const history: fc.Arbitrary<ReadonlyArray<Step>> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ kind: fc.constant("upsert" as const), slot, row, age }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("remove" as const), slot, age }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("work" as const), times: fc.integer({ min: 1, max: 20 }) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("search" as const),
        row,
        k: fc.integer({ min: 0, max: 80 }),
        allowed: fc.option(fc.uniqueArray(slot), { nil: undefined })
      })
    }
  ),
  { minLength: 30, maxLength: 300 }
)

/** What the index has to hold: the last change of each slot by sequence number. */
class Model {
  readonly oracle = new Oracle()
  readonly #seqs = new Map<number, number>()

  upsert(slot: number, vector: Float32Array, seq: number): void {
    if (this.#isNew(slot, seq)) this.oracle.rows.set(slot, vector)
  }

  remove(slot: number, seq: number): void {
    if (this.#isNew(slot, seq)) this.oracle.rows.delete(slot)
  }

  #isNew(slot: number, seq: number): boolean {
    if (seq < (this.#seqs.get(slot) ?? -1)) return false
    this.#seqs.set(slot, seq)
    return true
  }
}

export const changesConformance = (engine: EngineUnderTest): void => {
  describe("under changes", () => {
    it("answers any sequence of upserts, removals, outdated changes and background work as a sorted map does", () => {
      fc.assert(
        fc.property(history, (steps) => {
          const index = engine.make(dims)
          const model = new Model()
          for (const [at, step] of steps.entries()) {
            if (step.kind === "work") for (let i = 0; i < step.times; i++) workOnce(index)
            else if (step.kind === "search") {
              const allowed = step.allowed && Bitmap.of(step.allowed)
              const recall = expectSound(index, model.oracle, poolRow(step.row), step.k, allowed)
              expect(recall.wanted - recall.found).toBeLessThanOrEqual(1)
            } else {
              const seq = Math.max(0, at - step.age)
              const isHeld = model.oracle.rows.has(step.slot)
              for (const target of [index, model])
                if (step.kind === "upsert") target.upsert(step.slot, poolRow(step.row), seq)
                else if (isHeld) target.remove(step.slot, seq)
            }
            expect(index.size).toBe(model.oracle.rows.size)
          }
          workAll(index)
          const recall = expectSound(index, model.oracle, poolRow(0), historySlots, undefined)
          expect(recall.found).toBe(recall.wanted)
          index.close()
        }),
        { numRuns: repetitions(60) }
      )
    })

    it("keeps its recall while it grows over every threshold, is thinned out, and grows again", () => {
      const size = engine.sizes.at(-1)!
      const { queries, rows } = vectorsOf("clustered", 41, dims, size, 10)
      const index = engine.make(dims)
      const oracle = new Oracle()
      let seq = 0
      const expectRecall = (told: string) => {
        const recall = new Recall()
        for (const query of queries) expectSound(index, oracle, query, 10, undefined, recall)
        expect(recall.share, `${told}, ${oracle.rows.size} live`).toBeGreaterThanOrEqual(engine.recallMin)
      }
      const step = Math.ceil(size / 8)
      const put = (slot: number, row: number) => {
        index.upsert(slot, rows[row]!, ++seq)
        oracle.rows.set(slot, rows[row]!)
      }
      for (let slot = 0; slot < size; slot++) {
        put(slot, slot)
        // Some work between writes, never enough to be done, then all of it.
        if (slot % 64 === 0) workOnce(index)
        if (slot % step === 0) expectRecall("growing")
      }
      workAll(index)
      expectRecall("grown")
      for (let slot = 0; slot < size; slot++) {
        if (slot % 50 === 0) continue
        index.remove(slot, ++seq)
        oracle.rows.delete(slot)
        if (slot % 64 === 1) workOnce(index)
        if (slot % step === 1) expectRecall("thinning")
      }
      workAll(index)
      expectRecall("thinned")
      for (let slot = 0; slot < size; slot += 2) put(slot, (slot * 3 + 1) % size)
      expectRecall("refilled")
      workAll(index)
      expectRecall("refilled, at rest")
      index.close()
    })

    it("keeps its recall when the distribution of the vectors changes, also while it is rebuilt", () => {
      const size = engine.sizes.at(-1)!
      const { rows: before } = vectorsOf("clustered", 51, dims, size, 0)
      const { queries, rows: after } = vectorsOf("in one half-space", 52, dims, size, 10)
      const index = filled(engine, before, dims)
      const oracle = Oracle.of(before.entries())
      let seq = size + 1
      for (let part = 0; part < 4; part++) {
        for (let slot = part; slot < size; slot += 4) {
          index.upsert(slot, after[slot]!, ++seq)
          oracle.rows.set(slot, after[slot]!)
          if (slot % 100 === part) workOnce(index)
        }
        const recall = new Recall()
        for (const query of queries) expectSound(index, oracle, query, 10, undefined, recall)
        expect(recall.share, `moved by ${(part + 1) / 4}`).toBeGreaterThanOrEqual(engine.recallMin)
      }
      workAll(index)
      const recall = new Recall()
      for (const query of queries) expectSound(index, oracle, query, 10, undefined, recall)
      expect(recall.share).toBeGreaterThanOrEqual(engine.recallMin)
      index.close()
    })

    it("answers nothing after everything was removed, and finds what is added afterwards", () => {
      for (const size of engine.sizes) {
        const { queries, rows } = vectorsOf("clustered", 61, dims, size, 40)
        const index = filled(engine, rows, dims)
        // What an engine may still have to learn from when there is nothing left.
        for (const query of queries) index.search(query, 10, undefined)
        for (let slot = 0; slot < size; slot++) index.remove(slot, size + slot + 2)
        expect(index.size).toBe(0)
        for (const round of ["before work", "after work"]) {
          expect(index.search(queries[0]!, 10, undefined).slots, round).toHaveLength(0)
          expect(index.search(queries[0]!, 10, Bitmap.of([0, 1])).slots, round).toHaveLength(0)
          expect(index.stats(), round).toMatchObject({ live: 0, pending: 0 })
          workAll(index)
        }
        index.upsert(size - 1, rows[0]!, 3 * size)
        expectSound(index, Oracle.of([[size - 1, rows[0]!]]), queries[0]!, 10, undefined)
        index.close()
      }
    })

    it("has the same answer for a tail of changes applied once, twice, or overlapping", () => {
      const { queries, rows } = vectorsOf("clustered", 71, dims, 400, 5)
      const tail = changesOf(rows, 600)
      const answers = [[tail], [tail, tail], [tail.slice(0, 400), tail.slice(200)], [tail, tail.slice(300)]].map(
        (parts) => {
          const index = engine.make(dims)
          for (const part of parts) {
            for (const change of part) change(index)
            workAll(index)
          }
          const found = queries.map((query) => index.search(query, 400, undefined))
          index.close()
          return found
        }
      )
      for (const found of answers.slice(1)) expect(found).toEqual(answers[0])
    })

    it("ends with the same vectors when a tail arrives in any order: the last number of a slot decides", () => {
      const { queries, rows } = vectorsOf("clustered", 71, dims, 400, 5)
      const tail = changesOf(rows, 600)
      const random = seededSequence(10)
      for (let trial = 0; trial < 4; trial++) {
        const [index, straight] = [engine.make(dims), engine.make(dims)]
        for (const change of tail) change(straight)
        const order = tail.map((change) => [random(), change] as const).sort((a, b) => a[0] - b[0])
        for (const [, change] of order) change(index)
        for (const query of queries)
          expect(index.search(query, 400, undefined)).toEqual(straight.search(query, 400, undefined))
        for (const one of [index, straight]) one.close()
      }
    })

    it("is deterministic: the same changes and the same slices of work give the same answers", () => {
      const size = engine.sizes.at(-1)!
      const { queries, rows } = vectorsOf("clustered", 81, dims, size, 10)
      const [first, second] = [0, 1].map(() => {
        const index = filled(engine, rows, dims)
        for (let slot = 0; slot < size; slot += 3) {
          index.remove(slot, size + 1)
          if (slot % 2 === 0) index.upsert(slot, rows[(slot + 7) % size]!, size + 2)
          if (slot % 99 === 0) workOnce(index)
        }
        const found = queries.map((query) => index.search(query, 30, undefined))
        index.close()
        return found
      })
      expect(first).toEqual(second)
    })

    it("leaves no work when closed, and may be closed twice", () => {
      const { rows } = vectorsOf("clustered", 91, dims, 200, 0)
      const index = filled(engine, rows, dims)
      index.close()
      expect(workOnce(index)).toBe(0)
      index.close()
    })
  })
}

type Change = (index: { readonly upsert: ChangeSlot; readonly remove: (slot: number, seq: number) => void }) => void
type ChangeSlot = (slot: number, vector: Float32Array, seq: number) => void

/** Changes in the order of their numbers, upserts and removals of few slots. */
const changesOf = (rows: ReadonlyArray<Float32Array>, count: number): ReadonlyArray<Change> => {
  const random = seededSequence(9)
  return Array.from({ length: count }, (_, seq): Change => {
    const changed = Math.floor(random() * 120)
    const vector = rows[seq % rows.length]!
    return random() < 0.7 ? (index) => index.upsert(changed, vector, seq) : (index) => index.remove(changed, seq)
  })
}
