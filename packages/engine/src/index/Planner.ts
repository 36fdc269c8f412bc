/**
 * Chooses the engine of one search by estimated cost, and says why, for `explain` and metrics.
 *
 * The exact scan costs per allowed vector. The graph costs per step of its walk, and a filter that
 * lets one in n through makes the walk about n times longer, besides calling back for every
 * element; so the rarer the filter, the better the exact scan, which also never misses. The model's
 * constants are measured by bench/index/recall.ts; bench/index/README.md has the figures.
 */
import { efFor } from "./HnswIndex.ts"
import type { Engine } from "./VectorIndex.ts"

/** What `MUNIMENT_INDEX` may say: an engine pins it, `auto` leaves the choice to the planner. */
export const indexPins = ["auto", "exact", "hnsw"] as const
export type IndexPin = (typeof indexPins)[number]

/** Live vectors from which a graph is built: below, a scan is cheaper than keeping one. */
export const graphBuildMin = 5_000
/** Live vectors below which an existing graph is dropped again; the gap avoids flapping. */
export const graphKeepMin = graphBuildMin / 2

const exactMicrosPerVector = 0.45
const graphMicrosPerStep = 2
/** An exact answer is preferred while it costs no more than this, whatever the graph costs. */
const exactMicrosComfortable = 2_500
/** Being exact is worth this factor over the graph's estimate ... */
const exactPremium = 2
/** ... but never more than this, while there is a graph: the event loop waits meanwhile. */
export const exactMicrosMax = 12_500

export interface PlanInput {
  readonly k: number
  readonly live: number
  /** Live vectors that pass the filter; equal to `live` without one. */
  readonly allowed: number
  /** Undefined without a graph; else how many allowed vectors it does not hold yet. */
  readonly graph: { readonly pending: number } | undefined
  readonly pin: IndexPin
}

export interface Plan {
  readonly engine: Engine
  readonly reason: string
  /** Width of the graph's walk; 0 for a scan. */
  readonly ef: number
  readonly estimatedMicros: number
}

export const plan = (input: PlanInput): Plan => {
  const exactMicros = input.allowed * exactMicrosPerVector
  const exact = (reason: string): Plan => ({
    engine: "exact",
    reason,
    ef: 0,
    estimatedMicros: exactMicros
  })
  if (input.pin === "exact") return exact("pinned by configuration")
  if (input.graph === undefined)
    return exact(input.pin === "hnsw" ? "pinned to hnsw, but there is no graph" : "there is no graph")

  const share = input.live === 0 ? 1 : input.allowed / input.live
  const ef = efFor(input.k, share)
  const steps = Math.min(ef / Math.max(share, Number.EPSILON), input.live)
  const graphMicros = steps * graphMicrosPerStep + input.graph.pending * exactMicrosPerVector
  const graph = (reason: string): Plan => ({
    engine: "hnsw",
    reason,
    ef,
    estimatedMicros: graphMicros
  })
  if (input.pin === "hnsw") return graph("pinned by configuration")
  if (exactMicros <= exactMicrosComfortable) return exact("few vectors are allowed")
  if (input.graph.pending * 2 > input.allowed) return exact("most of the graph is not built yet")
  // Thousands of results make the walk wider than what it walks over.
  if (exactMicros <= graphMicros) return exact("the scan is cheaper")
  if (exactMicros <= Math.min(graphMicros * exactPremium, exactMicrosMax)) return exact("the filter is selective")
  return graph(share < 1 ? "the filter is wide" : "there is no filter")
}
