/**
 * Random histories of an index against a model that sorts a plain map: the exact engine must agree
 * to the last tie, the graph in everything but rank, and the planner keep its recall under filters.
 */
import { Bitmap } from "@muniment/engine/index/Bitmap"
import { ExactIndex } from "@muniment/engine/index/ExactIndex"
import { HnswIndex } from "@muniment/engine/index/HnswIndex"
import { PlannedIndex } from "@muniment/engine/index/PlannedIndex"
import { VectorArena } from "@muniment/engine/index/VectorArena"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { seededRandom } from "../../../bench/index/clusteredVectors.ts"
import {
  buildAll,
  clustered,
  hnswlib,
  oracleOf,
  pairs,
  recallOf,
  stoppedClock
} from "../../unit/engine/index/indexFixtures.ts"

const dims = 12
const slots = 48
const pool = clustered(5, 64, dims).rows
const poolRow = (i: number): Float32Array => pool[i] ?? new Float32Array(dims)

type Step =
  | { readonly kind: "upsert"; readonly slot: number; readonly row: number }
  | { readonly kind: "remove"; readonly slot: number }
  | { readonly kind: "work"; readonly times: number }
  | {
      readonly kind: "search"
      readonly row: number
      readonly k: number
      readonly allowed: ReadonlyArray<number> | undefined
    }

const slot = fc.nat({ max: slots - 1 })
const row = fc.nat({ max: pool.length - 1 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("upsert" as const), slot, row }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("remove" as const), slot }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("work" as const), times: fc.integer({ min: 1, max: 20 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("search" as const),
      row,
      k: fc.integer({ min: 0, max: 60 }),
      allowed: fc.option(fc.uniqueArray(slot), { nil: undefined })
    })
  }
)
const history = fc.array(step, { minLength: 20, maxLength: 200 })

const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, x, i) => sum + x * (b[i] ?? 0), 0)

describe("any history of changes and searches", () => {
  it("is answered by the exact engine as by sorting all vectors", () => {
    fc.assert(
      fc.property(history, (steps) => {
        const arena = new VectorArena(dims)
        const index = new ExactIndex(arena)
        const model = new Map<number, Float32Array>()
        steps.forEach((step, seq) => {
          if (step.kind === "upsert") {
            model.set(step.slot, poolRow(step.row))
            index.upsert(step.slot, poolRow(step.row), seq)
          } else if (step.kind === "remove") {
            model.delete(step.slot)
            index.remove(step.slot, seq)
          } else if (step.kind === "search") {
            const query = poolRow(step.row)
            const right = [...model.keys()]
              .filter((slot) => step.allowed?.includes(slot) ?? true)
              .map((slot) => [slot, arena.dot(slot, query)] as const)
              .sort((a, b) => b[1] - a[1] || a[0] - b[0])
              .slice(0, step.k)
            const hits = index.search(query, step.k, step.allowed && Bitmap.of(step.allowed))
            expect(pairs(hits)).toEqual(right)
            for (const [slot, score] of right) expect(score).toBeCloseTo(dot(model.get(slot) ?? query, query), 4)
          }
          expect(index.size).toBe(model.size)
        })
      }),
      { numRuns: 150 }
    )
  })

  it("is answered by the graph with the same scores as by the exact engine, also when replayed", () => {
    fc.assert(
      fc.property(history, (steps) => {
        const index = new HnswIndex(hnswlib, new VectorArena(dims))
        const oracle = new ExactIndex(new VectorArena(dims))
        const replay: Array<() => void> = []
        steps.forEach((step, seq) => {
          if (step.kind === "work") {
            for (let i = 0; i < step.times; i++) index.work(0, stoppedClock)
          } else if (step.kind === "search") {
            const allowed = step.allowed && Bitmap.of(step.allowed)
            const hits = index.search(poolRow(step.row), step.k, allowed)
            // Equal vectors may stand in for each other, so ranks are compared by score.
            expect(hits.scores).toEqual(oracle.search(poolRow(step.row), step.k, allowed).scores)
            for (const slot of hits.slots) expect(allowed?.has(slot) ?? true).toBe(true)
          } else {
            for (const target of [index, oracle]) {
              const apply = () =>
                step.kind === "upsert"
                  ? target.upsert(step.slot, poolRow(step.row), seq)
                  : target.remove(step.slot, seq)
              apply()
              if (target === index) replay.push(apply)
            }
          }
        })
        for (const apply of replay.slice(-10)) apply()
        buildAll(index)
        expect(index.search(poolRow(0), slots, undefined).scores).toEqual(
          oracle.search(poolRow(0), slots, undefined).scores
        )
        expect(index.stats().live).toBe(oracle.size)
      }),
      { numRuns: 100 }
    )
  })

  it("leaves the planner a recall of at least .98 at every selectivity", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), (seed) => {
        const { rows, queries } = clustered(seed, 10_000, 32)
        const index = new PlannedIndex({ dims: 32, hnswlib, pin: "auto" })
        const current = new Map<number, Float32Array>()
        const put = (slot: number, vector: Float32Array, seq: number) => {
          current.set(slot, vector)
          index.upsert(slot, vector, seq)
        }
        for (let slot = 0; slot < 7_000; slot++) put(slot, rows[slot] ?? new Float32Array(32), 1)
        buildAll(index)
        for (let slot = 0; slot < 900; slot++) put(slot, rows[7_000 + slot] ?? new Float32Array(32), 2)
        for (let slot = 900; slot < 1_200; slot++) {
          current.delete(slot)
          index.remove(slot, 2)
        }
        const oracle = oracleOf(current, 32)
        const random = seededRandom(seed)
        expect(index.plan(10, undefined).engine).toBe("hnsw")
        for (const share of [1, 0.5, 0.1, 0.01, 0.001]) {
          const allowed = new Bitmap()
          for (const slot of current.keys()) if (random() < share) allowed.set(slot)
          expect(recallOf(index, oracle, queries, 10, share === 1 ? undefined : allowed)).toBeGreaterThanOrEqual(0.98)
        }
      }),
      { numRuns: 3 }
    )
  }, 60_000)
})
