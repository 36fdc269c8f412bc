/**
 * One step of a journalled payment: asks the chain where it stands and does what comes next. The same
 * step serves a payment that a request waits for and one that reconciliation finds.
 *
 * Invariants: what is sent is journalled first; an error after that is never a failure; a payment fails
 * only where nothing was sent, or where the chain says that no money came and none can come; it is
 * credited only where the chain says that the money is with us. The caller drives a payment once at a
 * time.
 */
import { Effect, Semaphore } from "effect"
import type { InsufficientStorage } from "@muniment/domain/Errors"
import { type PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"
import type { JournalledPayment, PaymentJournal } from "@muniment/ledger/PaymentJournal"
import type { Outages } from "./Outages.ts"
import { countPayment } from "./PaymentMetrics.ts"
import type {
  ChainUnavailable,
  ChainView,
  PaymentChain,
  PaymentClaim,
  PaymentInvalid,
  SignedTransaction
} from "./PaymentChain.ts"

/** Where a payment stands after a step. */
export type PaymentStep =
  | { readonly _tag: "Settled"; readonly hash: string }
  | { readonly _tag: "Failed"; readonly reason: string }
  /** Settled, but the chain has it no more and never will. */
  | { readonly _tag: "Lost" }
  /** Not known yet. */
  | { readonly _tag: "Open" }

export interface StepOptions {
  /** The payment was verified a moment ago. */
  readonly isVerified?: boolean
  /** What was sent may be sent again now. */
  readonly mayResend: boolean
}

export interface PaymentDriver {
  readonly step: (
    chain: PaymentChain,
    payment: JournalledPayment,
    options: StepOptions
  ) => Effect.Effect<PaymentStep, ChainUnavailable | InsufficientStorage>
}

/** `confirmations`: how deep the money must lie before it is credited. */
export const paymentDriver = (
  journal: PaymentJournal["Service"],
  outages: Outages,
  confirmations: number
): PaymentDriver => {
  const lanes = new Map<PaymentNetwork, Semaphore.Semaphore>()

  const step: PaymentDriver["step"] = Effect.fn("PaymentDriver.step")(function* (chain, payment, options) {
    // What is in the journal was read before: a payload that is broken now is a defect.
    const claim = yield* Effect.orDie(chain.claim(payment.payload))
    if (payment.state !== "verified") {
      const transaction = payment.transaction ?? nothingSigned
      return yield* follow(chain, claim, payment, yield* look(chain, claim, transaction, payment.units), options)
    }
    const started = yield* Effect.result(start(chain, claim, payment, options))
    if (started._tag === "Success") {
      const view = yield* look(chain, claim, started.success, payment.units)
      const sent = { ...payment, state: "broadcasting", transaction: started.success } as const
      return yield* follow(chain, claim, sent, view, { mayResend: false })
    }
    if (started.failure._tag !== "PaymentInvalid") return yield* started.failure
    return yield* giveUp(chain, claim, payment, started.failure.reason)
  })

  /** Verified and not sent: it must still be good. */
  const start = Effect.fnUntraced(function* (
    chain: PaymentChain,
    claim: PaymentClaim,
    payment: JournalledPayment,
    { isVerified }: StepOptions
  ) {
    if (isVerified !== true) {
      yield* outages.watch(chain.network, "verify", chain.verify(claim, payment.units))
    }
    return yield* send(chain, claim, payment)
  })

  /** The chain has spoken. */
  const follow = Effect.fnUntraced(function* (
    chain: PaymentChain,
    claim: PaymentClaim,
    payment: JournalledPayment,
    view: ChainView,
    { mayResend }: StepOptions
  ) {
    if (view._tag === "Paid") return yield* paid(payment, view)
    switch (view.next) {
      case "wait":
        return open
      case "resend":
        if (mayResend && payment.transaction !== undefined) yield* broadcast(chain, claim, payment, payment.transaction)
        return open
      case "resign":
        // Refused now, it is still open: what was sent before may yet be seen, and time decides the rest.
        if (mayResend) {
          yield* send(chain, claim, payment).pipe(
            Effect.catchTag("PaymentInvalid", ({ reason }) =>
              Effect.logDebug("a payment is not signed anew", { payment: payment.id, reason })
            )
          )
        }
        return open
      case "never":
        if (payment.state === "settled") return lost
        return yield* fail(payment, "it ran out, or was spent elsewhere, before it reached us")
    }
  })

  const paid = Effect.fnUntraced(function* (payment: JournalledPayment, view: ChainView & { readonly _tag: "Paid" }) {
    const { hash, isFinal } = view
    if (payment.state === "settled") {
      if (payment.transaction?.hash !== hash) yield* journal.resettled(payment.id, hash)
    } else {
      if (!isFinal && view.confirmations < confirmations) return open
      yield* journal.settled(payment.id, hash)
      yield* countPayment(payment.network, "settled")
    }
    if (isFinal) yield* journal.finalized(payment.id)
    return { _tag: "Settled", hash } as const
  })

  /** Refused before anything was sent. An EVM authorisation is anybody's to hand in: it may be with us all the same. */
  const giveUp = Effect.fnUntraced(function* (
    chain: PaymentChain,
    claim: PaymentClaim,
    payment: JournalledPayment,
    reason: string
  ) {
    if (paymentNetworks[chain.network].family === "evm") {
      const view = yield* look(chain, claim, nothingSigned, payment.units)
      if (view._tag === "Paid") return yield* paid(payment, view)
      if (view.next === "wait") return open
    }
    return yield* fail(payment, reason)
  })

  const fail = Effect.fnUntraced(function* (payment: JournalledPayment, reason: string) {
    yield* journal.failed(payment.id, reason)
    yield* countPayment(payment.network, "failed")
    return { _tag: "Failed", reason } as const
  })

  /** Signs, journals, sends; -> what is journalled. One at a time, where the operator's transactions are numbered. */
  const send = (
    chain: PaymentChain,
    claim: PaymentClaim,
    payment: JournalledPayment
  ): Effect.Effect<SignedTransaction, PaymentInvalid | ChainUnavailable | InsufficientStorage> => {
    const sending = Effect.gen(function* () {
      const signed = yield* outages.watch(chain.network, "sign", chain.sign(claim, payment.transaction))
      yield* keep(payment, signed)
      return yield* broadcast(chain, claim, payment, signed)
    })
    return chain.sendsInParallel === true ? sending : laneOf(chain.network).withPermits(1)(sending)
  }

  /** From here on an error means unknown: it is the chain that tells, when it is looked at. */
  const broadcast = (
    chain: PaymentChain,
    claim: PaymentClaim,
    payment: JournalledPayment,
    transaction: SignedTransaction
  ): Effect.Effect<SignedTransaction, InsufficientStorage> =>
    Effect.uninterruptibleMask((restore) =>
      restore(outages.watch(chain.network, "broadcast", chain.broadcast(claim, transaction))).pipe(
        Effect.catchTag("ChainUnavailable", () => Effect.void),
        Effect.flatMap((told) =>
          told === undefined ? Effect.succeed(transaction) : Effect.as(keep(payment, told), told)
        )
      )
    )

  /** A settled payment keeps the bytes it was settled by; only its hash may change, once it is known. */
  const keep = (payment: JournalledPayment, transaction: SignedTransaction) => {
    if (payment.state !== "settled") return journal.broadcasting(payment.id, transaction)
    return transaction.hash === "" ? Effect.void : journal.resettled(payment.id, transaction.hash)
  }

  const look = (chain: PaymentChain, claim: PaymentClaim, transaction: SignedTransaction, units: number) =>
    outages.watch(chain.network, "look", chain.look(claim, transaction, units))

  const laneOf = (network: PaymentNetwork): Semaphore.Semaphore => {
    const lane = lanes.get(network) ?? Semaphore.makeUnsafe(1)
    lanes.set(network, lane)
    return lane
  }

  return { step }
}

const nothingSigned: SignedTransaction = { hash: "", raw: "" }
const open = { _tag: "Open" } as const
const lost = { _tag: "Lost" } as const
