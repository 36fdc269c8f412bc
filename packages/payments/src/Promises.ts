/**
 * What payers have promised with payments that are on their way. A balance that covers one payment covers
 * one: without this, thirty payments of one balance, sent side by side, would all verify and be sent at
 * the operator's cost, and one would be paid.
 *
 * Invariant: of payments that come together, the earlier counts for the later and not the other way round.
 */
import { Effect } from "effect"
import type { PaymentNetwork } from "@muniment/domain/Payment"
import type { PaymentJournal } from "@muniment/ledger/PaymentJournal"

export interface PaymentPromise {
  /** Id of the payment. */
  readonly id: string
  readonly network: PaymentNetwork
  readonly payer: string
  /** Of USDC. */
  readonly units: number
}

export class Promises {
  readonly #journal: PaymentJournal["Service"]
  /** Those that the journal does not have yet, in the order in which they came; as many as runs. */
  readonly #verifying = new Set<PaymentPromise>()

  constructor(journal: PaymentJournal["Service"]) {
    this.#journal = journal
  }

  /** Runs `claim` with the units that the payer has promised before; counts this one until it has ended. */
  during<A, E, R>(
    promise: PaymentPromise,
    claim: (promised: number) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const earlier = [...this.#verifying].filter((other) => isSamePayer(other, promise))
        this.#verifying.add(promise)
        return earlier
      }),
      (earlier) =>
        Effect.flatMap(this.#journal.openOf(promise.network, promise.payer), (open) => {
          // One that was claimed meanwhile is in both.
          const units = new Map([...earlier, ...open].map((other) => [other.id, other.units]))
          units.delete(promise.id)
          return claim([...units.values()].reduce((sum, one) => sum + one, 0))
        }),
      () => Effect.sync(() => this.#verifying.delete(promise))
    )
  }
}

const isSamePayer = (one: PaymentPromise, other: PaymentPromise): boolean =>
  one.network === other.network && one.payer === other.payer
