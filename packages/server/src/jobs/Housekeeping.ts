/**
 * Background work of the server, every minute: removes kept answers and settled reservations past their retention,
 * revocations of grants that have expired and delivered messages, and settles `control.db` (`ControlDatabase.settle`).
 * By a clock that has stepped nothing is removed: a grant must not come back.
 */
import { Clock, Effect, Layer, Schedule } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { GrantRevocations } from "@muniment/control/accounts/GrantRevocations"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { IdempotencyStore } from "@muniment/control/requests/IdempotencyStore"
import { Ledger } from "@muniment/control/credits/Ledger"
import { WebhookOutbox } from "@muniment/control/webhooks/WebhookOutbox"
import { Rounds } from "@muniment/worker/Rounds"
import { JobClock } from "./JobClock.ts"

const everyMillis = 60_000

export const Housekeeping = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const answers = yield* IdempotencyStore
      const revocations = yield* GrantRevocations
      const ledger = yield* Ledger
      const { settle } = yield* ControlDatabase
      const outbox = yield* WebhookOutbox
      const clock = yield* JobClock
      const sweep = Clock.currentTimeMillis.pipe(
        Effect.flatMap((now) => answers.sweep(now - Limits.idempotencyRetentionMillis)),
        Effect.andThen(revocations.sweep),
        Effect.andThen(ledger.sweepReservations),
        Effect.andThen(outbox.sweep)
      )
      yield* Rounds.add({
        name: "housekeeping",
        schedule: Schedule.spaced(everyMillis),
        work: Effect.gen(function* () {
          yield* settle
          if ((yield* clock.step) === undefined) yield* sweep
        })
      })
    })
  )
}
