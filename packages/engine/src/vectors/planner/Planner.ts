/**
 * Planner of one search: the engine with the lowest estimated cost, and the reason for `explain`, log and metrics.
 *
 * An exact scan costs per allowed row and misses nothing. Inverted lists cost per centroid, per code of the probed
 * lists and per row re-ranked. A graph costs per element visited, and a filter that lets one in n through makes the
 * walk n times longer. `measureCosts` measures searches, rows and codes on this machine; bits, centroids and steps of a
 * graph cost what `typicalCosts` says.
 */
import { efFor } from "../hnsw/HnswIndex.ts"
import { expectedReranks, InvertedLists, probesMin } from "../lists/InvertedLists.ts"
import type { Engine } from "../VectorIndex.ts"
import { Bitmap } from "../../bitmap/Bitmap.ts"
import { trainCodebook } from "../lists/Codebook.ts"
import { seededSequence, type Slab } from "../arena/Slab.ts"
import { VectorArena } from "../arena/VectorArena.ts"

/** Values of `MUNIMENT_INDEX`: an engine, or `auto` for the planner's choice. */
export const indexPins = ["auto", "exact", "quantized", "hnsw"] as const
export type IndexPin = (typeof indexPins)[number]

/** Live vectors from which 1-bit codes are kept; with fewer an exact scan is as fast. */
export const codesMin = 1_000
/** Live vectors below which existing codes are dropped; the gap prevents flapping. */
export const codesKeepMin = codesMin / 2

/** `probes` and `rerankCorrection` are expected of this search (`QuantizedIndex`), and read only where they matter. */
export interface ExpectedLists {
  readonly count: number
  readonly probes: number
  readonly rerankCorrection: number
}

export interface PlanInput {
  readonly k: number
  readonly live: number
  /** Live vectors that pass the filter; equal to `live` without one. */
  readonly allowed: number
  /** Undefined while there are no codes. */
  readonly lists: ExpectedLists | undefined
  /** Undefined without a graph. `pending` is the number of allowed vectors that it lacks. */
  readonly graph: { readonly pending: number } | undefined
  readonly pin: IndexPin
  readonly costs: IndexCosts
}

export interface Plan {
  readonly engine: Engine
  readonly reason: string
  /** Width of the graph's walk; 0 for other engines. */
  readonly ef: number
  /** Lists probed; 0 for other engines. */
  readonly probes: number
  /** Whether to scan the filtered rows after all if few of them lie near the query: probing all lists costs more. */
  readonly fallsBackToScan: boolean
  readonly estimatedMicros: number
}

export const plan = (input: PlanInput): Plan => {
  const exact = exactMicros(input)
  switch (input.pin) {
    case "exact":
      return exactPlan(exact, "pinned by configuration")
    case "quantized":
      return (
        quantizedPlan(input, exact, "pinned by configuration") ??
        exactPlan(exact, "pinned to quantized, but there are no codes yet")
      )
    case "hnsw":
      return graphPlan(input) ?? exactPlan(exact, "pinned to hnsw, but there is no graph")
    case "auto":
      return cheapestPlan(input, exact)
  }
}

const cheapestPlan = (input: PlanInput, exact: number): Plan => {
  const isFiltered = input.allowed < input.live
  if (input.lists === undefined) return exactPlan(exact, "few vectors are stored")
  const reason = isFiltered ? "the filter is selective" : "the scan is as fast"
  // Searches of few rows take as long as planning them in full.
  if (exact <= listsMicros(input, input.lists.count, probesMin, 0)) return exactPlan(exact, reason)
  const quantized = quantizedPlan(input, exact, isFiltered ? "the filter is wide" : "there is no filter")
  return quantized === undefined || exact <= quantized.estimatedMicros ? exactPlan(exact, reason) : quantized
}

/** The plan of a search that has to look at every vector that passes. */
export const strictPlan = (input: PlanInput): Plan => exactPlan(exactMicros(input), "strict recall was asked for")

const exactPlan = (estimatedMicros: number, reason: string): Plan => ({
  engine: "exact",
  reason,
  ef: 0,
  probes: 0,
  fallsBackToScan: false,
  estimatedMicros
})

const exactMicros = ({ allowed, costs, live }: PlanInput): number =>
  costs.searchMicros + allowed * rowMicros(live, shareOf(allowed, live), costs) + live * costs.bitMicros

/**
 * Cost of a row in an exact scan, between an adjacent and a scattered one: the more rows are stored, the fewer are
 * cached. Rows without gaps are prefetched, which helps as much as a cache of twice the size.
 */
const rowMicros = (live: number, share: number, costs: IndexCosts): number =>
  costs.rowMicros + (costs.scatteredRowMicros - costs.rowMicros) * Math.min(1, live / (rowsUncached * (1 + share)))

/** Rows of 384 components that fill ten times the cache of a core (2 MB). */
const rowsUncached = 50_000

/** Estimated microseconds of a search that probes `probes` of `count` lists and re-ranks `reranked` rows. */
const listsMicros = ({ costs, live }: PlanInput, count: number, probes: number, reranked: number): number =>
  costs.searchMicros +
  count * costs.centroidMicros +
  ((live * Math.min(probes, count)) / count) * costs.codeMicros +
  reranked * costs.scatteredRowMicros

const quantizedPlan = (input: PlanInput, exact: number, reason: string): Plan | undefined => {
  const { allowed, k, lists, live } = input
  if (lists === undefined) return undefined
  const { count, probes, rerankCorrection } = lists
  const microsOf = (probed: number): number => {
    const scanned = (live * probed) / count
    const scored = Math.min(allowed, scanned, expectedReranks(k, scanned) * rerankCorrection)
    return listsMicros(input, count, probed, scored)
  }
  return {
    engine: "quantized",
    reason,
    ef: 0,
    probes,
    fallsBackToScan: exact < microsOf(count),
    estimatedMicros: microsOf(probes)
  }
}

const graphPlan = ({ allowed, costs, graph, k, live }: PlanInput): Plan | undefined => {
  if (graph === undefined) return undefined
  const share = shareOf(allowed, live)
  const ef = efFor(k, share)
  const steps = Math.min(ef / Math.max(share, Number.EPSILON), live)
  return {
    engine: "hnsw",
    reason: "pinned by configuration",
    ef,
    probes: 0,
    fallsBackToScan: false,
    estimatedMicros: costs.searchMicros + steps * costs.stepMicros + graph.pending * costs.rowMicros
  }
}

const shareOf = (allowed: number, live: number): number => (live === 0 ? 1 : allowed / live)

/**
 * Costs of the steps of a search on this machine, in microseconds, for the planner. Measured on random vectors once the
 * service is up, in steps of a few milliseconds between which other work runs: V8 compiles a kernel well only after it
 * has run for a while.
 */
interface IndexCosts {
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

/** Costs on one machine, for tests and until they are measured. */
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
