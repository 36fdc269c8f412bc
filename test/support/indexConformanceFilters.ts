/** Part of the conformance suite: a search within a filter, from half of all slots down to none. */
import { describe, expect, it } from "vitest"
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"
import { expectSound, filled, practise, Recall, type EngineUnderTest } from "./indexConformanceCheck.ts"
import { Oracle, vectorsOf } from "./indexConformanceVectors.ts"

const dims = 48
const queryCount = 20
const shares = [0.5, 0.1, 0.01, 0.001]

export const filterConformance = (engine: EngineUnderTest): void => {
  describe("within a filter", () => {
    const size = engine.sizes.at(-1)!
    const { queries, rows } = vectorsOf("clustered", 21, dims, size, queryCount)
    const oracle = Oracle.of(rows.entries())

    it("of 50, 10, 1 and 0.1 % finds the best of what is allowed: spread, near the query, far from it", () => {
      const index = filled(engine, rows, dims)
      practise(index, queries)
      const near = oracle.best(queries[0]!, size, undefined).map(({ slot }) => slot)
      const random = seededSequence(3)
      for (const share of shares) {
        const count = Math.ceil(size * share)
        const filters = {
          spread: Bitmap.of(rows.keys().filter(() => random() < share)),
          near: Bitmap.of(near.slice(0, count)),
          far: Bitmap.of(near.slice(-count))
        }
        for (const [kind, allowed] of Object.entries(filters)) {
          for (const k of [10, 100]) {
            const recall = new Recall()
            for (const query of queries) expectSound(index, oracle, query, k, allowed, recall)
            expect(recall.share, `${share} ${kind}, k ${k}`).toBeGreaterThanOrEqual(engine.recallMin)
          }
        }
      }
      index.close()
    })

    it("that is empty, one slot, one word, full, or longer or shorter than the index never leaves it", () => {
      const index = filled(engine, rows, dims)
      practise(index, queries)
      const everything = Bitmap.of(rows.keys())
      const filters = [
        new Bitmap(),
        new Bitmap(new Uint32Array(0)),
        Bitmap.of([0]),
        Bitmap.of([size - 1]),
        new Bitmap(Uint32Array.of(0xffffffff)),
        Bitmap.of([size, size + 31, size + 32, 2_000_000]),
        Bitmap.of([1, 2, 3, 2_000_000]),
        everything,
        Bitmap.of([...rows.keys(), size + 5, 200_000])
      ]
      for (const allowed of filters) for (const k of [1, 10, 100]) expectSound(index, oracle, queries[1]!, k, allowed)
      expect(index.search(queries[1]!, 10, everything)).toEqual(index.search(queries[1]!, 10, undefined))
      index.close()
    })

    it("whose slots are mostly dead finds the living, and those only", () => {
      const index = filled(engine, rows, dims)
      practise(index, queries)
      const left = Oracle.of(rows.entries())
      for (let slot = 0; slot < size; slot++) {
        if (slot % 10 === 3) continue
        index.remove(slot, size + 1)
        left.rows.delete(slot)
      }
      const random = seededSequence(4)
      const half = Bitmap.of(rows.keys().filter(() => random() < 0.5))
      const dead = Bitmap.of(rows.keys().filter((slot) => slot % 10 !== 3))
      const recall = new Recall()
      for (const query of queries)
        for (const allowed of [half, dead, Bitmap.of([3, 4, 5, 13])])
          expectSound(index, left, query, 10, allowed, recall)
      expect(recall.share).toBeGreaterThanOrEqual(engine.recallMin)
      index.close()
    })

    it("is not changed by the search", () => {
      const index = filled(engine, rows, dims)
      practise(index, queries)
      const allowed = Bitmap.of(rows.keys().filter((slot) => slot % 3 === 0))
      const before = allowed.words.slice()
      const query = queries[0]!.slice()
      index.search(query, 10, allowed)
      expect(allowed.words).toEqual(before)
      expect(query).toEqual(queries[0])
      index.close()
    })
  })
}
