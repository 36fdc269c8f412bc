/**
 * Amounts committed by a payer's unfinished payments, to be subtracted from the payer's balance during
 * verification: thirty concurrent payments backed by one balance would otherwise all verify and be sent at our cost;
 * one would be paid.
 *
 * Invariant: a payment counts against those that arrive after it, never against earlier ones.
 */
import { Effect } from "effect"
import { type PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"
import type { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import type { PaymentClaim, PaymentInvalid } from "../chain/PaymentChain.ts"

export interface PendingPayment {
  /** Id of the payment. */
  readonly id: string
  readonly network: PaymentNetwork
  readonly payer: string
  /** Of USDC, 6 decimals. */
  readonly units: number
}

export class PendingPayments {
  readonly #journal: PaymentJournal["Service"]
  /** Not journalled yet, in order of arrival; bounded by the number of runs. */
  readonly #verifying = new Set<PendingPayment>()

  constructor(journal: PaymentJournal["Service"]) {
    this.#journal = journal
  }

  /** Runs `claim` with the units that the payer's earlier payments commit; `payment` counts until it has ended. */
  during<A, E, R>(
    payment: PendingPayment,
    claim: (committed: number) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const earlier = [...this.#verifying].filter((other) => isSamePayer(other, payment))
        this.#verifying.add(payment)
        return earlier
      }),
      (earlier) =>
        Effect.flatMap(this.#journal.openOf(payment.network, payment.payer), (open) => {
          // A payment that was journalled in the meantime is in both lists.
          const units = new Map([...earlier, ...open].map((other) => [other.id, other.units]))
          units.delete(payment.id)
          return claim([...units.values()].reduce((sum, one) => sum + one, 0))
        }),
      () => Effect.sync(() => this.#verifying.delete(payment))
    )
  }
}

const isSamePayer = (one: PendingPayment, other: PendingPayment): boolean =>
  one.network === other.network && one.payer === other.payer

/**
 * Reads a payment on a network that is not served now: the journal may know it from before, and then it answers. The
 * code of a network's family is loaded only then.
 */
export const claimUnserved = Effect.fn("PendingPayments.claimUnserved")(function* (
  network: PaymentNetwork,
  payload: unknown
): Effect.fn.Return<PaymentClaim, PaymentInvalid> {
  if (paymentNetworks[network].family === "evm") {
    const { evmClaim } = yield* Effect.promise(() => import("../evm/EvmAuthorization.ts"))
    return yield* evmClaim(network, payload)
  }
  const { svmClaim } = yield* Effect.promise(() => import("../svm/SvmTransaction.ts"))
  return yield* svmClaim(network, payload)
})
