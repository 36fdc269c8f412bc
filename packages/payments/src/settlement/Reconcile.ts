/**
 * Reconciliation: one step for every unfinished payment, at the start and every `Limits.reconcileEveryMillis`. These are
 * payments left open by a crash, an outage or a client that disconnected, and settled ones that a chain reorganisation
 * may still remove.
 *
 * Invariants: the chain is the only source; an unavailable network delays no other; a credit is taken back only after the
 * chain has reported the loss twice, by different blocks (`Doubts`).
 */
import { Context, Effect, Layer, Schedule, Semaphore } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { type JournalledPayment, PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import { unfinishedPageMax } from "@muniment/control/payments/PaymentRows"
import { Rounds } from "@muniment/worker/Rounds"
import { countPayment } from "./PaymentOutcome.ts"
import { Settlement } from "./Settlement.ts"

export class Reconcile extends Context.Service<
  Reconcile,
  {
    /** One round over all unfinished payments; returns their number. */
    readonly round: Effect.Effect<number>
  }
>()("muniment/payments/Reconcile") {
  /** Rounds run while the layer lives. */
  static readonly layer: Layer.Layer<Reconcile, never, PaymentJournal | Settlement> = Layer.effect(
    Reconcile,
    Effect.suspend(() => make)
  )
}

/** Payments looked at concurrently. */
const concurrentMax = 8
/** Finality takes minutes, so settled payments are looked at only in every `roundsPerSettled`th round. */
const roundsPerSettled = 4

const make = Effect.gen(function* () {
  const journal = yield* PaymentJournal
  const settlement = yield* Settlement

  const look = Effect.fnUntraced(function* (payment: JournalledPayment) {
    const step = yield* settlement.carryOn(payment)
    if (step?._tag !== "Lost") return
    yield* journal.reversed(payment.id, "a chain reorganisation removed it")
    yield* countPayment(payment.network, "reversed")
    yield* Effect.logWarning("payment reversed: a chain reorganisation removed it", { payment: payment.id })
  })

  /** A failure of one payment does not stop the others. Outages are logged by `Outages`. */
  const lookSafely = (payment: JournalledPayment) =>
    look(payment).pipe(
      Effect.catchTags({
        ChainUnavailable: () => Effect.void,
        InsufficientStorage: ({ code }) => Effect.logWarning("payment waits", { payment: payment.id, code }),
        Unavailable: ({ code }) => Effect.logWarning("payment waits", { payment: payment.id, code })
      }),
      Effect.catchDefect((defect) =>
        Effect.logError("payment step crashed; reconciliation will retry", { payment: payment.id }, defect)
      )
    )

  // One round at a time: a second one would ask the same questions.
  const oneAtATime = yield* Semaphore.make(1)
  const roundOf = Effect.fn("Reconcile.round")(
    function* (isWanted: (payment: JournalledPayment) => boolean) {
      let looked = 0
      let last: JournalledPayment | undefined
      // Page by page: payments that stay open must not hide later ones.
      do {
        const page = yield* journal.unfinished(last)
        const wanted = page.filter(isWanted)
        yield* Effect.forEach(wanted, lookSafely, { concurrency: concurrentMax, discard: true })
        looked += wanted.length
        last = page.length < unfinishedPageMax ? undefined : page.at(-1)
      } while (last !== undefined)
      return looked
    },
    (round) => oneAtATime.withPermits(1)(round)
  )

  let rounds = 0
  const due = Effect.suspend(() => {
    const includesSettled = rounds++ % roundsPerSettled === 0
    return roundOf(({ state }) => includesSettled || state !== "settled")
  })
  yield* Rounds.add({
    name: "reconciliation of payments",
    schedule: Schedule.spaced(Limits.reconcileEveryMillis),
    work: due,
    isFirstNow: true
  })

  return Reconcile.of({ round: roundOf(() => true) })
})
