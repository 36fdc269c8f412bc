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
import { Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import type { Account } from "@muniment/domain/Account"
import {
  type ChargeFailure,
  CurrentCharge,
  CurrentIdempotency,
  type IdempotencyToken
} from "@muniment/domain/api/Middleware"
import { Limits } from "@muniment/domain/Limits"
import { type MicroCredits, usdcUnitsPerCent } from "@muniment/domain/Money"
import { plans } from "@muniment/domain/Plans"
import { Ledger, type Purses, type Reservation, type ReserveOptions } from "@muniment/ledger/Ledger"
import { PaymentDesk } from "./PaymentDesk.ts"
import { countCharge } from "./CreditMetrics.ts"

export interface PricedCall {
  readonly account: Account
  /** Name of the operation in the ledger. */
  readonly operation: string
  readonly price: MicroCredits
  /** Goes on when its caller goes away: what it changes is charged. */
  readonly isWrite: boolean
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
  const tokens = new TokenSource(randomUUID())

  /** The reservation of one call, once it is there. */
  const reservation = (
    call: PricedCall,
    client: IdempotencyToken | undefined,
    token: IdempotencyToken | undefined,
    request: HttpServerRequest.HttpServerRequest
  ) => {
    const { account, operation } = call
    const topUp = { account, units: topUpUnits, purpose: "top-up" } as const
    let held: Reservation | undefined
    const hold = (options: ReserveOptions) =>
      Effect.uninterruptible(
        Effect.map(ledger.reserve(options), (reserved) => {
          held = reserved
        })
      )
    const waive = Effect.suspend(() => {
      const given = held
      held = undefined
      return given === undefined ? Effect.void : ledger.void(given)
    })
    const reserve: (typeof CurrentCharge)["Service"] = (options = {}) => {
      const { changes, isErasure = false, isWaived = false, price = call.price } = options
      if (isWaived) return waive
      if (held !== undefined) return Effect.die(new Error(`${operation} asks for its price twice`))
      const priced = { account, operation, price }
      const durable =
        changes === undefined || token === undefined
          ? undefined
          : { token: token.key, namespaces: changes, request: client && requestOf(client) }
      const kept = hold({ ...priced, durable })
      const once = isErasure ? Effect.catchTag(kept, "InsufficientStorage", () => hold(priced)) : kept
      return Effect.catchTag(once, "InsufficientCredits", () =>
        Effect.andThen(
          desk.take(topUp),
          Effect.catchTag(once, "InsufficientCredits", () => desk.ask(topUp))
        ).pipe(Effect.provideService(HttpServerRequest.HttpServerRequest, request))
      )
    }
    return { reserve, held: () => held }
  }

  const settle = (call: PricedCall, held: Reservation) =>
    Effect.map(ledger.settle(held), ({ charged, purses }) => {
      // What the owner's plan records is what the call would have cost.
      const worth = charged + held.ownUse
      countCharge(call.operation, worth)
      return { charged: worth, purses }
    })

  // No spans: this stands around every priced call, and a span would cost as much as the charge.
  const charge = Effect.fnUntraced(function* <A, E, R>(call: PricedCall, act: Effect.Effect<A, E, R>) {
    const client = yield* CurrentIdempotency
    // A commit without the client's key carries one of ours, so that a crash leaves no doubt about it.
    const token = client ?? (plans[call.account.plan].isUnlimited ? undefined : tokens.next())
    const request = yield* HttpServerRequest.HttpServerRequest
    const { held, reserve } = reservation(call, client, token, request)
    const own = Context.add(Context.make(CurrentCharge, reserve), CurrentIdempotency, token)
    const charging = Effect.updateContext(act, (context: Context.Context<R>) => Context.merge(context, own))
    return yield* Effect.uninterruptibleMask((restore) =>
      (call.isWrite ? charging : restore(charging)).pipe(
        Effect.onError(() => {
          const open = held()
          return open === undefined ? Effect.void : ledger.void(open)
        }),
        Effect.flatMap((value) => {
          const open = held()
          return open === undefined
            ? Effect.map(ledger.purses(call.account), (purses) => ({ value, charged: 0, purses }))
            : Effect.map(settle(call, open), (settled) => ({ value, ...settled }))
        })
      )
    )
  })

  return { charge }
})

/**
 * What was paid for by a key is one request: a client that goes away before its answer is kept frees the key,
 * and with another body, for another agent, the key would buy as many calls as it likes.
 */
const requestOf = ({ fingerprint, key }: IdempotencyToken): string => `${key}:${fingerprint}`

/** Tokens that no other process of this data directory makes. */
class TokenSource {
  readonly #prefix: string
  #made = 0

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  next(): IdempotencyToken {
    const key = `charge:${this.#prefix}:${(this.#made++).toString(36)}`
    return { key, fingerprint: key }
  }
}
