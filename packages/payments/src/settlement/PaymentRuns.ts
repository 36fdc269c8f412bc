/**
 * Runs of payments in this process: at most one per payment, shared by all callers of it.
 *
 * Invariants: a run is a fiber of the service and ends with the process, never with a client; its answer comes within
 * `Limits.settlementWaitMillis`, even if the run continues. A run that was not answered holds a place: at most
 * `Limits.paymentsPerNetworkMax` of a network, `Limits.paymentsPerAccountMax` of them of one account. When places are
 * short, those without an outcome give way: a run that only waits for its chain is answered Pending and left to
 * reconciliation, of the account that holds most.
 */
import { Data, Deferred, Effect, Exit, Fiber, Metric, type Scope } from "effect"
import type { ControlFailure } from "@muniment/control/database/ControlFailure"
import { Limits } from "@muniment/domain/Limits"
import type { PaymentNetwork } from "@muniment/domain/Payment"
import type { ChainUnavailable, PaymentInvalid } from "../chain/PaymentChain.ts"
import type { WirePayment } from "../wire/PaymentHeader.ts"

export interface PaymentRun {
  /** Undefined for a step of reconciliation. */
  readonly request: (Pick<PaymentRequest, "account" | "units"> & { readonly network: PaymentNetwork }) | undefined
  readonly answer: Deferred.Deferred<PaymentOutcome, PaymentFailure>
  /** Sent, and waiting for its chain: set by the run. */
  isWaiting: boolean
  isAnswered: boolean
  fiber: Fiber.Fiber<unknown, unknown> | undefined
}

type Settling = (run: PaymentRun) => Effect.Effect<PaymentOutcome, PaymentFailure>

/** When the scope closes, every caller that waits is answered Pending. */
export const openPaymentRuns = Effect.gen(function* () {
  const runs = new PaymentRuns(yield* Effect.scope)
  yield* Effect.addFinalizer(() => Effect.sync(() => runs.answerAll()))
  return runs
})

export class PaymentRuns {
  readonly #scope: Scope.Scope
  /** In order of their start. */
  readonly #runs = new Map<string, PaymentRun>()

  constructor(scope: Scope.Scope) {
    this.#scope = scope
  }

  /** The run under way, or a new one of `settling`; undefined if there is no place. */
  joinOrStart(id: string, request: PaymentRequest, settling: Settling): Effect.Effect<PaymentRun | undefined> {
    return Effect.suspend((): Effect.Effect<PaymentRun | undefined> => {
      const running = this.#runs.get(id)
      if (running !== undefined) return Effect.succeed(running)
      const { account, units, wire } = request
      const place = this.#placeFor(account, wire.network)
      if (place === "none") return Effect.succeed(undefined)
      const leaving = place === "free" ? Effect.void : this.#giveWay(place)
      return Effect.andThen(leaving, this.#start(id, { account, units, network: wire.network }, settling))
    }).pipe(Effect.uninterruptible)
  }

  /** Runs `step` as the only run of this payment; undefined if there is one already. */
  alone<A, E>(id: string, step: Effect.Effect<A, E>): Effect.Effect<A | undefined, E> {
    return Effect.acquireUseRelease(
      Effect.sync(() => (this.#runs.has(id) ? undefined : this.#begin(id, undefined))),
      (begun): Effect.Effect<A | undefined, E> => (begun === undefined ? Effect.succeed(undefined) : step),
      (begun) => Effect.sync(() => begun && this.#end(id, begun, Exit.succeed(pending)))
    )
  }

  answerAll(): void {
    for (const run of this.#runs.values()) answerPending(run)
  }

  /** A free place, the run that gives up its own, or none. */
  #placeFor(account: string, network: PaymentNetwork): "free" | "none" | PaymentRun {
    const holders = [...this.#runs.values()].filter(
      ({ isAnswered, request }) => !isAnswered && request?.network === network
    )
    const byAccount = Map.groupBy(holders, ({ request }) => request?.account ?? "")
    const own = byAccount.get(account) ?? []
    if (own.length >= Limits.paymentsPerAccountMax) return own.find(({ isWaiting }) => isWaiting) ?? "none"
    if (holders.length < Limits.paymentsPerNetworkMax) return "free"
    const most = [...byAccount.values()].reduce((one, other) => (other.length > one.length ? other : one))
    if (most.length <= own.length + 1) return own.find(({ isWaiting }) => isWaiting) ?? "none"
    return most.find(({ isWaiting }) => isWaiting) ?? holders.find(({ isWaiting }) => isWaiting) ?? "none"
  }

  /**
   * Ends a run whose payment was sent: reconciliation goes on. Until its fiber has ended, no other run of it starts.
   */
  #giveWay(run: PaymentRun): Effect.Effect<void> {
    answerPending(run)
    return run.fiber === undefined ? Effect.void : Effect.asVoid(Effect.forkIn(Fiber.interrupt(run.fiber), this.#scope))
  }

  #start(id: string, request: PaymentRun["request"], settling: Settling) {
    // In the same turn of the event loop as the lookup, so that there is never a second run.
    const begun = this.#begin(id, request)
    const timeIsOver = Effect.sync(() => answerPending(begun))
    return Effect.gen({ self: this }, function* () {
      const timer = yield* Effect.forkIn(Effect.delay(timeIsOver, Limits.settlementWaitMillis), this.#scope)
      const run = Effect.onExit(settling(begun), (exit) =>
        Effect.andThen(
          Fiber.interrupt(timer),
          Effect.sync(() => this.#end(id, begun, exit))
        )
      )
      begun.fiber = yield* Effect.forkIn(Effect.interruptible(run), this.#scope)
      return begun
    })
  }

  #begin(id: string, request: PaymentRun["request"]): PaymentRun {
    const begun: PaymentRun = {
      request,
      answer: Deferred.makeUnsafe(),
      isWaiting: false,
      isAnswered: false,
      fiber: undefined
    }
    this.#runs.set(id, begun)
    return begun
  }

  #end(id: string, { answer }: PaymentRun, exit: Exit.Exit<PaymentOutcome, PaymentFailure>): void {
    this.#runs.delete(id)
    Deferred.doneUnsafe(answer, Exit.hasInterrupts(exit) ? Exit.succeed(pending) : exit)
  }
}

const answerPending = (run: PaymentRun): void => {
  run.isAnswered = true
  Deferred.doneUnsafe(run.answer, Exit.succeed(pending))
}

export interface PaymentRequest {
  /** Id of the account that is credited; the payer may be someone else. */
  readonly account: string
  /** Units of USDC, 6 decimals, that the payment must be worth. */
  readonly units: number
  readonly wire: WirePayment
  /** URL of the call that is paid for; the receipt names it. */
  readonly resource?: string
}

export interface PaymentSettled {
  readonly _tag: "Settled"
  /** Id of the payment. */
  readonly payment: string
  readonly hash: string
  readonly payer: string
  readonly network: PaymentNetwork
  /** URL of the call that it was first presented for; undefined if that is not known. */
  readonly resource: string | undefined
  /** Milliseconds: when it was credited. */
  readonly settledAt: number
  /** The payment was credited before; nothing was added by this call. */
  readonly replayed: boolean
}

/**
 * A signed payment as the settlement gets it, and the answers it can give.
 *
 * Pending: sent, or about to be; the service continues without the caller.
 */
export type PaymentOutcome = PaymentSettled | { readonly _tag: "Pending"; readonly retryAfterSeconds: number }

/** This payment was made for another account or another amount. */
export class PaymentConflict extends Data.TaggedError("PaymentConflict")<{ readonly payment: string }> {}

/** Too many payments of this payer or account were reverted on their chain, at our cost. */
export class TooManyReverts extends Data.TaggedError("TooManyReverts")<{ readonly retryAfterSeconds: number }> {}

export type PaymentFailure = PaymentInvalid | ChainUnavailable | PaymentConflict | TooManyReverts | ControlFailure

export const pending: PaymentOutcome = { _tag: "Pending", retryAfterSeconds: Limits.paymentRetrySeconds }

/** `settled`, `failed`, `reversed`: the end of a payment, counted once. The others are answers, counted each time. */
export type PaymentCount =
  | "settled"
  | "failed"
  | "reversed"
  | "replayed"
  | "pending"
  | "invalid"
  | "conflict"
  | "limited"
  | "unavailable"

const payments = Metric.counter("payments_total", {
  description: "Payments by network and outcome.",
  incremental: true
})

export const countPayment = (network: PaymentNetwork, outcome: PaymentCount): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(payments, { network, outcome }), 1)
