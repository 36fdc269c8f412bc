/**
 * Planner of one search: the engine with the lowest estimated cost, and the reason for `explain`, log and metrics.
 *
 * An exact scan costs per allowed row and misses nothing. Inverted lists cost per centroid, per code of the probed
 * lists and per row re-ranked. A graph costs per element visited, and a filter that lets one in n through makes the
 * walk n times longer. `measureCosts` measures searches, rows and codes on this machine; bits, centroids and steps of a
 * graph cost what `typicalCosts` says.
 */
import { efFor } from "../hnsw/HnswIndex.ts"
import type { IndexCosts } from "./IndexCosts.ts"
import { expectedReranks, probesMin } from "../lists/InvertedLists.ts"
import type { Engine } from "../VectorIndex.ts"

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
