/**
 * Refunds on chain: USDC goes back to the payer of a payment by an authorisation that the operator signs with the wallet
 * that holds the money, elsewhere; this service never has that key. It is sent, followed and ended as a payment is, by
 * the same driver (`settlement/PaymentDriver`).
 *
 * Invariants: only payments that their chain has called final are refunded, up to what their account has not spent; the
 * credits are taken and the authorisation is journalled before it is sent, so a repeat, also after a kill, goes on with
 * the first one; credits come back only if two looks by different blocks say that the money never left.
 */
import { Clock, Data, Effect, Schedule, Semaphore } from "effect"
import type { Conflict } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { microCreditsPerUsdcUnit, type MicroCredits } from "@muniment/domain/Money"
import type { PaymentNetwork, PaymentRequirement } from "@muniment/domain/Payment"
import type { JournalledPayment, PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import type { JournalledRefund } from "@muniment/control/payments/RefundJournal"
import { Rounds } from "@muniment/worker/Rounds"
import { type ChainUnavailable, type PaymentChain, PaymentInvalid } from "../chain/PaymentChain.ts"
import { type Outages, PaymentDriver, type SendingLanes } from "../settlement/PaymentDriver.ts"
import type { WirePayment } from "../wire/PaymentHeader.ts"
import type { ControlFailure } from "@muniment/control/database/ControlFailure"

/** Why a payment cannot be refunded; a text for the operator. */
class NotRefundable extends Data.TaggedError("NotRefundable")<{ readonly reason: string }> {}

export interface RefundOffer {
  readonly payment: JournalledPayment
  /** The refund under way, or done. */
  readonly refund: JournalledRefund | undefined
  /** The requirement to sign; undefined if there is a refund. */
  readonly requirement: PaymentRequirement | undefined
}

interface RefundsOptions {
  readonly chains: ReadonlyMap<PaymentNetwork, PaymentChain>
  readonly confirmations: number
  readonly lanes: SendingLanes
  readonly outages: Outages
}

type SendFailure = NotRefundable | PaymentInvalid | ChainUnavailable | Conflict | ControlFailure

export class Refunds {
  readonly #journal: PaymentJournal["Service"]
  readonly #chains: ReadonlyMap<PaymentNetwork, PaymentChain>
  readonly #driver: PaymentDriver
  /** One step of a refund at a time: a command and a round may meet. */
  readonly #turns = Semaphore.makeUnsafe(1)

  constructor(journal: PaymentJournal["Service"], { chains, confirmations, lanes, outages }: RefundsOptions) {
    this.#journal = journal
    this.#chains = chains
    const count = () => Effect.void
    this.#driver = new PaymentDriver(journal.refunds, outages, { confirmations, lanes, count })
  }

  /** `balance`: what the account has free. Changes nothing. */
  offer(payment: JournalledPayment, balance: MicroCredits): Effect.Effect<RefundOffer, NotRefundable> {
    return Effect.gen({ self: this }, function* () {
      const refund = yield* this.#journal.refunds.of(payment.id)
      if (refund !== undefined) return { payment, refund, requirement: undefined }
      if (payment.state !== "finalized") return yield* notFinal(payment)
      const chain = yield* this.#chainOf(payment.network)
      const units = Math.min(payment.units, Math.floor(balance / microCreditsPerUsdcUnit))
      if (units <= 0) return yield* new NotRefundable({ reason: "its credits are spent" })
      const description = `refund of ${payment.id}`
      const requirement = { ...chain.requirement({ units, resource: "refund", description }), payTo: payment.payer }
      return { payment, refund: undefined, requirement }
    })
  }

  /** Sends what the operator has signed for the offer; a repeat goes on with the refund that the payment has. */
  send(
    payment: JournalledPayment,
    balance: MicroCredits,
    wire: WirePayment
  ): Effect.Effect<JournalledRefund, SendFailure> {
    return Effect.gen({ self: this }, function* () {
      const { refund, requirement } = yield* this.offer(payment, balance)
      const begun = refund ?? (yield* this.#begin(payment, Number(requirement?.maxAmountRequired), wire))
      return yield* this.#follow(begun)
    }).pipe(Effect.withSpan("Refunds.send"))
  }

  #begin(payment: JournalledPayment, units: number, wire: WirePayment) {
    return Effect.gen({ self: this }, function* () {
      const { account, network } = payment
      if (wire.network !== network) return yield* new PaymentInvalid({ reason: `sign for ${network}` })
      const chain = yield* this.#chainOf(network)
      const { id, payer, payload, payTo } = yield* chain.claim(wire.payload)
      const receiver = yield* chain.receiverOf(payment.payer)
      if (payTo !== receiver) return yield* new PaymentInvalid({ reason: `the money must go to ${receiver}` })
      yield* chain.verify({ id, network, payer, payload, payTo }, units, { isJournalled: true })
      return yield* this.#journal.refunds.claim({ id, payment: payment.id, account, network, payer, units, payload })
    })
  }

  /** Steps until the money has left or the time is over; then rounds go on. */
  #follow(begun: JournalledRefund): Effect.Effect<JournalledRefund, ControlFailure> {
    return Effect.gen({ self: this }, function* () {
      const until = (yield* Clock.currentTimeMillis) + Limits.settlementWaitMillis
      let refund = begun
      while (isOpen(refund) && (yield* Clock.currentTimeMillis) < until) {
        // An outage is not the end: the refund is journalled.
        yield* Effect.catchTag(this.#step(refund), "ChainUnavailable", () => Effect.void)
        refund = (yield* this.#journal.refunds.find(refund.id)) ?? refund
        if (isOpen(refund)) yield* Effect.sleep(Limits.settlementPollMillis)
      }
      return refund
    })
  }

  #step({ id, network }: JournalledRefund) {
    return this.#turns.withPermits(1)(
      Effect.gen({ self: this }, function* () {
        const chain = this.#chains.get(network)
        const refund = yield* this.#journal.refunds.find(id)
        if (chain === undefined || refund === undefined || isEnded(refund)) return
        const step = yield* this.#driver.step(chain, refund, { mayResend: true })
        if (step._tag !== "Lost") return
        yield* this.#journal.refunds.failed(id, "a chain reorganisation removed it")
        yield* Effect.logWarning("refund undone: a chain reorganisation removed it", { refund: id })
      })
    )
  }

  /** One step for each refund that has not ended. A failure of one does not stop the others. */
  get round(): Effect.Effect<void> {
    return Effect.flatMap(this.#journal.refunds.unfinished, (open) =>
      Effect.forEach(
        open,
        (refund) =>
          Effect.catchCause(this.#step(refund), (cause) =>
            Effect.logWarning("refund waits; the next round tries again", { refund: refund.id, cause })
          ),
        { discard: true }
      )
    )
  }

  /** Rounds while the scope lives. */
  get run() {
    const schedule = Schedule.spaced(Limits.reconcileEveryMillis)
    return Rounds.add({ name: "refunds", schedule, work: this.round, isFirstNow: true })
  }

  #chainOf(network: PaymentNetwork): Effect.Effect<PaymentChain, NotRefundable> {
    const chain = this.#chains.get(network)
    return chain === undefined
      ? Effect.fail(new NotRefundable({ reason: `${network} is not served now: add it to MUNIMENT_PAYMENT_NETWORKS` }))
      : Effect.succeed(chain)
  }
}

const isOpen = ({ state }: JournalledRefund): boolean => state === "verified" || state === "broadcasting"
const isEnded = ({ state }: JournalledRefund): boolean => state === "finalized" || state === "failed"

const notFinal = ({ state }: JournalledPayment) =>
  new NotRefundable({
    reason:
      state === "settled"
        ? "its chain has not called it final yet: a reorganisation could still take it back"
        : `nothing of it is with us: it is ${state}`
  })
