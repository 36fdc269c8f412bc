/**
 * What the tests of the index share: the native module (they fail without it rather than pass on
 * the exact engine alone), a clock that stands still, and recall against an oracle.
 */
import { ExactIndex } from "@muniment/engine/vectors/planner/PlannedIndex"
import { loadHnswlib } from "@muniment/engine/vectors/hnsw/HnswGraph"
import { loadKernels } from "@muniment/engine/vectors/arena/Kernels"
import { seededSequence, SlabPool } from "@muniment/engine/vectors/arena/Slab"
import { VectorArena } from "@muniment/engine/vectors/arena/VectorArena"
import type { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import type { SearchHits, VectorIndex } from "@muniment/engine/vectors/VectorIndex"
import { clusteredVectors } from "../../../../bench/index/clusteredVectors.ts"

const reasons: Array<string> = []
const loaded = await loadHnswlib((reason) => reasons.push(reason))
if (loaded === undefined) throw new Error(`these tests need hnswlib-node: ${reasons.join()}`)
export const hnswlib = loaded

export const slabs = new SlabPool(loadKernels())
export const makeArena = (dims: number) => new VectorArena(dims, slabs.take())

/** With a clock that stands still a positive budget never runs out, and 0 allows one element. */
export const stoppedClock = () => 0

export const buildAll = (index: { readonly work: (budgetMillis: number, now: () => number) => number }): void => {
  while (index.work(1, stoppedClock) > 0);
}

export const clustered = (seed: number, count: number, dims: number) =>
  clusteredVectors(seededSequence(seed), { dims, count, queries: 50 })

/** An exact index over the same vectors, kept apart from the index under test. */
export const oracleOf = (rows: Iterable<readonly [number, Float32Array]>, dims: number): ExactIndex => {
  const oracle = new ExactIndex(makeArena(dims))
  for (const [slot, row] of rows) oracle.upsert(slot, row, 0)
  return oracle
}

/** Share of the oracle's answers that the index finds, over all queries. */
export const recallOf = (
  index: Pick<VectorIndex, "search">,
  oracle: ExactIndex,
  queries: ReadonlyArray<Float32Array>,
  k: number,
  allowed?: Bitmap
): number => {
  let found = 0
  let wanted = 0
  for (const query of queries) {
    const right = oracle.search(query, k, allowed).slots
    const got = new Set(index.search(query, k, allowed).slots)
    wanted += right.length
    for (const slot of right) if (got.has(slot)) found++
  }
  return wanted === 0 ? 1 : found / wanted
}

export const pairs = (hits: SearchHits): Array<readonly [number, number]> =>
  Array.from(hits.slots, (slot, i) => [slot, hits.scores[i] ?? Number.NaN] as const)
