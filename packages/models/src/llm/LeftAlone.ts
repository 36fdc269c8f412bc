/**
 * How long a server that takes no more requests is left alone, by all accounts: as long as it asks for, an hour at most;
 * where it does not say, a second, then twice as long each time, up to a minute.
 */
import { Clock, Effect } from "effect"
import { ModelFailure } from "./ModelFailure.ts"

const askedForMillisMax = 3_600_000
const pauseMillisMin = 1_000
const pauseMillisMax = 60_000

export interface LeftAlone {
  /** Fails while the server is left alone. */
  readonly check: Effect.Effect<void, ModelFailure>
  /** A call was answered. */
  readonly answered: Effect.Effect<void>
  readonly failed: (failure: ModelFailure) => Effect.Effect<void>
}

export const makeLeftAlone = (): LeftAlone => {
  let untilMillis = 0
  let pauseMillis = pauseMillisMin
  return {
    check: Effect.flatMap(Clock.currentTimeMillis, (now) =>
      now < untilMillis ? Effect.fail(leftAloneFor(untilMillis - now)) : Effect.void
    ),
    answered: Effect.sync(() => {
      pauseMillis = pauseMillisMin
    }),
    failed: ({ reason, retryAfterSeconds }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        if (reason !== "rate_limited") return
        if (retryAfterSeconds !== undefined) {
          untilMillis = Math.max(untilMillis, now + Math.min(retryAfterSeconds * 1_000, askedForMillisMax))
        } else if (now >= untilMillis) {
          // Calls that were under way at the same time count once.
          untilMillis = now + pauseMillis
          pauseMillis = Math.min(pauseMillis * 2, pauseMillisMax)
        }
      })
  }
}

const leftAloneFor = (millis: number): ModelFailure =>
  new ModelFailure({
    reason: "rate_limited",
    message: "the language model accepts no more requests at the moment",
    retryAfterSeconds: Math.ceil(millis / 1_000)
  })
