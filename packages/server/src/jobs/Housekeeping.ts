/** Background work of the server itself, every minute: answers kept for 24 hours are forgotten. */
import { Clock, Effect, Layer } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { IdempotencyStore } from "@muniment/ledger/IdempotencyStore"

const everyMillis = 60_000

export const Housekeeping = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const answers = yield* IdempotencyStore
      yield* Effect.flatMap(Clock.currentTimeMillis, (now) =>
        answers.sweep(now - Limits.idempotencyRetentionMillis)
      ).pipe(
        Effect.catch((error) => Effect.logWarning("old answers could not be dropped", { code: error.code })),
        Effect.delay(everyMillis),
        Effect.forever,
        Effect.forkScoped
      )
    })
  )
}
