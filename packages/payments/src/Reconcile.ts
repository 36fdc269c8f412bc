/**
 * Brings every unfinished payment on, at the start and every `Limits.reconcileEveryMillis`: what a crash,
 * an outage or an impatient client left open, and what was settled but may still be undone by a
 * reorganised chain.
 *
 * Invariants: it asks the chain, never a memory of its own; a network that is away stops no other; what
 * was credited is taken back only when the chain has said twice, a round apart, that it is lost.
 */
import { Context, Effect, Layer, Schedule, Semaphore } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { type JournalledPayment, PaymentJournal, unfinishedPageMax } from "@muniment/ledger/PaymentJournal"
import { countPayment } from "./PaymentMetrics.ts"
import { Settlement } from "./Settlement.ts"

export class Reconcile extends Context.Service<
  Reconcile,
  {
    /** One round over all unfinished payments; -> how many there were. */
    readonly round: Effect.Effect<number>
  }
>()("muniment/payments/Reconcile") {
  /** Rounds begin with the layer and end with it. */
  static readonly layer: Layer.Layer<Reconcile, never, PaymentJournal | Settlement> = Layer.effect(
    Reconcile,
    Effect.suspend(() => make)
  )
}

/** Payments that are looked at side by side. */
const concurrentMax = 8
/** Settled payments wait many minutes for their chain to be final: they are looked at in every fourth round. */
const roundsPerSettled = 4

const make = Effect.gen(function* () {
  const journal = yield* PaymentJournal
  const settlement = yield* Settlement
  /** Settled ones that the chain called lost in the last round that looked at them. */
  const doubted = new Set<string>()

  const look = Effect.fnUntraced(function* (payment: JournalledPayment) {
    const step = yield* settlement.carryOn(payment)
    if (step?._tag !== "Lost") return void doubted.delete(payment.id)
    if (!doubted.has(payment.id)) return void doubted.add(payment.id)
    yield* journal.reversed(payment.id, "the chain was reorganised and has lost it")
    doubted.delete(payment.id)
    yield* countPayment(payment.network, "reversed")
    yield* Effect.logWarning("a payment was reversed: the chain has lost it", { payment: payment.id })
  })

  /** One payment's trouble is not the others'. An outage is in the log already (`Outages.ts`). */
  const lookSafely = (payment: JournalledPayment) =>
    look(payment).pipe(
      Effect.catchTags({
        ChainUnavailable: () => Effect.void,
        InsufficientStorage: () => Effect.logWarning("a payment waits: the disk is full", { payment: payment.id })
      }),
      Effect.catchDefect((defect) => Effect.logError("a payment met a defect", { payment: payment.id }, defect))
    )

  // A round passes over what another is at, and would take that for no doubt.
  const oneAtATime = yield* Semaphore.make(1)
  const roundOf = Effect.fn("Reconcile.round")(
    function* (isWanted: (payment: JournalledPayment) => boolean) {
      let looked = 0
      let last: JournalledPayment | undefined
      // Page by page: a thousand that stay open, for whatever reason, must not hide those that came later.
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
  yield* due.pipe(
    Effect.catchDefect((defect) => Effect.logError("a round of reconciliation met a defect", defect)),
    Effect.repeat(Schedule.spaced(Limits.reconcileEveryMillis)),
    Effect.forkScoped
  )

  return Reconcile.of({ round: roundOf(() => true) })
})
