/** Where 8-bit scores leave open which vectors are the best: measured errors, and crowds at the last place. */
import { describe, expect, it } from "vitest"
import { loadKernels } from "@muniment/engine/vectors/arena/Kernels"
import { openFrom, scoreDeviation } from "@muniment/engine/vectors/arena/ScoreBounds"
import { SlabPool } from "@muniment/engine/vectors/arena/Slab"
import { VectorArena } from "@muniment/engine/vectors/arena/VectorArena"
import { innerProduct } from "@muniment/engine/namespace/exactCosines"
import { isotropicVectors } from "../../../../bench/index/syntheticVectors.ts"
import { queriesOf, rowOf } from "../../../../bench/index/VectorSet.ts"

it("the deviation of a score is that of real rows", () => {
  const set = isotropicVectors(500, 4, 1)
  const arena = new VectorArena(set.dims, new SlabPool(loadKernels()).take())
  const slots = Array.from({ length: set.count }, (_, slot) => slot)
  for (const slot of slots) arena.set(slot, rowOf(set, slot), slot)
  const errors = queriesOf(set).flatMap((query) =>
    [...arena.scores(arena.prepare(query), slots)].map((score, slot) => {
      const truth = innerProduct(query, rowOf(set, slot))
      return (score - truth) / scoreDeviation(truth, set.dims)
    })
  )
  const deviation = Math.sqrt(errors.reduce((sum, error) => sum + error * error, 0) / errors.length)
  expect(deviation).toBeGreaterThan(0.7)
  expect(deviation).toBeLessThan(1.3)
  arena.close()
})

describe("the last place", () => {
  const dims = 384
  const apart = Array.from({ length: 20 }, (_, at) => 0.9 - at / 1_000)
  const alike = Array.from({ length: 20 }, (_, at) => 0.9 - at / 1_000_000)

  it("is open among scores that differ by less than their error", () => {
    const from = openFrom(alike, 10, dims)
    expect(from).toBeLessThan(alike[9]!)
    expect(from).toBeGreaterThan(0.89)
    expect(openFrom(alike.slice(0, 10), 10, dims)).toBe(from)
  })

  it("is not where they lie apart, or where there are fewer", () => {
    expect(openFrom(apart, 10, dims)).toBeUndefined()
    expect(openFrom(alike.slice(0, 9), 10, dims)).toBeUndefined()
  })

  it("is not where the crowd lies above or below it", () => {
    expect(openFrom([...alike.slice(0, 9), ...apart.slice(10)], 10, dims)).toBeUndefined()
    expect(openFrom([...apart.slice(0, 9), ...alike.map((score) => score - 0.1)], 10, dims)).toBeUndefined()
  })
})
