/**
 * Where the time of a call goes, by stage; for the history of calls (contract: Operator routes). Wall time: it includes
 * waiting for other calls, and parts of a batch that run side by side are added up.
 *
 * Invariant: names of stages and milliseconds, nothing that a caller sent. Outside of a call it costs one look-up.
 */
import { Clock, Context, Effect } from "effect"

/**
 * In the order in which the history keeps them, so new ones go last: vectors of texts; of a search term counts, candidates
 * by words and meaning, fusion, records of the hits and re-ranking; reading of a conversation; commits; writing of an answer
 * or a reply; drawing of a map; the chain of a payment.
 */
export const callStages = [
  "embedding",
  "statistics",
  "candidates",
  "fusion",
  "records",
  "reranking",
  "reading",
  "storing",
  "answering",
  "drawing",
  "paying"
] as const
export type CallStage = (typeof callStages)[number]

/** Milliseconds by stage. */
export type StageMillis = { [Stage in CallStage]?: number }

/** Filled in while a call runs; one object for each. */
export const SpentTimes = Context.Reference<StageMillis | undefined>("muniment/SpentTimes", {
  defaultValue: () => undefined
})

/** Adds the time of `run`, however it ends, to a stage of the call that it is part of. */
export const spentOn = <A, E, R>(stage: CallStage, run: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const times = fiber.getRef(SpentTimes)
    if (times === undefined) return run
    const clock = fiber.getRef(Clock.Clock)
    const startedNanos = clock.monotonicTimeNanosUnsafe()
    return Effect.onExit(run, () =>
      Effect.sync(() => {
        times[stage] = (times[stage] ?? 0) + Number(clock.monotonicTimeNanosUnsafe() - startedNanos) / 1e6
      })
    )
  })
