/**
 * Duration of each stage of a search, for `/metrics`: `search_stage_seconds{stage}`. Wall time: it includes waiting
 * for a namespace to open and for other fibers. Every stage is a metric of its own, made once, so that an update
 * costs one look-up in the registry.
 */
import { Clock, Effect, Metric } from "effect"

/** In order: query vector, term counts of all namespaces, candidates by words and meaning, fusion, records of the hits. */
export const searchStages = ["embedding", "statistics", "candidates", "fusion", "records"] as const
export type SearchStage = (typeof searchStages)[number]

/** Seconds, from 10 us to about 5 s: stages in memory are much shorter than a request. */
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

const nanosPerSecond = 1e9

/** Records the duration of a stage if it succeeds. */
export const timed = <A, E, R>(stage: SearchStage, run: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Clock.clockWith((clock) => {
    const startedNanos = clock.monotonicTimeNanosUnsafe()
    return Effect.tap(run, () =>
      Metric.update(metrics[stage], Number(clock.monotonicTimeNanosUnsafe() - startedNanos) / nanosPerSecond)
    )
  })
