/** Strict search against exact inner products of float32 vectors, on sets that 8-bit scores order wrongly. */
import { loadKernels } from "@muniment/engine/vectors/arena/Kernels"
import { Slab, SlabPool } from "@muniment/engine/vectors/arena/Slab"
import { VectorArena } from "@muniment/engine/vectors/arena/VectorArena"
import { PlannedIndex } from "@muniment/engine/vectors/planner/PlannedIndex"
import { innerProduct } from "@muniment/engine/namespace/exactCosines"
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { Limits } from "@muniment/domain/Limits"
import { describe, expect, it } from "vitest"
import { distributions } from "../../../../bench/index/distributions.ts"
import { queriesOf, rowOf, type VectorSet } from "../../../../bench/index/VectorSet.ts"

const kernels = loadKernels()
const count = 2_000
const k = 10
const allSlots = Array.from({ length: count }, (_, slot) => slot)

const indexOf = (set: VectorSet): PlannedIndex => {
  const index = new PlannedIndex({ dims: set.dims, slabs: new SlabPool(kernels), hnswlib: undefined, pin: "auto" })
  for (let slot = 0; slot < set.count; slot++) index.upsert(slot, rowOf(set, slot), slot)
  while (index.work(1_000, () => performance.now()) > 0);
  return index
}

/** The k best of these slots by float32, the higher slot first on a tie. */
const ranked = (set: VectorSet, query: Float32Array, slots: Iterable<number>): ReadonlyArray<number> =>
  Array.from(slots)
    .map((slot) => ({ slot, cosine: innerProduct(query, rowOf(set, slot)) }))
    .sort((left, right) => right.cosine - left.cosine || right.slot - left.slot)
    .slice(0, k)
    .map(({ slot }) => slot)

describe.each(distributions.map((make) => make(count, 12, 11)))("strict search of $name", (set) => {
  it("has the ten best by float32 among its hits, certified", () => {
    const index = indexOf(set)
    for (const query of queriesOf(set)) {
      const { plan, slots } = index.searchStrict(query, { certain: k, kept: k }, undefined)
      expect(plan.isCertified).toBe(true)
      expect(ranked(set, query, slots)).toEqual(ranked(set, query, allSlots))
    }
  })

  it("has them behind a filter too", () => {
    const index = indexOf(set)
    const allowed = new Bitmap()
    const passing = allSlots.filter((slot) => slot % 7 === 0)
    for (const slot of passing) allowed.set(slot)
    for (const query of queriesOf(set)) {
      const { slots } = index.searchStrict(query, { certain: k, kept: k }, allowed)
      expect(ranked(set, query, slots)).toEqual(ranked(set, query, passing))
    }
  })

  it("bounds every score from both sides", () => {
    const arena = new VectorArena(set.dims, new Slab(kernels))
    for (let slot = 0; slot < count; slot++) arena.set(slot, rowOf(set, slot), slot)
    const residuals = arena.residuals(allSlots)
    expect(Math.max(...residuals)).toBe(Math.fround(arena.residualMax))
    for (const query of queriesOf(set)) {
      const prepared = arena.prepare(query)
      const bounds = arena.boundsOf(prepared)
      const scores = arena.scores(prepared, allSlots)
      const broken = allSlots.filter((slot) => {
        const truth = innerProduct(query, rowOf(set, slot))
        const score = scores[slot]!
        const residual = residuals[slot]!
        return truth > bounds.upper(score, residual) || truth < bounds.lower(score, residual)
      })
      expect(broken).toEqual([])
    }
  })
})

it("a strict search that cannot be certain says so when more vectors are equal than it may read", () => {
  const index = new PlannedIndex({ dims: 64, slabs: new SlabPool(kernels), hnswlib: undefined, pin: "auto" })
  const vector = new Float32Array(64).fill(0.125)
  for (let slot = 0; slot <= Limits.strictHitsMax; slot++) index.upsert(slot, vector, slot)
  const { plan, slots } = index.searchStrict(vector, { certain: k, kept: k }, undefined)
  expect([plan.isCertified, slots.length]).toEqual([false, Limits.strictHitsMax])
})
