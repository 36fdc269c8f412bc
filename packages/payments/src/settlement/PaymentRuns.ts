/**
 * Runs of payments in this process: at most one per payment, shared by all callers of it.
 *
 * Invariants: a run is a fiber of the service and ends with the process, never with a client; its answer comes within
 * `Limits.settlementWaitMillis`, even if the run continues; at most `Limits.paymentsInFlightMax` runs.
 */
import { Deferred, Effect, Exit, Fiber, type Scope } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { type PaymentFailure, type PaymentOutcome, type PaymentRequest, pending } from "./PaymentOutcome.ts"

export interface PaymentRun {
  /** Undefined for a step of reconciliation. */
  readonly request: Pick<PaymentRequest, "account" | "units"> | undefined
  readonly answer: Deferred.Deferred<PaymentOutcome, PaymentFailure>
}

/** When the scope closes, every caller that waits is answered Pending. */
export const openPaymentRuns = Effect.gen(function* () {
  const runs = new PaymentRuns(yield* Effect.scope)
  yield* Effect.addFinalizer(() => Effect.sync(() => runs.answerAll()))
  return runs
})

export class PaymentRuns {
  readonly #scope: Scope.Scope
  readonly #runs = new Map<string, PaymentRun>()

  constructor(scope: Scope.Scope) {
    this.#scope = scope
  }

  /** The run under way, or a new one of `settling`; undefined if too many are under way. */
  joinOrStart(
    id: string,
    request: PaymentRequest,
    settling: Effect.Effect<PaymentOutcome, PaymentFailure>
  ): Effect.Effect<PaymentRun | undefined> {
    return Effect.suspend((): Effect.Effect<PaymentRun | undefined> => {
      const running = this.#runs.get(id)
      if (running !== undefined) return Effect.succeed(running)
      if (this.#runs.size >= Limits.paymentsInFlightMax) return Effect.succeed(undefined)
      return this.#start(id, request, settling)
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
    for (const { answer } of this.#runs.values()) Deferred.doneUnsafe(answer, Exit.succeed(pending))
  }

  #start(id: string, request: PaymentRequest, settling: Effect.Effect<PaymentOutcome, PaymentFailure>) {
    // In the same turn of the event loop as the lookup, so that there is never a second run.
    const begun = this.#begin(id, request)
    const timeIsOver = Effect.sync(() => Deferred.doneUnsafe(begun.answer, Exit.succeed(pending)))
    return Effect.gen({ self: this }, function* () {
      const timer = yield* Effect.forkIn(Effect.delay(timeIsOver, Limits.settlementWaitMillis), this.#scope)
      const run = Effect.onExit(settling, (exit) =>
        Effect.andThen(
          Fiber.interrupt(timer),
          Effect.sync(() => this.#end(id, begun, exit))
        )
      )
      yield* Effect.forkIn(run, this.#scope)
      return begun
    })
  }

  #begin(id: string, request: PaymentRun["request"]): PaymentRun {
    const begun: PaymentRun = { request, answer: Deferred.makeUnsafe() }
    this.#runs.set(id, begun)
    return begun
  }

  #end(id: string, { answer }: PaymentRun, exit: Exit.Exit<PaymentOutcome, PaymentFailure>): void {
    this.#runs.delete(id)
    Deferred.doneUnsafe(answer, Exit.hasInterrupts(exit) ? Exit.succeed(pending) : exit)
  }
}
