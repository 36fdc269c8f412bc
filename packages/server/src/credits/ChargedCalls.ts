/**
 * One priced call: reserve, act, settle or void (interface.md section 10). What the call is worth is
 * reserved by the service that does it, at the moment when nothing but the act can fail any more; here
 * stands what surrounds that moment.
 *
 * Invariants: only a success is charged, once; an act that changes memories has a reservation that
 * outlives a crash, with the token that its commit carries, so that the next start can tell whether it
 * happened; a payment on a call with empty purses is credited in full before the call is charged.
 */
import { randomUUID } from "node:crypto"
import { Context, Effect, Exit, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import type { Account } from "@muniment/domain/Account"
import { type ChargeFailure, CurrentCharge, CurrentIdempotency } from "@muniment/domain/api/Middleware"
import { Limits } from "@muniment/domain/Limits"
import { type MicroCredits, usdcUnitsPerCent } from "@muniment/domain/Money"
import { plans } from "@muniment/domain/Plans"
import { Ledger, type Purses, type Reservation } from "@muniment/ledger/Ledger"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { PaymentDesk } from "./PaymentDesk.ts"
import { countCharge } from "./CreditMetrics.ts"

export interface PricedCall {
  readonly account: Account
  /** Name of the operation in the ledger. */
  readonly operation: string
  readonly price: MicroCredits
}

export interface Charged<A> {
  readonly value: A
  readonly charged: MicroCredits
  readonly purses: Purses
}

/** What a call pays when its purses are empty: the smallest deposit. */
const topUpUnits = Limits.depositCentsMin * usdcUnitsPerCent

export class ChargedCalls extends Context.Service<
  ChargedCalls,
  {
    /** Runs `act` with `CurrentCharge` at work. */
    readonly charge: <A, E, R>(
      call: PricedCall,
      act: Effect.Effect<A, E, R>
    ) => Effect.Effect<Charged<A>, E | ChargeFailure, R | HttpServerRequest.HttpServerRequest>
  }
>()("muniment/server/ChargedCalls") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const ledger = yield* Ledger
  const desk = yield* PaymentDesk

  const charge = Effect.fn("ChargedCalls.charge")(function* <A, E, R>(call: PricedCall, act: Effect.Effect<A, E, R>) {
    const { account } = call
    const client = yield* CurrentIdempotency
    // A commit without the client's key carries one of ours, so that a crash leaves no doubt about it.
    const token = client ?? (plans[account.plan].isUnlimited ? undefined : makeToken())
    const request = yield* HttpServerRequest.HttpServerRequest
    let held: Reservation | undefined

    const reserve: (typeof CurrentCharge)["Service"] = (options = {}) =>
      Effect.gen(function* () {
        const price = options.price ?? call.price
        if (held !== undefined) return yield* Effect.die(new Error(`${call.operation} asks for its price twice`))
        const priced = { account, operation: call.operation, price }
        const durable =
          options.changes === undefined || token === undefined
            ? undefined
            : {
                token: token.key,
                namespaces: options.changes,
                ...(client !== undefined && { request: client.key })
              }
        const kept = ledger.reserve({ ...priced, durable })
        const once =
          options.isErasure === true ? Effect.catchTag(kept, "InsufficientStorage", () => ledger.reserve(priced)) : kept
        held = yield* Effect.catchTag(once, "InsufficientCredits", () =>
          Effect.andThen(
            desk.take({ account, units: topUpUnits, purpose: "top-up" }),
            Effect.catchTag(once, "InsufficientCredits", () =>
              desk.ask({ account, units: topUpUnits, purpose: "top-up" })
            )
          )
        )
      }).pipe(Effect.uninterruptible, Effect.provideService(HttpServerRequest.HttpServerRequest, request))

    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const exit = yield* restore(
          Effect.updateContext(act, (context: Context.Context<R>) =>
            context.pipe(Context.add(CurrentCharge, reserve), Context.add(CurrentIdempotency, token))
          )
        ).pipe(Effect.exit)
        if (Exit.isFailure(exit)) {
          if (held !== undefined) yield* ledger.void(held)
          return yield* Effect.failCause(exit.cause)
        }
        if (held === undefined) return { value: exit.value, charged: 0, purses: yield* ledger.purses(account) }
        const { ownUse } = held
        const settled = yield* ledger.settle(held)
        // What the owner's plan records is what the call would have cost.
        const charged = settled.charged + ownUse
        yield* countCharge(call.operation, charged)
        return { value: exit.value, charged, purses: settled.purses }
      })
    )
  })

  return { charge }
})

const makeToken = () => {
  const key = sha256Hex(`charge ${randomUUID()}`)
  return { key, fingerprint: key }
}
