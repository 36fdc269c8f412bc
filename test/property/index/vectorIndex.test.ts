/**
 * Differential test of the vector engines: random histories, in vectors of any width, given to all of them at
 * once. The exact engine must answer as a sorted map does; the others must give its scores, rank by rank.
 */
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { indexPins } from "@muniment/engine/vectors/planner/Planner"
import type { SearchHits } from "@muniment/engine/vectors/VectorIndex"
import fc from "fast-check"
import { expect, it } from "vitest"
import { expectSound, type IndexUnderTest, workAll, workOnce } from "../../support/indexConformanceCheck.ts"
import { exactEngine, hnswEngine, plannedEngine, quantizedEngine } from "../../support/indexConformanceEngines.ts"
import { Oracle, type VectorKind, vectorKinds, vectorsOf } from "../../support/indexConformanceVectors.ts"
import { repetitions } from "../../support/Repetitions.ts"

const graph = await hnswEngine()
const planned = await Promise.all(indexPins.map(plannedEngine))
const approximate = [graph, quantizedEngine, ...planned]

const slots = 90
const poolSize = 120
const pools = new Map<string, ReadonlyArray<Float32Array>>()
const poolOf = (kind: VectorKind, dims: number): ReadonlyArray<Float32Array> => {
  const known = pools.get(`${kind} ${dims}`) ?? vectorsOf(kind, dims, dims, poolSize, 0).rows
  pools.set(`${kind} ${dims}`, known)
  return known
}

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
const row = fc.nat({ max: poolSize - 1 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("upsert" as const), slot, row }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("remove" as const), slot }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("work" as const), times: fc.integer({ min: 1, max: 30 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("search" as const),
      row,
      k: fc.integer({ min: 0, max: slots }),
      allowed: fc.option(fc.uniqueArray(slot), { nil: undefined })
    })
  }
)
const story = fc.record({
  kind: fc.constantFrom(...vectorKinds),
  dims: fc.constantFrom(1, 2, 3, 12, 16, 63, 64, 65, 130),
  steps: fc.array(step, { minLength: 40, maxLength: 250 })
})

/** One estimate in two thousand may hide a row, and one row too few moves the others up by one. */
const expectSameScores = (hits: SearchHits, exact: SearchHits, name: string): void => {
  const missing = [...exact.scores]
  for (const score of hits.scores) {
    const at = missing.indexOf(score)
    if (at !== -1) missing.splice(at, 1)
  }
  expect(missing.length, `${name}: scores that were not found`).toBeLessThanOrEqual(1)
}

it("any history of changes and searches is answered by the exact engine as by a sorted map, and by all others with its scores", () => {
  fc.assert(
    fc.property(story, ({ dims, kind, steps }) => {
      const pool = poolOf(kind, dims)
      const exact = exactEngine.make(dims)
      const others = approximate.map((engine) => ({ name: engine.name, index: engine.make(dims) }))
      const all: ReadonlyArray<IndexUnderTest> = [exact, ...others.map(({ index }) => index)]
      const oracle = new Oracle()
      for (const [seq, step] of steps.entries()) {
        if (step.kind === "upsert") {
          oracle.rows.set(step.slot, pool[step.row]!)
          for (const index of all) index.upsert(step.slot, pool[step.row]!, seq)
        } else if (step.kind === "remove") {
          oracle.rows.delete(step.slot)
          for (const index of all) index.remove(step.slot, seq)
        } else if (step.kind === "work") {
          for (const index of all) for (let i = 0; i < step.times; i++) workOnce(index)
        } else {
          const query = pool[step.row]!
          const allowed = step.allowed && Bitmap.of(step.allowed)
          expectSound(exact, oracle, query, step.k, allowed)
          const right = exact.search(query, step.k, allowed)
          for (const { index, name } of others) {
            expectSound(index, oracle, query, step.k, allowed)
            expectSameScores(index.search(query, step.k, allowed), right, name)
          }
        }
      }
      for (const index of all) {
        workAll(index)
        expectSound(index, oracle, pool[0]!, slots, undefined)
        index.close()
      }
    }),
    { numRuns: repetitions(60) }
  )
})
