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
import { expectedReranks } from "../lists/InvertedLists.ts"
import type { Engine } from "../VectorIndex.ts"

/** Values of `MUNIMENT_INDEX`: an engine, or `auto` for the planner's choice. */
export const indexPins = ["auto", "exact", "quantized", "hnsw"] as const
export type IndexPin = (typeof indexPins)[number]

/** Live vectors from which 1-bit codes are kept; with fewer an exact scan is as fast. */
export const codesMin = 1_000
/** Live vectors below which existing codes are dropped; the gap prevents flapping. */
export const codesKeepMin = codesMin / 2

export interface PlanInput {
  readonly k: number
  readonly live: number
  /** Live vectors that pass the filter; equal to `live` without one. */
  readonly allowed: number
  /** Undefined while there are no codes. `probes` and `rerankCorrection` are expected of this search (`QuantizedIndex`). */
  readonly lists: { readonly count: number; readonly probes: number; readonly rerankCorrection: number } | undefined
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
  const exact = exactPlan(input)
  const quantized = quantizedPlan(input, exact.estimatedMicros)
  const graph = graphPlan(input)
  switch (input.pin) {
    case "exact":
      return because(exact, "pinned by configuration")
    case "quantized":
      return quantized === undefined
        ? because(exact, "pinned to quantized, but there are no codes yet")
        : because(quantized, "pinned by configuration")
    case "hnsw":
      return graph === undefined
        ? because(exact, "pinned to hnsw, but there is no graph")
        : because(graph, "pinned by configuration")
    case "auto":
      if (quantized === undefined) return because(exact, "few vectors are stored")
      if (exact.estimatedMicros <= quantized.estimatedMicros)
        return because(exact, input.allowed < input.live ? "the filter is selective" : "the scan is as fast")
      return because(quantized, input.allowed < input.live ? "the filter is wide" : "there is no filter")
  }
}

/** The plan of a search that has to look at every vector that passes. */
export const strictPlan = (input: PlanInput): Plan => because(exactPlan(input), "strict recall was asked for")

type Estimate = Omit<Plan, "reason">

const because = (estimate: Estimate, reason: string): Plan => ({ ...estimate, reason })

const exactPlan = ({ allowed, costs, live }: PlanInput): Estimate => ({
  engine: "exact",
  ef: 0,
  probes: 0,
  fallsBackToScan: false,
  estimatedMicros:
    costs.searchMicros + allowed * rowMicros(live, shareOf(allowed, live), costs) + live * costs.bitMicros
})

/**
 * Cost of a row in an exact scan, between an adjacent and a scattered one: the more rows are stored, the fewer are
 * cached. Rows without gaps are prefetched, which helps as much as a cache of twice the size.
 */
const rowMicros = (live: number, share: number, costs: IndexCosts): number =>
  costs.rowMicros + (costs.scatteredRowMicros - costs.rowMicros) * Math.min(1, live / (rowsUncached * (1 + share)))

/** Rows of 384 components that fill ten times the cache of a core (2 MB). */
const rowsUncached = 50_000

const quantizedPlan = ({ allowed, costs, k, lists, live }: PlanInput, exactMicros: number): Estimate | undefined => {
  if (lists === undefined) return undefined
  const microsOf = (probes: number): number => {
    const scanned = (live * probes) / lists.count
    const scored = Math.min(allowed, scanned, expectedReranks(k, scanned) * lists.rerankCorrection)
    return (
      costs.searchMicros +
      lists.count * costs.centroidMicros +
      scanned * costs.codeMicros +
      scored * costs.scatteredRowMicros
    )
  }
  return {
    engine: "quantized",
    ef: 0,
    probes: lists.probes,
    fallsBackToScan: exactMicros < microsOf(lists.count),
    estimatedMicros: microsOf(lists.probes)
  }
}

const graphPlan = ({ allowed, costs, graph, k, live }: PlanInput): Estimate | undefined => {
  if (graph === undefined) return undefined
  const share = shareOf(allowed, live)
  const ef = efFor(k, share)
  const steps = Math.min(ef / Math.max(share, Number.EPSILON), live)
  return {
    engine: "hnsw",
    ef,
    probes: 0,
    fallsBackToScan: false,
    estimatedMicros: costs.searchMicros + steps * costs.stepMicros + graph.pending * costs.rowMicros
  }
}

const shareOf = (allowed: number, live: number): number => (live === 0 ? 1 : allowed / live)
