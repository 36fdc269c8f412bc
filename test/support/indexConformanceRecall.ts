/** Part of the conformance suite: what is found, with which scores, in collections of every size and kind. */
import { describe, expect, it } from "vitest"
import { expectSound, filled, practise, Recall, workAll, type EngineUnderTest } from "./indexConformanceCheck.ts"
import { everyDay } from "./Repetitions.ts"
import { isNoise, Oracle, vectorKinds, vectorsOf, type VectorKind } from "./indexConformanceVectors.ts"

/** Around the width of a kernel's step, and those of models. */
const dimensions = everyDay(4, [3, 65, 16, 384, 1, 12, 63, 64, 768])
/** Around a block of 32 vectors. */
const fewVectors = [0, 1, 2, 31, 32, 33]
const depths = [10, 100]
const queryCount = 12

export const recallConformance = (engine: EngineUnderTest): void => {
  describe("finds", () => {
    it.each(dimensions)("a few vectors of %d dimensions exactly as sorting them does, whatever they are", (dims) => {
      for (const kind of vectorKinds) for (const count of fewVectors) expectExact(engine, kind, count, dims)
    })

    it.each(everyDay(5, vectorKinds))("the best 10 and 100 of vectors %s in each of its forms", (kind) => {
      const dims = 64
      for (const size of engine.sizes) {
        const { queries, rows } = vectorsOf(kind, size, dims, size, queryCount)
        const index = filled(engine, rows, dims)
        const oracle = Oracle.of(rows.entries())
        const least = isNoise(kind) ? engine.recallOfNoiseMin : engine.recallMin
        const truth = queries.map((query) => oracle.best(query, Math.max(...depths), undefined))
        for (const round of ["at first", "after some searches"]) {
          for (const k of depths) {
            const recall = new Recall()
            for (const [at, query] of queries.entries())
              expectSound(index, oracle, query, k, undefined, recall, truth[at]!.slice(0, k))
            expect(recall.share, `${size} vectors, k ${k}, ${round}`).toBeGreaterThanOrEqual(least)
          }
          practise(index, queries)
        }
        index.close()
      }
    })

    it("as much for other queries after one query, or its own rows, were searched again and again", () => {
      const dims = 64
      const size = engine.sizes.at(-1)!
      const { queries, rows } = vectorsOf("clustered", 17, dims, size, 40)
      const oracle = Oracle.of(rows.entries())
      const asked = { "one thing": rows.slice(0, 1), "its own rows": rows.slice(0, 64) }
      for (const [told, before] of Object.entries(asked)) {
        const index = filled(engine, rows, dims)
        for (let round = 0; round < 3; round++) practise(index, before)
        for (const k of depths) {
          const recall = new Recall()
          for (const query of queries) expectSound(index, oracle, query, k, undefined, recall)
          expect(recall.share, `after ${told}, k ${k}`).toBeGreaterThanOrEqual(engine.recallMin)
        }
        index.close()
      }
    })

    it("nothing for k = 0, and everything for a k beyond its size", () => {
      const dims = 12
      for (const size of engine.sizes) {
        const { queries, rows } = vectorsOf("clustered", 7, dims, size, 2)
        const index = filled(engine, rows, dims)
        const oracle = Oracle.of(rows.entries())
        for (const query of queries) {
          expectSound(index, oracle, query, 0, undefined)
          for (const k of [size - 1, size, size + 1, 3 * size]) expectSound(index, oracle, query, k, undefined)
        }
        index.close()
      }
    })

    it("with the exact engine's scores to the last bit, before and after its background work", () => {
      for (const dims of [12, 384]) {
        const size = Math.min(engine.sizes.at(-1)!, dims === 384 ? 3_000 : Infinity)
        const { queries, rows } = vectorsOf("clustered", 11, dims, size, 5)
        const [index, exact] = [engine.make(dims), engine.exact(dims)]
        for (const [slot, row] of rows.entries()) for (const one of [index, exact]) one.upsert(slot, row, slot)
        for (const round of ["before", "after"]) {
          for (const query of queries) {
            const all = exact.search(query, size, undefined)
            const scores = new Map(Array.from(all.slots, (slot, at) => [slot, all.scores[at]] as const))
            const hits = index.search(query, 100, undefined)
            for (const [at, slot] of hits.slots.entries()) expect(hits.scores[at], round).toBe(scores.get(slot))
          }
          workAll(index)
        }
        index.close()
      }
    })
  })

  describe("refuses", () => {
    it("a query or a vector of another width, and a vector that is not finite, and stays as it was", () => {
      const dims = 12
      const { queries, rows } = vectorsOf("clustered", 5, dims, 100, 3)
      const index = filled(engine, rows, dims)
      const oracle = Oracle.of(rows.entries())
      for (const wrong of [0, 1, dims - 1, dims + 1, 2 * dims]) {
        expect(() => index.search(new Float32Array(wrong), 10, undefined), `${wrong} dimensions`).toThrow(RangeError)
        expect(() => index.upsert(3, new Float32Array(wrong).fill(0.1), 1_000)).toThrow(RangeError)
      }
      for (const bad of [Number.NaN, Infinity, -Infinity]) {
        const vector = Float32Array.from(rows[0]!, (x, i) => (i === dims - 1 ? bad : x))
        expect(() => index.upsert(3, vector, 1_000), String(bad)).toThrow(RangeError)
        expect(() => index.upsert(500, vector, 1_000), String(bad)).toThrow(RangeError)
      }
      expect(index.size).toBe(100)
      for (const query of queries) expectSound(index, oracle, query, 50, undefined)
    })

    it("an invalid number of results, and stays as it was", () => {
      const dims = 12
      const { queries, rows } = vectorsOf("clustered", 6, dims, 100, 3)
      const index = filled(engine, rows, dims)
      for (const k of [-1, 0.5, Number.NaN])
        expect(() => index.search(queries[0]!, k, undefined), `k ${k}`).toThrow(RangeError)
      index.upsert(100, rows[0]!, 1_000)
      const oracle = Oracle.of([...rows, rows[0]!].entries())
      for (const query of queries) expectSound(index, oracle, query, 50, undefined)
      index.close()
    })

    it("an invalid slot or one beyond the bound, and accepts those within it", () => {
      const index = engine.make(3)
      const vector = Float32Array.of(1, 0, 0)
      for (const slot of [-1, 0.5, Number.NaN, 16_777_216])
        expect(() => index.upsert(slot, vector, 1), String(slot)).toThrow(RangeError)
      expect(index.size).toBe(0)
      index.upsert(70_000, vector, 1)
      expect([...index.search(vector, 10, undefined).slots]).toEqual([70_000])
    })
  })

  describe("accepts", () => {
    it("vectors of zeros, of the smallest and of the largest numbers, without a NaN score", () => {
      const dims = 16
      const { rows } = vectorsOf("clustered", 13, dims, 60, 0)
      const index = filled(engine, rows, dims)
      const odd = [0, 1e-45, 1e-38, 1e-30, 1e-10, 1e10].map((scale) => rows[0]!.map((x) => x * scale))
      for (const [at, vector] of odd.entries()) index.upsert(60 + at, vector, 100)
      workAll(index)
      for (const query of [rows[0]!, ...odd]) {
        const hits = index.search(query, 66, undefined)
        expect(hits.slots.length).toBe(66)
        for (const score of hits.scores) expect(Number.isNaN(score)).toBe(false)
      }
      for (let slot = 60; slot < 66; slot++) index.remove(slot, 200)
      workAll(index)
      expectSound(index, Oracle.of(rows.entries()), rows[0]!, 60, undefined)
    })
  })
}

/** Small collections leave no engine an excuse: what is found is right to the slot, but for the codes' error. */
const expectExact = (engine: EngineUnderTest, kind: VectorKind, count: number, dims: number): void => {
  const { queries, rows } = vectorsOf(kind, dims, dims, count, 3)
  const index = filled(engine, rows, dims)
  const oracle = Oracle.of(rows.entries())
  const told = `${count} vectors ${kind}`
  expect(index.size, told).toBe(count)
  for (const query of queries) {
    for (const k of [0, 1, 10, 100]) {
      const recall = expectSound(index, oracle, query, k, undefined)
      expect(recall.wanted - recall.found, told).toBeLessThanOrEqual(1)
    }
  }
  index.close()
}
