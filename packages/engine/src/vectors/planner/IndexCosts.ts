/**
 * Costs of the steps of a search on this machine, in microseconds, for the planner. Measured on random vectors once the
 * service is up, in steps of a few milliseconds between which other work runs: V8 compiles a kernel well only after it
 * has run for a while.
 */
import { Bitmap } from "../../bitmap/Bitmap.ts"
import { trainCodebook } from "../lists/Codebook.ts"
import { InvertedLists } from "../lists/InvertedLists.ts"
import { seededSequence } from "../arena/SeededSequence.ts"
import type { Slab } from "../arena/Slab.ts"
import { VectorArena } from "../arena/VectorArena.ts"

export interface IndexCosts {
  /** Fixed cost of a search: encoding the query, copying the hits. */
  readonly searchMicros: number
  /** Scoring a row next to the one before. */
  readonly rowMicros: number
  /** Scoring a row at a random place, as re-ranking does. */
  readonly scatteredRowMicros: number
  /** Testing a slot in a bitmap; not measured here. */
  readonly bitMicros: number
  /** Scanning a 1-bit code. */
  readonly codeMicros: number
  /** Scoring a centroid; not measured here. */
  readonly centroidMicros: number
  /** Visiting an element of the HNSW graph; not measured here. */
  readonly stepMicros: number
}

/** Costs on the machine of bench/index/README.md, for tests and until they are measured. */
export const typicalCosts: IndexCosts = {
  searchMicros: 5,
  rowMicros: 0.02,
  scatteredRowMicros: 0.05,
  bitMicros: 0.0001,
  codeMicros: 0.004,
  centroidMicros: 0.03,
  stepMicros: 2
}

/** Shared by all planners; `current` is replaced when the costs have been measured. */
export interface CostBook {
  current: IndexCosts
}

const rows = 1_024
const rowsPerStep = 32
const searchesPerStep = 8
/** Searches before the measured ones. */
const warmups = 200
const repetitions = 31
const results = 10
/** Dimensions of the known models. The planner needs only ratios of costs, which change little with the width. */
const dims = 384

/** Returns the costs at the end; `now` is a clock in milliseconds. */
export function* measureCosts(slab: Slab, now: () => number): Generator<void, IndexCosts> {
  const arena = new VectorArena(dims, slab)
  try {
    const nextVector = randomVectors(seededSequence(dims))
    for (let slot = 0; slot < rows; slot++) {
      arena.set(slot, nextVector(), slot)
      if (slot % rowsPerStep === 0) yield
    }
    const query = nextVector()
    const itself = arena.copyOf(0)
    const scan = (among: Bitmap) => () => arena.scan(arena.prepare(query), results, arena.uploadMask(among, undefined))
    const few = Bitmap.of(Array.from({ length: rows / 16 }, (_value, at) => (at * 37) % rows))
    const searchMicros = yield* medianMicros(scan(Bitmap.of([0])), now)
    const rowMicros = perUnit((yield* medianMicros(scan(arena.live), now)) - searchMicros, rows)
    const fewMicros = perUnit((yield* medianMicros(scan(few), now)) - searchMicros, few.count())
    const flatMicros = yield* flatScanMicros(arena, itself, now)
    return {
      ...typicalCosts,
      searchMicros,
      rowMicros,
      scatteredRowMicros: Math.max(rowMicros * scatterMin, fewMicros),
      codeMicros: perUnit(flatMicros - searchMicros, rows)
    }
  } finally {
    arena.close()
  }
}

/** Least ratio of scattered to adjacent rows: the few rows measured here are all in the nearest cache. */
const scatterMin = 2.5

/** The query is the first row: it is found at once, and from then on codes are scanned and no row is re-ranked. */
function* flatScanMicros(arena: VectorArena, itself: Float32Array, now: () => number): Generator<void, number> {
  const codebook = yield* trainCodebook(arena, 1)
  if (codebook === undefined) return 0
  const lists = new InvertedLists(arena, codebook)
  try {
    for (let slot = 0; slot < rows; slot++) {
      lists.add(slot)
      if (slot % rowsPerStep === 0) yield
    }
    return yield* medianMicros(() => lists.search(arena.prepare(itself), 1, undefined, () => 0), now)
  } finally {
    lists.release()
  }
}

function* medianMicros(search: () => unknown, now: () => number): Generator<void, number> {
  const times: Array<number> = []
  for (let round = -warmups; round < repetitions; round++) {
    const start = now()
    search()
    if (round >= 0) times.push((now() - start) * 1_000)
    if (round % searchesPerStep === 0) yield
  }
  return times.sort((left, right) => left - right)[repetitions >> 1]!
}

const randomVectors = (random: () => number) => () => {
  const vector = Float32Array.from({ length: dims }, () => random() - 0.5)
  const norm = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0))
  return vector.map((x) => x / norm)
}

const perUnit = (micros: number, units: number): number => Math.max(0, micros) / units
