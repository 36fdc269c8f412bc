/**
 * Chooses the engine of one search by estimated cost, and says why, for `explain`, log and metrics.
 *
 * The exact scan costs per allowed vector and never misses. The lists cost per centroid, per code of the
 * probed share, which is all of them with a filter, and per row that is scored in the end. The graph costs per step
 * of its walk, and a filter that lets one in n through makes the walk n times longer. What each step costs on
 * this machine is measured at start (`measureCosts`).
 */
import { efFor } from "./HnswIndex.ts"
import type { IndexCosts } from "./IndexCosts.ts"
import { usualRows } from "./CodeLists.ts"
import type { Engine } from "./VectorIndex.ts"

/** What `MUNIMENT_INDEX` may say: an engine pins it, `auto` leaves the choice to the planner. */
export const indexPins = ["auto", "exact", "quantized", "hnsw"] as const
export type IndexPin = (typeof indexPins)[number]

/** Live vectors from which one-bit codes are kept: below, a scan of the rows is as fast. */
export const codesMin = 1_000
/** Live vectors below which existing codes are dropped again; the gap avoids flapping. */
export const codesKeepMin = codesMin / 2

export interface PlanInput {
  readonly k: number
  readonly live: number
  /** Live vectors that pass the filter; equal to `live` without one. */
  readonly allowed: number
  /** Undefined while there are no codes; `probes` is for k results within the filter, `excess` how many times more rows they score than usual. */
  readonly lists: { readonly count: number; readonly probes: number; readonly excess: number } | undefined
  /** Undefined without a graph; else how many allowed vectors it does not hold yet. */
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
  /** Whether to scan what passes after all, should the filter let little through around the query: all lists cost more. */
  readonly scansRare: boolean
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

type Estimate = Omit<Plan, "reason">

const because = (estimate: Estimate, reason: string): Plan => ({ ...estimate, reason })

const exactPlan = ({ allowed, costs, live }: PlanInput): Estimate => ({
  engine: "exact",
  ef: 0,
  probes: 0,
  scansRare: false,
  estimatedMicros:
    costs.searchMicros + allowed * rowMicros(live, shareOf(allowed, live), costs) + live * costs.bitMicros
})

/**
 * The more rows there are, the fewer of them are in a cache near the processor; without gaps between them they are
 * fetched ahead, which helps as much as twice the cache.
 */
const rowMicros = (live: number, share: number, costs: IndexCosts): number =>
  costs.rowMicros + (costs.scatteredRowMicros - costs.rowMicros) * Math.min(1, live / (rowsFar * (1 + share)))

/** Vectors of 384 components that are ten times as large as what processors of our time cache for a core, 2 MB. */
const rowsFar = 50_000

const quantizedPlan = ({ allowed, costs, k, lists, live }: PlanInput, exactMicros: number): Estimate | undefined => {
  if (lists === undefined) return undefined
  const microsOf = (probes: number): number => {
    const scanned = (live * probes) / lists.count
    const scored = Math.min(allowed, scanned, usualRows(k, scanned) * lists.excess)
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
    scansRare: exactMicros < microsOf(lists.count),
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
    scansRare: false,
    estimatedMicros: costs.searchMicros + steps * costs.stepMicros + graph.pending * costs.rowMicros
  }
}

const shareOf = (allowed: number, live: number): number => (live === 0 ? 1 : allowed / live)
