/**
 * State machine of a payment, the same for all networks (`PaymentChain`): claim by id, verify, journal, send, look until
 * the money has arrived, credit.
 *
 * Invariants: a payment has one run in this process, shared by all its callers (`PaymentRuns`); once a payment is
 * claimed, the answer is Settled, a final failure, or Pending, and never an error that would make the caller pay twice.
 */
import { Clock, Context, Deferred, Effect, Exit, Layer, Option } from "effect"
import { dayMillis } from "@muniment/domain/CalendarDay"
import { Limits } from "@muniment/domain/Limits"
import { type PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"
import { type JournalledPayment, type NewPayment, PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import type { Reverts } from "@muniment/control/payments/PaymentRows"
import type { ControlFailure } from "@muniment/control/database/ControlFailure"
import { ChainUnavailable, type PaymentChain, type PaymentClaim, PaymentInvalid } from "../chain/PaymentChain.ts"
import {
  nothingSigned,
  Outages,
  PaymentDriver,
  type PaymentStep,
  type SendingLanes,
  type StepOptions,
  submittedByOthers
} from "./PaymentDriver.ts"
import {
  PaymentConflict,
  type PaymentCount,
  type PaymentFailure,
  type PaymentOutcome,
  type PaymentRequest,
  type PaymentRun,
  type PaymentRuns,
  type PaymentSettled,
  TooManyReverts,
  countPayment,
  openPaymentRuns,
  pending
} from "./PaymentRuns.ts"

export interface SettlementOptions {
  /** Chains by the network they serve. */
  readonly chains: ReadonlyMap<PaymentNetwork, PaymentChain>
  /** Confirmations required before the payment is credited. */
  readonly confirmations: number
  /** Shared with others that send with the operator's key. */
  readonly lanes?: SendingLanes
  /** Likewise. */
  readonly outages?: Outages
}

export class Settlement extends Context.Service<
  Settlement,
  {
    /** Answers within `Limits.settlementWaitMillis`. */
    readonly pay: (request: PaymentRequest) => Effect.Effect<PaymentOutcome, PaymentFailure>
    /** One step of a journalled payment; undefined if a run is working on it, or its network is not served. */
    readonly carryOn: (
      payment: JournalledPayment
    ) => Effect.Effect<PaymentStep | undefined, ChainUnavailable | ControlFailure>
  }
>()("muniment/payments/Settlement") {
  static readonly layer = (options: SettlementOptions): Layer.Layer<Settlement, never, PaymentJournal> =>
    Layer.effect(
      Settlement,
      Effect.suspend(() => make(options))
    )
}

/** Polls between two broadcasts of the same bytes: about a second. */
const pollsPerResend = 4
/** How often a caller waits for another caller's run of the same payment. */
const foreignRunsMax = 2

const make = Effect.fnUntraced(function* (options: SettlementOptions) {
  const runs = yield* openPaymentRuns
  const settler = new Settler(yield* PaymentJournal, runs, options)
  return Settlement.of({
    pay: Effect.fn("Settlement.pay")((request) => settler.pay(request)),
    carryOn: Effect.fn("Settlement.carryOn")((payment) => settler.carryOn(payment))
  })
})

class Settler {
  readonly #journal: PaymentJournal["Service"]
  readonly #runs: PaymentRuns
  readonly #chains: ReadonlyMap<PaymentNetwork, PaymentChain>
  readonly #driver: PaymentDriver
  readonly #outages: Outages
  readonly #pendingPayments: PendingPayments

  constructor(
    journal: PaymentJournal["Service"],
    runs: PaymentRuns,
    { chains, confirmations, lanes = new Map(), outages = new Outages() }: SettlementOptions
  ) {
    this.#outages = outages
    this.#journal = journal
    this.#runs = runs
    this.#chains = chains
    this.#driver = new PaymentDriver(journal, this.#outages, { confirmations, lanes, count: countPayment })
    this.#pendingPayments = new PendingPayments(journal)
  }

  pay(request: PaymentRequest): Effect.Effect<PaymentOutcome, PaymentFailure> {
    const chain = this.#chains.get(request.wire.network)
    if (chain === undefined) return this.#answerUnserved(request)
    return Effect.flatMap(chain.claim(request.wire.payload), (claim) => this.#enter(chain, claim, request)).pipe(
      Effect.onExit((exit) => countAnswer(chain.network, outcomeOf(exit)))
    )
  }

  /** On a network that is not served: known payments are answered by the journal, and new ones are refused. */
  #answerUnserved(request: PaymentRequest): Effect.Effect<PaymentOutcome, PaymentFailure> {
    return Effect.gen({ self: this }, function* () {
      const { network, payload } = request.wire
      const refusal = notServed(network, this.#chains)
      if (!(yield* this.#journal.hasAnyOn(network))) return yield* refusal
      const known = yield* this.#journal.find((yield* claimUnserved(network, payload)).id)
      return known === undefined ? yield* refusal : ((yield* standingOf(known, request)) ?? pending)
    }).pipe(Effect.onExit((exit) => countAnswer(request.wire.network, outcomeOf(exit))))
  }

  /** Joins the run of this payment, or starts it. */
  #enter(chain: PaymentChain, claim: PaymentClaim, request: PaymentRequest) {
    return Effect.gen({ self: this }, function* () {
      for (let wait = 0; wait < foreignRunsMax; wait++) {
        const run = yield* this.#runs.joinOrStart(claim.id, request, (begun) =>
          this.#settle(chain, claim, request, begun)
        )
        if (run === undefined) return yield* this.#turnAway(claim, request)
        const answer = yield* Effect.exit(Deferred.await(run.answer))
        if (isSame(run.request, request)) return yield* answer
      }
      return pending
    })
  }

  /** No room for a run: the caller of a journalled payment must not read that nothing was taken. */
  #turnAway({ id, network }: PaymentClaim, request: PaymentRequest) {
    return Effect.gen({ self: this }, function* () {
      const known = yield* this.#journal.find(id)
      return known === undefined ? yield* overloaded(network) : ((yield* standingOf(known, request)) ?? pending)
    })
  }

  #settle(
    chain: PaymentChain,
    claim: PaymentClaim,
    request: PaymentRequest,
    run: PaymentRun
  ): Effect.Effect<PaymentOutcome, PaymentFailure> {
    return Effect.gen({ self: this }, function* () {
      const known = yield* this.#journal.find(claim.id)
      if (known !== undefined) return yield* this.#resume(chain, known, request, run)
      const { account, resource, units } = request
      yield* this.#demandBudget(claim, account)
      const { id, network, payer, payload } = claim
      const taken = yield* this.#pendingPayments.during({ id, network, payer, units }, (committed) =>
        Effect.andThen(
          this.#outages.watch(network, "verify", chain.verify(claim, units, { committed })),
          this.#claimWithin({ id, account, network, payer, units, payload, resource })
        ).pipe(
          Effect.catchTag("PaymentInvalid", (refusal) =>
            refusal.isSpent === true ? this.#claimSubmitted(chain, claim, request, refusal) : Effect.fail(refusal)
          )
        )
      )
      if (taken._tag === "Taken") return yield* this.#resume(chain, taken.payment, request, run)
      return yield* this.#follow(chain, taken.payment, true, run)
    }).pipe(Effect.withSpan("Settlement.settle"))
  }

  /** Contract wallets can pass each check and revert in the block, at our cost. Before any work on the payment. */
  #demandBudget({ network, payer }: PaymentClaim, account: string) {
    return Effect.gen({ self: this }, function* () {
      const now = yield* Clock.currentTimeMillis
      const reverts = yield* this.#journal.revertsOf({ account, network, payer }, now - dayMillis)
      if (isUsedUp(reverts)) return yield* tooManyReverts(reverts, now)
    })
  }

  /** With those under way: else as many as an account may have under way would come on top of its budget. */
  #claimWithin(payment: NewPayment) {
    return Effect.gen({ self: this }, function* () {
      const now = yield* Clock.currentTimeMillis
      const claimed = yield* this.#journal.claimWithin(payment, { ...revertBudget, sinceMillis: now - dayMillis })
      return claimed._tag === "OverBudget" ? yield* tooManyReverts(claimed.reverts, now) : claimed
    })
  }

  /**
   * Somebody else submitted the authorisation before it was presented, and anyone can copy it from the chain: if its
   * money reached us, it belongs to the payer's own wallet account, whoever presents it.
   */
  #claimSubmitted(chain: PaymentChain, claim: PaymentClaim, request: PaymentRequest, refusal: PaymentInvalid) {
    return Effect.gen({ self: this }, function* () {
      const { id, network, payer, payload } = claim
      const { units } = request
      const view = yield* this.#outages.watch(network, "look", chain.look(claim, nothingSigned, units))
      if (view._tag !== "Paid") return yield* refusal
      const account = yield* this.#journal.walletAccount(payer)
      // A receipt does not name a resource that another account asked for.
      const resource = account === request.account ? request.resource : undefined
      const claimed = yield* this.#journal.claim({ id, account, network, payer, units, payload, resource })
      if (claimed._tag === "Taken") return claimed
      const transaction = { hash: view.hash, raw: submittedByOthers }
      yield* this.#journal.broadcasting(id, transaction)
      // Not the caller's unless the account is: as with a payment that another one has claimed.
      return { _tag: "Taken" as const, payment: { ...claimed.payment, state: "broadcasting" as const, transaction } }
    })
  }

  /** Continues a journalled payment. */
  #resume(chain: PaymentChain, payment: JournalledPayment, request: PaymentRequest, run: PaymentRun) {
    return Effect.flatMap(standingOf(payment, request), (standing) =>
      standing === undefined ? this.#follow(chain, payment, false, run) : Effect.succeed(standing)
    )
  }

  /** Steps until the payment is settled, has failed, or the time is over; then reconciliation continues. */
  #follow(
    chain: PaymentChain,
    claimed: JournalledPayment,
    isVerified: boolean,
    run: PaymentRun
  ): Effect.Effect<PaymentOutcome, PaymentInvalid> {
    return Effect.gen({ self: this }, function* () {
      const until = (yield* Clock.currentTimeMillis) + Limits.settlementWaitMillis
      let payment: JournalledPayment | undefined = claimed
      for (let poll = 0; payment !== undefined; poll++) {
        const options = { isVerified, mayResend: poll % pollsPerResend === 0 }
        const step = yield* Effect.result(this.#stepOf(chain, payment, options))
        if (step._tag === "Success") {
          if (step.success._tag === "Settled") {
            const settled = (yield* this.#journal.find(payment.id)) ?? payment
            return settledOf(settled, step.success.hash, false)
          }
          if (step.success._tag === "Failed") return yield* new PaymentInvalid({ reason: step.success.reason })
          if (payment.state === "verified" && (yield* this.#isUnsent(payment))) return pending
        } else if (step.failure._tag !== "ChainUnavailable") {
          yield* Effect.logWarning("payment waits", { payment: payment.id, code: step.failure.code })
          return pending
        } else if (yield* this.#isUnsent(payment)) return pending
        if ((yield* Clock.currentTimeMillis) >= until) return pending
        run.isWaiting = true
        yield* Effect.sleep(Limits.settlementPollMillis)
        payment = yield* this.#journal.find(payment.id)
      }
      return yield* Effect.die(new Error(`the journal has lost payment ${claimed.id}`))
    })
  }

  /** Nothing was sent: another attempt costs more requests than reconciliation's look. */
  #isUnsent({ id }: JournalledPayment): Effect.Effect<boolean> {
    return Effect.map(this.#journal.find(id), (now) => now?.state === "verified")
  }

  /** A defect is logged and not answered: the caller of a claimed payment must not read that it failed. */
  #stepOf(chain: PaymentChain, payment: JournalledPayment, options: StepOptions) {
    return Effect.catchDefect(this.#driver.step(chain, payment, options), (defect) =>
      Effect.andThen(
        Effect.logError("payment step crashed; reconciliation will retry", { payment: payment.id }, defect),
        new ChainUnavailable({ network: chain.network, cause: "a defect" })
      )
    )
  }

  carryOn(payment: JournalledPayment): Effect.Effect<PaymentStep | undefined, ChainUnavailable | ControlFailure> {
    const chain = this.#chains.get(payment.network)
    if (chain === undefined) return Effect.succeed(undefined)
    const step = Effect.gen({ self: this }, function* () {
      // The payment may have changed since the page was read.
      const now = yield* this.#journal.find(payment.id)
      return now === undefined || !isOpen(now) ? undefined : yield* this.#driver.step(chain, now, { mayResend: true })
    })
    return this.#runs.alone(payment.id, step)
  }
}

const revertBudget = { byPayer: Limits.revertsPerPayerDay, byAccount: Limits.revertsPerAccountDay }

const isUsedUp = ({ byAccount, byPayer }: Reverts): boolean =>
  byPayer >= revertBudget.byPayer || byAccount >= revertBudget.byAccount

/** A budget that only payments under way use up has room again when they have an outcome. */
const tooManyReverts = (reverts: Reverts, nowMillis: number) =>
  new TooManyReverts({
    retryAfterSeconds: isUsedUp(reverts)
      ? Math.ceil((reverts.firstAt + dayMillis - nowMillis) / 1_000)
      : Limits.paymentRetrySeconds
  })

const isSame = (one: PaymentRun["request"], { account, units }: Pick<PaymentRequest, "account" | "units">): boolean =>
  one !== undefined && one.account === account && one.units === units

/** The answer that the journal alone can give; undefined if the payment is still under way. */
const standingOf = Effect.fnUntraced(function* (
  payment: JournalledPayment,
  request: PaymentRequest
): Effect.fn.Return<PaymentOutcome | undefined, PaymentInvalid | PaymentConflict> {
  if (!isSame(payment, request)) return yield* new PaymentConflict({ payment: payment.id })
  switch (payment.state) {
    case "settled":
    case "finalized":
      return settledOf(payment, payment.transaction?.hash ?? "", true)
    case "failed":
      return yield* new PaymentInvalid({ reason: payment.reason ?? "this payment has already failed; sign a new one" })
    case "reversed":
      return yield* new PaymentInvalid({ reason: "a chain reorganisation removed this payment; sign a new one" })
    case "verified":
    case "broadcasting":
      return undefined
  }
})

const isOpen = ({ state }: JournalledPayment): boolean =>
  state === "verified" || state === "broadcasting" || state === "settled"

const settledOf = (payment: JournalledPayment, hash: string, replayed: boolean): PaymentSettled => ({
  _tag: "Settled",
  payment: payment.id,
  hash,
  payer: payment.payer,
  network: payment.network,
  resource: payment.resource,
  settledAt: payment.settledAt ?? payment.updatedAt,
  replayed
})

const notServed = (network: PaymentNetwork, chains: ReadonlyMap<PaymentNetwork, PaymentChain>) => {
  const served = [...chains.keys()].join(", ")
  const accepted = served === "" ? "none are" : `accepted are: ${served}`
  return new PaymentInvalid({ reason: `payments on ${network} are not accepted; ${accepted}` })
}

const overloaded = (network: PaymentNetwork) =>
  Effect.fail(new ChainUnavailable({ network, cause: "too many payments are under way; retry with a delay" }))

/** A new settlement is counted where it is credited. */
const countAnswer = (network: PaymentNetwork, outcome: PaymentCount | undefined): Effect.Effect<void> =>
  outcome === undefined ? Effect.void : countPayment(network, outcome)

const outcomeOf = (exit: Exit.Exit<PaymentOutcome, PaymentFailure>): PaymentCount | undefined => {
  if (Exit.isSuccess(exit)) {
    if (exit.value._tag === "Pending") return "pending"
    return exit.value.replayed ? "replayed" : undefined
  }
  const failure = Option.getOrUndefined(Exit.findErrorOption(exit))
  switch (failure?._tag) {
    case "PaymentInvalid":
      return "invalid"
    case "PaymentConflict":
      return "conflict"
    case "TooManyReverts":
      return "limited"
    case "ChainUnavailable":
    case "InsufficientStorage":
    case "Unavailable":
      return "unavailable"
    case undefined:
      return undefined
  }
}

interface PendingPayment {
  /** Id of the payment. */
  readonly id: string
  readonly network: PaymentNetwork
  readonly payer: string
  /** Units of USDC, 6 decimals. */
  readonly units: number
}

/**
 * Amounts committed by a payer's unfinished payments, to be subtracted from the payer's balance during
 * verification: thirty concurrent payments backed by one balance would otherwise all verify and be sent at our cost;
 * one would be paid.
 *
 * Invariant: a payment counts against those that arrive after it, never against earlier ones.
 */
class PendingPayments {
  readonly #journal: PaymentJournal["Service"]
  /** Payments that are not journalled yet, in order of arrival; bounded by the number of runs. */
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
const claimUnserved = Effect.fn("PendingPayments.claimUnserved")(function* (
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
