/**
 * Where the time of a search goes, by stage, for `/metrics`: `search_stage_seconds{stage}`. Each
 * stage is a metric of its own, made once, because an update then costs one look into the registry.
 *
 * A stage is wall time: it includes waiting for a namespace to open and for other fibers' turns.
 */
import { Effect, Metric } from "effect"

/**
 * In the order a search passes them: the query's vector, term counts of all namespaces, candidates by
 * words and by meaning, the one fusion, the records of the hits.
 */
export const searchStages = ["embedding", "statistics", "candidates", "fusion", "records"] as const
export type SearchStage = (typeof searchStages)[number]

/** Seconds, 10 us to about 5 s: a stage in memory is much shorter than a request. */
const boundaries = Metric.exponentialBoundaries({ start: 0.00001, factor: 2, count: 20 })

const stageMetric = (stage: SearchStage) =>
  Metric.histogram("search_stage_seconds", {
    description: "Time of a search by stage; embedding includes the cache of query vectors.",
    boundaries,
    attributes: { stage }
  })

const metrics = {
  embedding: stageMetric("embedding"),
  statistics: stageMetric("statistics"),
  candidates: stageMetric("candidates"),
  fusion: stageMetric("fusion"),
  records: stageMetric("records")
} satisfies Readonly<Record<SearchStage, unknown>>

/** Times a stage that succeeds; a failed one would only blur the figures. */
export const timed = <A, E, R>(stage: SearchStage, run: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const startedMillis = performance.now()
    return Effect.tap(run, () => Metric.update(metrics[stage], (performance.now() - startedMillis) / 1_000))
  })
