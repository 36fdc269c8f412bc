/**
 * Part of the conformance suite: recall@10 against float32 on sets whose nearest vectors 8-bit scores order wrongly, each
 * for a reason of its own (bench/index/distributions.ts). What an engine's own scores hold is asked per set; the best
 * hits scored again in float32 hold .99; a strict search holds all, and says so.
 */
import { describe, expect, it } from "vitest"
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { innerProduct } from "@muniment/engine/namespace/exactCosines"
import { anisotropic, drifting, foreignQueries, nearDuplicates } from "../../bench/index/distributions.ts"
import { isotropicVectors } from "../../bench/index/syntheticVectors.ts"
import { queriesOf, rowOf, type VectorSet } from "../../bench/index/VectorSet.ts"
import { filled, type EngineUnderTest, type IndexUnderTest } from "./indexConformanceCheck.ts"

/** Vectors whose order by float32 is known. */
export interface Sample {
  readonly rows: ReadonlyArray<Float32Array>
  readonly queries: ReadonlyArray<Float32Array>
}

/** Recall@10 by the scores of rows alone that every engine but a graph holds on a set of the suite's size. */
interface Distribution {
  readonly name: string
  readonly make: (count: number, queries: number, seed: number) => VectorSet
  readonly ownRecallMin: number
  /** Nothing is near anything: a graph misses most. */
  readonly isNoise: boolean
}

const distributions: ReadonlyArray<Distribution> = [
  { name: "noise without structure", make: isotropicVectors, ownRecallMin: 0.95, isNoise: true },
  { name: "near-duplicates in clusters", make: nearDuplicates, ownRecallMin: 0.6, isNoise: false },
  { name: "few directions", make: anisotropic, ownRecallMin: 0.95, isNoise: false },
  { name: "drift with insertion", make: drifting, ownRecallMin: 0.9, isNoise: true },
  { name: "queries from elsewhere", make: foreignQueries, ownRecallMin: 0.95, isNoise: true }
]

const queryCount = 12
const seed = 11
const k = 10
/** Hits beyond the k best that are scored again. */
const spare = 60
const rescoredRecallMin = 0.99

export const distributionConformance = (engine: EngineUnderTest): void => {
  describe("beside float32", () => {
    it.each(distributions)("finds the best 10 of $name", ({ isNoise, make, ownRecallMin }) => {
      const sample = sampleOf(make, engine.distributionSize)
      const isGraphOfNoise = isNoise && engine.recallOfNoiseMin < 0.5
      const index = filled(engine, sample.rows, sample.rows[0]!.length)
      expectBesideFloat32(index, sample, isGraphOfNoise ? 0 : ownRecallMin, isGraphOfNoise)
      index.close()
    })
  })
}

/** Checks own scores, scores again, and a strict search where the index has one. */
export const expectBesideFloat32 = (
  index: IndexUnderTest,
  { queries, rows }: Sample,
  ownRecallMin: number,
  mayMiss = false
): void => {
  const every = Array.from(rows.keys())
  const some = every.filter((slot) => slot % 7 === 0)
  const filter = Bitmap.of(some)
  let own = 0
  let rescored = 0
  for (const query of queries) {
    const truth = ranked(rows, query, every)
    own += shared(truth, index.search(query, k, undefined).slots)
    rescored += shared(truth, ranked(rows, query, index.search(query, k + spare, undefined).slots))
    if (index.searchStrict === undefined) continue
    for (const [allowed, right] of [
      [undefined, truth],
      [filter, ranked(rows, query, some)]
    ] as const) {
      const { plan, slots } = index.searchStrict(query, { certain: k, kept: k }, allowed)
      expect(plan.isCertified).toBe(true)
      expect(ranked(rows, query, slots)).toEqual(right)
    }
  }
  const wanted = queries.length * k
  expect(own / wanted, "by its own scores").toBeGreaterThanOrEqual(ownRecallMin)
  if (!mayMiss) expect(rescored / wanted, "scored again").toBeGreaterThanOrEqual(rescoredRecallMin)
}

/** The k best of these slots by float32, the higher slot first on a tie. */
const ranked = (
  rows: ReadonlyArray<Float32Array>,
  query: Float32Array,
  slots: Iterable<number>
): ReadonlyArray<number> =>
  Array.from(slots, (slot) => ({ slot, score: innerProduct(query, rows[slot]!) }))
    .sort((left, right) => right.score - left.score || right.slot - left.slot)
    .slice(0, k)
    .map(({ slot }) => slot)

const shared = (truth: ReadonlyArray<number>, found: Iterable<number>): number => {
  const given = new Set(found)
  return truth.filter((slot) => given.has(slot)).length
}

/** Made once in a process: the engines are tested on the same sets. */
const samples = new Map<string, Sample>()

const sampleOf = (make: Distribution["make"], count: number): Sample => {
  const key = `${make.name} ${count}`
  const known = samples.get(key)
  if (known !== undefined) return known
  const set = make(count, queryCount, seed)
  const sample = { rows: Array.from({ length: count }, (_, slot) => rowOf(set, slot)), queries: queriesOf(set) }
  samples.set(key, sample)
  return sample
}
