/**
 * One step of a journalled payment: asks the chain for its state and does what follows. Used for payments that a request
 * waits for and for those found by reconciliation.
 *
 * Invariants: a transaction is journalled before it is sent; an error after that is never a failure; a payment fails only
 * if nobody but us could have sent it and we did not, or if the chain says at two different blocks that no money came and
 * none can come (`Doubts`); it is credited only if the chain says that the money has arrived. Callers run one step of a
 * payment at a time.
 */
import { Clock, Effect, Semaphore } from "effect"
import { type PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"
import type { JournalledPayment, PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import type { ControlFailure } from "@muniment/control/database/ControlFailure"
import {
  type ChainUnavailable,
  type ChainView,
  isChainUnavailable,
  type PaymentChain,
  type PaymentClaim,
  type PaymentInvalid,
  type SignedTransaction
} from "../chain/PaymentChain.ts"

/** State of a payment after a step. */
export type PaymentStep =
  | { readonly _tag: "Settled"; readonly hash: string }
  | { readonly _tag: "Failed"; readonly reason: string }
  /** Settled, but two looks by different blocks say that the chain does not contain it any more and never will. */
  | { readonly _tag: "Lost" }
  /** The outcome is not known yet. */
  | { readonly _tag: "Open" }

export interface StepOptions {
  /** The payment was just verified. */
  readonly isVerified?: boolean
  /** A transaction may be sent again now. */
  readonly mayResend: boolean
}

/** Journal that a step writes: of payments, or of refunds. */
interface DrivenJournal {
  readonly broadcasting: PaymentJournal["Service"]["broadcasting"]
  readonly settled: (id: string, hash: string) => Effect.Effect<unknown, ControlFailure>
  readonly resettled: PaymentJournal["Service"]["resettled"]
  readonly finalized: PaymentJournal["Service"]["finalized"]
  readonly failed: PaymentJournal["Service"]["failed"]
  readonly reverted: PaymentJournal["Service"]["reverted"]
}

/** One for all that send with the operator's key: transactions of a network are numbered. */
export type SendingLanes = Map<PaymentNetwork, Semaphore.Semaphore>

interface DriverOptions {
  /** Required before a payment is credited. */
  readonly confirmations: number
  readonly lanes: SendingLanes
  readonly count: (network: PaymentNetwork, outcome: "settled" | "failed") => Effect.Effect<void>
}

export class PaymentDriver {
  readonly #journal: DrivenJournal
  readonly #outages: Outages
  readonly #confirmations: number
  readonly #doubts = new Doubts()
  readonly #lanes: SendingLanes
  readonly #count: DriverOptions["count"]

  constructor(journal: DrivenJournal, outages: Outages, { confirmations, count, lanes }: DriverOptions) {
    this.#journal = journal
    this.#outages = outages
    this.#confirmations = confirmations
    this.#lanes = lanes
    this.#count = count
  }

  step(
    chain: PaymentChain,
    payment: JournalledPayment,
    options: StepOptions
  ): Effect.Effect<PaymentStep, ChainUnavailable | ControlFailure> {
    return Effect.gen({ self: this }, function* () {
      // The journal's payload was read before: one that cannot be read now is a defect.
      const claim = yield* Effect.orDie(chain.claim(payment.payload))
      if (payment.state !== "verified") {
        const view = yield* this.#look(chain, claim, payment.transaction ?? nothingSigned, payment.units)
        return yield* this.#follow(chain, claim, payment, view, options)
      }
      const started = yield* Effect.result(this.#start(chain, claim, payment, options))
      if (started._tag === "Success") {
        const view = yield* this.#look(chain, claim, started.success, payment.units)
        const sent = { ...payment, state: "broadcasting", transaction: started.success } as const
        return yield* this.#follow(chain, claim, sent, view, { mayResend: false })
      }
      if (started.failure._tag !== "PaymentInvalid") return yield* started.failure
      return yield* this.#giveUp(chain, claim, payment, started.failure.reason)
    }).pipe(Effect.withSpan("PaymentDriver.step"))
  }

  /** Verified and not sent: it must still be valid. */
  #start(chain: PaymentChain, claim: PaymentClaim, payment: JournalledPayment, { isVerified }: StepOptions) {
    const verified =
      isVerified === true
        ? Effect.void
        : this.#outages.watch(chain.network, "verify", chain.verify(claim, payment.units, { isJournalled: true }))
    return Effect.andThen(verified, this.#send(chain, claim, payment))
  }

  /** Acts on the chain's view of the payment. */
  #follow(
    chain: PaymentChain,
    claim: PaymentClaim,
    payment: JournalledPayment,
    view: ChainView,
    { mayResend }: StepOptions
  ): Effect.Effect<PaymentStep, ChainUnavailable | ControlFailure> {
    return Effect.gen({ self: this }, function* () {
      if (view._tag === "Paid") return yield* this.#paid(payment, view)
      if (view._tag === "Never") {
        return yield* this.#never(payment, view.block, "it expired, or was spent elsewhere, before it reached us")
      }
      if (view.isReverted === true && payment.revertedAt === undefined) yield* this.#journal.reverted(payment.id)
      switch (view.next) {
        case "wait":
          return open
        case "resend":
          if (mayResend && payment.transaction !== undefined) {
            yield* this.#broadcast(chain, claim, payment, payment.transaction)
          }
          return open
        case "resign":
          if (mayResend) yield* this.#signAgain(chain, claim, payment)
          return open
      }
    })
  }

  /** If refused, the payment stays open: the previous transaction may still arrive, and expiry decides the rest. */
  #signAgain(chain: PaymentChain, claim: PaymentClaim, payment: JournalledPayment) {
    return this.#send(chain, claim, payment).pipe(
      Effect.catchTag("PaymentInvalid", ({ reason }) =>
        Effect.logDebug("payment not signed again", { payment: payment.id, reason })
      )
    )
  }

  #paid(payment: JournalledPayment, view: ChainView & { readonly _tag: "Paid" }) {
    return Effect.gen({ self: this }, function* () {
      const { hash, isFinal } = view
      if (payment.state === "settled") {
        if (payment.transaction?.hash !== hash) yield* this.#journal.resettled(payment.id, hash)
      } else {
        const isDeep = view.confirmations >= this.#confirmations && payment.transaction?.raw !== submittedByOthers
        if (!isFinal && !isDeep) return open
        yield* this.#journal.settled(payment.id, hash)
        yield* this.#count(payment.network, "settled")
      }
      if (isFinal) yield* this.#journal.finalized(payment.id)
      return { _tag: "Settled", hash } as const
    })
  }

  /** The chain says that no money came and none can: believed the second time. */
  #never(payment: JournalledPayment, block: bigint, reason: string) {
    return Effect.suspend((): Effect.Effect<PaymentStep, ControlFailure> => {
      if (!this.#doubts.isConfirmed(payment.id, block)) return Effect.succeed(open)
      return payment.state === "settled" ? Effect.succeed(lost) : this.#fail(payment, reason)
    })
  }

  /**
   * Refused before we sent it. Anyone can submit an EVM authorisation, so the chain decides; a Solana payment needs our
   * signature.
   */
  #giveUp(chain: PaymentChain, claim: PaymentClaim, payment: JournalledPayment, reason: string) {
    return Effect.gen({ self: this }, function* () {
      if (paymentNetworks[chain.network].family === "evm") {
        const view = yield* this.#look(chain, claim, nothingSigned, payment.units)
        if (view._tag === "Paid") return yield* this.#paid(payment, view)
        return view._tag === "Never" ? yield* this.#never(payment, view.block, reason) : open
      }
      return yield* this.#fail(payment, reason)
    })
  }

  #fail(payment: JournalledPayment, reason: string) {
    return this.#journal
      .failed(payment.id, reason)
      .pipe(Effect.andThen(this.#count(payment.network, "failed")), Effect.as({ _tag: "Failed", reason } as const))
  }

  /** Signs, journals, sends; -> what is journalled. One at a time where the operator's transactions are numbered. */
  #send(
    chain: PaymentChain,
    claim: PaymentClaim,
    payment: JournalledPayment
  ): Effect.Effect<SignedTransaction, PaymentInvalid | ChainUnavailable | ControlFailure> {
    const sending = Effect.gen({ self: this }, function* () {
      const signed = yield* this.#outages.watch(chain.network, "sign", chain.sign(claim, payment.transaction))
      yield* this.#keep(payment, signed)
      return yield* this.#broadcast(chain, claim, payment, signed)
    })
    return chain.sendsInParallel === true ? sending : this.#laneOf(chain.network).withPermits(1)(sending)
  }

  /** After this call an error means unknown: only the chain can tell. */
  #broadcast(
    chain: PaymentChain,
    claim: PaymentClaim,
    payment: JournalledPayment,
    transaction: SignedTransaction
  ): Effect.Effect<SignedTransaction, ControlFailure> {
    return Effect.uninterruptibleMask((restore) =>
      restore(this.#outages.watch(chain.network, "broadcast", chain.broadcast(claim, transaction))).pipe(
        Effect.catchTag("ChainUnavailable", () => Effect.void),
        Effect.flatMap((replaced) =>
          replaced === undefined ? Effect.succeed(transaction) : Effect.as(this.#keep(payment, replaced), replaced)
        )
      )
    )
  }

  /** A settled payment keeps the bytes by which it was settled; only its hash may change, once it is known. */
  #keep(payment: JournalledPayment, transaction: SignedTransaction) {
    if (payment.state !== "settled") return this.#journal.broadcasting(payment.id, transaction)
    return transaction.hash === "" ? Effect.void : this.#journal.resettled(payment.id, transaction.hash)
  }

  #look(chain: PaymentChain, claim: PaymentClaim, transaction: SignedTransaction, units: number) {
    return Effect.tap(this.#outages.watch(chain.network, "look", chain.look(claim, transaction, units)), ({ _tag }) =>
      Effect.sync(() => {
        if (_tag !== "Never") this.#doubts.clear(claim.id)
      })
    )
  }

  #laneOf(network: PaymentNetwork): Semaphore.Semaphore {
    const lane = this.#lanes.get(network) ?? Semaphore.makeUnsafe(1)
    this.#lanes.set(network, lane)
    return lane
  }
}

/**
 * Journalled in place of the bytes of a payment that somebody else had submitted before it was presented: it is credited
 * when it is final, as nobody of ours claimed it before the chain had it.
 */
export const submittedByOthers = "submitted by others"

export const nothingSigned: SignedTransaction = { hash: "", raw: "" }
const open = { _tag: "Open" } as const
const lost = { _tag: "Lost" } as const

/**
 * Reports of a chain that a payment can never arrive. One may be wrong (a node on a fork, a wrong receipt), so that the
 * second one counts, if it names another block; a look that says anything else in between starts over.
 *
 * In memory only: after a restart two more reports are needed.
 */
class Doubts {
  readonly #blocks = new Map<string, bigint>()

  /** Notes a report of `block`; true if an earlier one of another block stands. */
  isConfirmed(paymentId: string, block: bigint): boolean {
    const first = this.#blocks.get(paymentId)
    if (first === undefined) {
      this.#blocks.set(paymentId, block)
      return false
    }
    if (first === block) return false
    this.#blocks.delete(paymentId)
    return true
  }

  clear(paymentId: string): void {
    this.#blocks.delete(paymentId)
  }
}

/** The call of a chain. */
type ChainQuestion = keyof Pick<PaymentChain, "verify" | "sign" | "broadcast" | "look">

/** What the nodes of a network do not do. */
export interface ChainProblem {
  readonly question: ChainQuestion
  readonly cause: string
  readonly since: number
}

/**
 * Outages of payment networks. The log has one line when an outage begins and one when it ends, however many payments
 * meet it. Questions are separate: a node that answers may still refuse to send, as when the operator's wallet is empty.
 */
export class Outages {
  /** `lastAt`: when the nodes refused last, in milliseconds. */
  readonly #away = new Map<string, ChainProblem & { readonly network: PaymentNetwork; readonly lastAt: number }>()

  /** Of a network, now. */
  of(network: PaymentNetwork): ReadonlyArray<ChainProblem> {
    return [...this.#away.values()]
      .filter((one) => one.network === network)
      .map(({ cause, question, since }) => ({ question, cause, since }))
  }

  /**
   * The nodes of the network are well, and payments that wait have asked again since `before`: what was met last before
   * that is over, though no payment came that would have shown it. A refused transaction is not disproved by that.
   */
  disprove(network: PaymentNetwork, before: number): Effect.Effect<void> {
    const over = [...this.#away].filter(
      ([, one]) => one.network === network && one.question !== "broadcast" && one.lastAt < before
    )
    return Effect.forEach(over, ([key, one]) => this.#end(key, one), { discard: true })
  }

  #end(key: string, { network, question }: Pick<ChainProblem, "question"> & { readonly network: PaymentNetwork }) {
    return Effect.suspend(() =>
      this.#away.delete(key) ? Effect.logInfo("payment network works again", { network, question }) : Effect.void
    )
  }

  /** Runs `effect` and records whether the network answered. */
  watch<A, E, R>(
    network: PaymentNetwork,
    question: ChainQuestion,
    effect: Effect.Effect<A, E | ChainUnavailable, R>
  ): Effect.Effect<A, E | ChainUnavailable, R> {
    const key = keyOf(network, question)
    const back = this.#end(key, { network, question })
    const gone = ({ cause }: ChainUnavailable) =>
      Effect.flatMap(Clock.currentTimeMillis, (lastAt) => {
        const known = this.#away.get(key)
        const problem = { network, question, cause: causeText(cause) }
        // The last word of the nodes, since their first.
        this.#away.set(key, { ...problem, since: known?.since ?? lastAt, lastAt })
        return known === undefined
          ? Effect.logWarning("payment network does not work; payments wait", problem)
          : Effect.void
      })
    // A refusal says nothing about the network: some rules need no call.
    return effect.pipe(
      Effect.tap(() => back),
      Effect.tapError((error) => (isChainUnavailable(error) ? gone(error) : Effect.void))
    )
  }
}

const keyOf = (network: PaymentNetwork, question: ChainQuestion): string => `${network} ${question}`

/** Texts of our chains are safe; other causes may contain a URL with its key. */
const causeText = (cause: unknown): string =>
  typeof cause === "string" ? cause : cause instanceof Error ? cause.name : "no reason given"
