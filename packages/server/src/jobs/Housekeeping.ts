/**
 * Background work of the server itself, every minute: answers kept for 24 hours are forgotten, settled
 * reservations of the same age, and revocations of grants that have expired by themselves.
 */
import { Clock, Effect, Layer } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { GrantRevocations } from "@muniment/ledger/GrantRevocations"
import { IdempotencyStore } from "@muniment/ledger/IdempotencyStore"
import { Ledger } from "@muniment/ledger/Ledger"

const everyMillis = 60_000

export const Housekeeping = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const answers = yield* IdempotencyStore
      const revocations = yield* GrantRevocations
      const ledger = yield* Ledger
      yield* Clock.currentTimeMillis.pipe(
        Effect.flatMap((now) => answers.sweep(now - Limits.idempotencyRetentionMillis)),
        Effect.andThen(revocations.sweep),
        Effect.andThen(ledger.sweepReservations),
        Effect.catch((error) => Effect.logWarning("housekeeping was refused", { code: error.code })),
        Effect.delay(everyMillis),
        Effect.forever,
        Effect.forkScoped
      )
    })
  )
}
