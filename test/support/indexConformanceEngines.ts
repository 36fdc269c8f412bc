/** The vector engines under the conformance suite: each over an arena of its own in one slab. */
import { HnswIndex } from "@muniment/engine/vectors/hnsw/HnswIndex"
import { loadHnswlib } from "@muniment/engine/vectors/hnsw/HnswGraph"
import { loadKernels } from "@muniment/engine/vectors/arena/Kernels"
import { ExactIndex, PlannedIndex } from "@muniment/engine/vectors/planner/PlannedIndex"
import { codesMin, type IndexPin } from "@muniment/engine/vectors/planner/Planner"
import { QuantizedIndex } from "@muniment/engine/vectors/lists/QuantizedIndex"
import { Slab, SlabPool } from "@muniment/engine/vectors/arena/Slab"
import { VectorArena } from "@muniment/engine/vectors/arena/VectorArena"
import type { EngineUnderTest, IndexUnderTest } from "./indexConformanceCheck.ts"

/** Without the native module the suite fails, rather than pass on the other engines alone. */
const requireHnswlib = async () => {
  const reasons: Array<string> = []
  const loaded = await loadHnswlib((reason) => reasons.push(reason))
  if (loaded === undefined) throw new Error(`these tests need hnswlib-node: ${reasons.join()}`)
  return loaded
}

const kernels = loadKernels()
const pool = new SlabPool(kernels)
const exact = (dims: number) => new ExactIndex(new VectorArena(dims, pool.take()))

/** The same engine over an arena in the slab of all, or in one of its own. */
const over = (make: (arena: VectorArena) => IndexUnderTest): Pick<EngineUnderTest, "make" | "makeAlone" | "exact"> => ({
  make: (dims) => make(new VectorArena(dims, pool.take())),
  makeAlone: (dims) => {
    const slab = new Slab(kernels)
    return { index: make(new VectorArena(dims, slab)), memory: () => slab.bytes }
  },
  exact
})

/** So many vectors that any engine of ours keeps them in many lists. */
const manyLists = 8_000

const threeSegments = 2_200

/** Enough for near-duplicates to hide each other; a graph of these takes a second to build. */
const distributionSize = 2_000
const graphDistributionSize = 800

/** Below and above every threshold of the choice `auto`; less for what is pinned, which has suites of its own. */
const plannedSizes = (pin: IndexPin): ReadonlyArray<number> =>
  pin === "auto" ? [100, codesMin + 1, manyLists] : [100, threeSegments]

export const plannedEngine = async (pin: IndexPin): Promise<EngineUnderTest> => {
  const hnswlib = await requireHnswlib()
  const make = (slabs: SlabPool) => (dims: number) => new PlannedIndex({ dims, slabs, hnswlib, pin })
  return {
    name: `the planned index, pinned to ${pin}`,
    make: make(pool),
    makeAlone: (dims) => {
      const slabs = new SlabPool(kernels)
      return { index: make(slabs)(dims), memory: () => slabs.take().bytes }
    },
    exact,
    sizes: plannedSizes(pin),
    distributionSize: pin === "hnsw" ? graphDistributionSize : distributionSize,
    recallMin: 0.98,
    recallOfNoiseMin: pin === "hnsw" ? 0.3 : 0.9
  }
}

export const exactEngine: EngineUnderTest = {
  name: "the exact engine",
  ...over((arena) => new ExactIndex(arena)),
  sizes: [100, 3_000],
  distributionSize,
  recallMin: 0.98,
  recallOfNoiseMin: 0.98
}

export const hnswEngine = async (): Promise<EngineUnderTest> => {
  const hnswlib = await requireHnswlib()
  return {
    name: "the graph",
    ...over((arena) => new HnswIndex(hnswlib, arena)),
    sizes: [100, 3_000],
    distributionSize: graphDistributionSize,
    recallMin: 0.98,
    recallOfNoiseMin: 0.3
  }
}

/** Without lists yet, with one flat list, with many. */
export const quantizedEngine: EngineUnderTest = {
  name: "the quantised engine",
  ...over((arena) => new QuantizedIndex(arena)),
  sizes: [100, 2_000, manyLists],
  distributionSize,
  recallMin: 0.98,
  recallOfNoiseMin: 0.9
}
