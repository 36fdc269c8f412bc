/**
 * The state machine of a payment (architecture, deposits): claim by id, verify, journal, send, look until
 * the money is there, credit. One for all networks (`PaymentChain`).
 *
 * Invariants: a payment has one run in this process, which all who bring it share; a run ends with the
 * process, never with a client; once a payment is claimed, its caller hears Settled, that it failed for
 * good, or Pending, and never an error that would make him pay twice.
 */
import { Clock, Context, Data, Deferred, Effect, Exit, Fiber, Layer, Option } from "effect"
import type { InsufficientStorage } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { PaymentNetwork } from "@muniment/domain/Payment"
import { type JournalledPayment, PaymentJournal } from "@muniment/ledger/PaymentJournal"
import { Outages } from "./Outages.ts"
import { ChainUnavailable, type PaymentChain, type PaymentClaim, PaymentInvalid } from "./PaymentChain.ts"
import { paymentDriver, type PaymentStep, type StepOptions } from "./PaymentDriver.ts"
import { countPayment, type PaymentCount } from "./PaymentMetrics.ts"
import { Promises } from "./Promises.ts"
import type { WirePayment } from "./wire/PaymentHeader.ts"

export interface PaymentRequest {
  /** Id of the account that is credited, whoever paid. */
  readonly account: string
  /** Of USDC, 6 decimals: what the payment must be worth. */
  readonly units: number
  readonly wire: WirePayment
}

export interface PaymentSettled {
  readonly _tag: "Settled"
  /** Id of the payment. */
  readonly payment: string
  readonly hash: string
  readonly payer: string
  readonly network: PaymentNetwork
  /** It was credited before; nothing was added now. */
  readonly replayed: boolean
}

/** Pending: sent, or about to be; it is carried on without the caller. */
export type PaymentOutcome = PaymentSettled | { readonly _tag: "Pending"; readonly retryAfterSeconds: number }

/** This payment belongs to another account, or to another amount. */
export class PaymentConflict extends Data.TaggedError("PaymentConflict")<{ readonly payment: string }> {}

export type PaymentFailure = PaymentInvalid | ChainUnavailable | PaymentConflict | InsufficientStorage

export interface SettlementOptions {
  /** Of the networks that are served. */
  readonly chains: ReadonlyMap<PaymentNetwork, PaymentChain>
  /** How deep the money must lie before it is credited. */
  readonly confirmations: number
}

export class Settlement extends Context.Service<
  Settlement,
  {
    /** Answers within `Limits.settlementWaitMillis`. */
    readonly pay: (request: PaymentRequest) => Effect.Effect<PaymentOutcome, PaymentFailure>
    /** One step of a journalled payment; undefined where a run is at it, or its network is not served. */
    readonly carryOn: (
      payment: JournalledPayment
    ) => Effect.Effect<PaymentStep | undefined, ChainUnavailable | InsufficientStorage>
    readonly isReachable: (network: PaymentNetwork) => boolean
  }
>()("muniment/payments/Settlement") {
  static readonly layer = (options: SettlementOptions): Layer.Layer<Settlement, never, PaymentJournal> =>
    Layer.effect(
      Settlement,
      Effect.suspend(() => make(options))
    )
}

/** What Retry-After says; reconciliation may have done it by then. */
const retryAfterSeconds = 5
/** Polls from one sending of the same bytes to the next: about a second. */
const pollsPerResend = 4
/** How often a caller waits for a run that is not his own. */
const foreignRunsMax = 2

const pending: PaymentOutcome = { _tag: "Pending", retryAfterSeconds }

interface Run {
  /** Undefined for a step of reconciliation. */
  readonly request: Pick<PaymentRequest, "account" | "units"> | undefined
  /** Comes within `Limits.settlementWaitMillis`; the run may go on after it. */
  readonly answer: Deferred.Deferred<PaymentOutcome, PaymentFailure>
}

const make = Effect.fnUntraced(function* ({ chains, confirmations }: SettlementOptions) {
  const journal = yield* PaymentJournal
  const scope = yield* Effect.scope
  const outages = new Outages()
  const driver = paymentDriver(journal, outages, confirmations)
  const runs = new Map<string, Run>()
  const promises = new Promises(journal)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => runs.forEach(({ answer }) => Deferred.doneUnsafe(answer, Exit.succeed(pending))))
  )

  const pay = Effect.fn("Settlement.pay")(function* (request: PaymentRequest) {
    const chain = chains.get(request.wire.network)
    if (chain === undefined) return yield* notServed(request.wire.network, chains)
    return yield* Effect.flatMap(chain.claim(request.wire.payload), (claim) => enter(chain, claim, request)).pipe(
      Effect.onExit((exit) => countAnswer(chain.network, outcomeOf(exit)))
    )
  })

  /** Joins the run of this payment, or starts it. */
  const enter = Effect.fnUntraced(function* (chain: PaymentChain, claim: PaymentClaim, request: PaymentRequest) {
    for (let wait = 0; wait < foreignRunsMax; wait++) {
      const running = yield* runOf(chain, claim, request)
      if (running === undefined) return yield* turnAway(claim, request)
      const answer = yield* Effect.exit(Deferred.await(running.answer))
      if (isSame(running.request, request)) return yield* answer
    }
    return pending
  })

  /** There is no room for a run: he whose payment is journalled must not hear that nothing was taken. */
  const turnAway = Effect.fnUntraced(function* ({ id, network }: PaymentClaim, request: PaymentRequest) {
    const known = yield* journal.find(id)
    return known === undefined ? yield* overloaded(network) : ((yield* standingOf(known, request)) ?? pending)
  })

  /** Together with the question whether there is one, so that there is never a second. */
  const begin = (id: string, request: Run["request"]): Run => {
    const begun: Run = { request, answer: Deferred.makeUnsafe() }
    runs.set(id, begun)
    return begun
  }
  const end = (id: string, { answer }: Run, exit: Exit.Exit<PaymentOutcome, PaymentFailure>) => {
    runs.delete(id)
    Deferred.doneUnsafe(answer, Exit.hasInterrupts(exit) ? Exit.succeed(pending) : exit)
  }

  /**
   * The run under way, or a new one, apart from the caller and answering in time even if it goes on;
   * undefined: too many are under way.
   */
  const runOf = (chain: PaymentChain, claim: PaymentClaim, request: PaymentRequest) =>
    Effect.suspend((): Effect.Effect<Run | undefined> => {
      const running = runs.get(claim.id)
      if (running !== undefined) return Effect.succeed(running)
      if (runs.size >= Limits.paymentsInFlightMax) return Effect.succeed(undefined)
      const begun = begin(claim.id, request)
      const timeIsOver = Effect.sync(() => Deferred.doneUnsafe(begun.answer, Exit.succeed(pending)))
      return Effect.gen(function* () {
        const timer = yield* Effect.forkIn(Effect.delay(timeIsOver, Limits.settlementWaitMillis), scope)
        const run = Effect.onExit(settle(chain, claim, request), (exit) =>
          Effect.andThen(
            Fiber.interrupt(timer),
            Effect.sync(() => end(claim.id, begun, exit))
          )
        )
        yield* Effect.forkIn(run, scope)
        return begun
      })
    }).pipe(Effect.uninterruptible)

  const settle = Effect.fn("Settlement.settle")(function* (
    chain: PaymentChain,
    claim: PaymentClaim,
    request: PaymentRequest
  ) {
    const known = yield* journal.find(claim.id)
    if (known !== undefined) return yield* resume(chain, known, request)
    const { account, units } = request
    const { id, network, payer, payload } = claim
    const taken = yield* promises.during({ id, network, payer, units }, (promised) =>
      Effect.andThen(
        outages.watch(network, "verify", chain.verify(claim, units, promised)),
        journal.claim({ id, account, network, payer, units, payload })
      )
    )
    if (taken._tag === "Taken") return yield* resume(chain, taken.payment, request)
    return yield* follow(chain, taken.payment, true)
  })

  /** A payment that the journal knows. */
  const resume = Effect.fnUntraced(function* (
    chain: PaymentChain,
    payment: JournalledPayment,
    request: PaymentRequest
  ): Effect.fn.Return<PaymentOutcome, PaymentFailure> {
    return (yield* standingOf(payment, request)) ?? (yield* follow(chain, payment, false))
  })

  /** Step by step until it is settled, has failed, or the time is over: then reconciliation goes on. */
  const follow = Effect.fnUntraced(function* (
    chain: PaymentChain,
    claimed: JournalledPayment,
    isVerified: boolean
  ): Effect.fn.Return<PaymentOutcome, PaymentInvalid> {
    const until = (yield* Clock.currentTimeMillis) + Limits.settlementWaitMillis
    let payment: JournalledPayment | undefined = claimed
    for (let poll = 0; payment !== undefined; poll++) {
      const options = { isVerified, mayResend: poll % pollsPerResend === 0 }
      const step = yield* Effect.result(stepOf(chain, payment, options))
      if (step._tag === "Success") {
        if (step.success._tag === "Settled") return settledOf(payment, step.success.hash, false)
        if (step.success._tag === "Failed") return yield* new PaymentInvalid({ reason: step.success.reason })
      } else if (step.failure._tag === "InsufficientStorage") {
        yield* Effect.logWarning("a payment waits: the disk is full", { payment: payment.id })
        return pending
      } else if ((yield* journal.find(payment.id))?.state === "verified") {
        // Nothing was sent, and to try again costs more questions than to look.
        return pending
      }
      if ((yield* Clock.currentTimeMillis) >= until) return pending
      yield* Effect.sleep(Limits.settlementPollMillis)
      payment = yield* journal.find(payment.id)
    }
    return yield* Effect.die(new Error(`the journal has lost payment ${claimed.id}`))
  })

  /** A defect stays in the log: the caller of a claimed payment must not hear that it failed. */
  const stepOf = (chain: PaymentChain, payment: JournalledPayment, options: StepOptions) =>
    Effect.catchDefect(driver.step(chain, payment, options), (defect) =>
      Effect.andThen(
        Effect.logError("a payment met a defect", { payment: payment.id }, defect),
        new ChainUnavailable({ network: chain.network, cause: "a defect" })
      )
    )

  const carryOn = Effect.fn("Settlement.carryOn")(function* (payment: JournalledPayment) {
    const chain = chains.get(payment.network)
    if (chain === undefined) return undefined
    const step = Effect.gen(function* () {
      // It may have moved since the page was read.
      const now = yield* journal.find(payment.id)
      return now === undefined || !isOpen(now) ? undefined : yield* driver.step(chain, now, { mayResend: true })
    })
    return yield* Effect.acquireUseRelease(
      Effect.sync(() => (runs.has(payment.id) ? undefined : begin(payment.id, undefined))),
      (begun) => (begun === undefined ? Effect.succeed(undefined) : step),
      (begun) => Effect.sync(() => begun && end(payment.id, begun, Exit.succeed(pending)))
    )
  })

  return Settlement.of({ pay, carryOn, isReachable: (network) => outages.isReachable(network) })
})

const isSame = (one: Run["request"], { account, units }: Pick<PaymentRequest, "account" | "units">): boolean =>
  one !== undefined && one.account === account && one.units === units

/** What the journal alone can answer; undefined: the payment is still on its way. */
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
      return yield* new PaymentInvalid({ reason: payment.reason ?? "this payment has failed before" })
    case "reversed":
      return yield* new PaymentInvalid({ reason: "the chain has taken this payment back; sign a new one" })
    case "verified":
    case "broadcasting":
      return undefined
  }
})

const isOpen = ({ state }: JournalledPayment): boolean =>
  state === "verified" || state === "broadcasting" || state === "settled"

const settledOf = ({ id, network, payer }: JournalledPayment, hash: string, replayed: boolean): PaymentSettled => ({
  _tag: "Settled",
  payment: id,
  hash,
  payer,
  network,
  replayed
})

const notServed = (network: PaymentNetwork, chains: ReadonlyMap<PaymentNetwork, PaymentChain>) => {
  const served = [...chains.keys()].join(", ")
  return new PaymentInvalid({ reason: `payments on ${network} are not taken; these are: ${served}` })
}

const overloaded = (network: PaymentNetwork) =>
  Effect.fail(new ChainUnavailable({ network, cause: "too many payments are under way" }))

/** What was settled is counted where it is credited. */
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
    case "ChainUnavailable":
    case "InsufficientStorage":
      return "unavailable"
    case undefined:
      return undefined
  }
}
