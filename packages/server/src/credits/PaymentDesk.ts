/**
 * Where money is taken: says what a call would cost in USDC (402), and turns a signed payment into
 * credits (interface.md section 11). The same desk serves deposits and calls that met empty purses.
 *
 * Invariants: a payment is credited once, in full, to the authenticated account, whoever paid; an unknown
 * outcome is 202 and never 402, which would make an agent pay twice.
 */
import { Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import type { Account } from "@muniment/domain/Account"
import {
  Conflict,
  type InsufficientStorage,
  PaymentPending,
  PaymentRequired,
  Unavailable
} from "@muniment/domain/Errors"
import { toCredits, toUsd } from "@muniment/domain/Money"
import { creditsOfUnits } from "@muniment/domain/Payment"
import { Payments } from "@muniment/payments/Payments"
import type { PaymentSettled } from "@muniment/payments/Settlement"
import { decodePayment } from "@muniment/payments/wire/PaymentHeader"
import { CurrentPaymentCarrier } from "./PaymentCarrier.ts"

/** What is asked for: units of USDC, and for what. */
export interface Demand {
  readonly account: Account
  readonly units: number
  /** A deposit describes itself in the 402; a call that met empty purses does not. */
  readonly purpose: "deposit" | "top-up"
}

type Refusal = PaymentRequired | PaymentPending | Conflict | Unavailable | InsufficientStorage

export class PaymentDesk extends Context.Service<
  PaymentDesk,
  {
    readonly isOpen: boolean
    /** Credits the payment that the current request carries; without one, the 402 that asks for it. */
    readonly take: (demand: Demand) => Effect.Effect<PaymentSettled, Refusal, HttpServerRequest.HttpServerRequest>
    /** Asks for a payment, whatever the request carries: what it paid is credited and spent already. */
    readonly ask: (demand: Demand) => Effect.Effect<never, PaymentRequired, HttpServerRequest.HttpServerRequest>
  }
>()("muniment/server/PaymentDesk") {
  static readonly layer = (options: { readonly publicUrl: string | undefined }) =>
    Layer.effect(this, make(options.publicUrl))
}

const make = Effect.fnUntraced(function* (publicUrl: string | undefined) {
  const payments = yield* Payments

  /** The 402 answer. */
  const demandPayment = Effect.fnUntraced(function* (
    demand: Demand,
    code: PaymentRequired["code"],
    error: string
  ): Effect.fn.Return<never, PaymentRequired, HttpServerRequest.HttpServerRequest> {
    const credits = toCredits(creditsOfUnits(demand.units))
    const amountUsd = toUsd(creditsOfUnits(demand.units))
    const description = `${credits} credits for ${amountUsd.toFixed(2)} USD`
    const resource = resourceOf(yield* HttpServerRequest.HttpServerRequest, publicUrl)
    const accepts = payments.quote({ units: demand.units, resource, description })
    const { tell } = yield* CurrentPaymentCarrier
    yield* tell({ _tag: "Demanded", demand: { error, resource, description, accepts } })
    return yield* new PaymentRequired({
      x402Version: 1,
      error,
      ...(demand.purpose === "deposit" && { deposit: { amount_usd: amountUsd, credits, description } }),
      accepts,
      code
    })
  })

  const ask = (demand: Demand) => demandPayment(demand, "insufficient_credits", emptyPurses(payments.isConfigured))

  const take = Effect.fn("PaymentDesk.take")(function* (demand: Demand) {
    const { carried, tell } = yield* CurrentPaymentCarrier
    const refuse = (reason: string) => demandPayment(demand, "payment_invalid", `the payment was refused: ${reason}`)
    const wire = yield* decodePayment(yield* carried).pipe(
      Effect.catchTag("PaymentInvalid", ({ reason }) => refuse(reason))
    )
    if (wire === undefined) {
      return yield* demand.purpose === "deposit"
        ? demandPayment(demand, "payment_required", "payment is required: sign one of `accepts` and repeat the request")
        : ask(demand)
    }
    const outcome = yield* payments.pay({ account: demand.account.id, units: demand.units, wire }).pipe(
      Effect.catchTags({
        PaymentInvalid: ({ reason }) => refuse(reason),
        PaymentConflict: () => alreadyUsed,
        ChainUnavailable: ({ network }) => unreachable(network)
      })
    )
    if (outcome._tag === "Pending") {
      yield* tell(outcome)
      return yield* pending
    }
    yield* tell({ _tag: "Settled", version: wire.version, transaction: outcome })
    return outcome
  })

  return { isOpen: payments.isConfigured, take, ask }
})

const emptyPurses = (isConfigured: boolean): string =>
  isConfigured
    ? "the allowance of this month and the balance are used up: pay one of `accepts` and repeat, or deposit"
    : "the allowance of this month and the balance are used up, and this service takes no deposits: ask its operator"

const alreadyUsed = new Conflict({
  code: "payment_already_used",
  error: "this payment was used already, by another account or for another amount"
})

const pending = new PaymentPending({
  code: "payment_pending",
  error: "the payment was sent and is not confirmed yet: repeat this request with the same payment, do not sign another"
})

const unreachable = (network: string) =>
  Effect.fail(
    new Unavailable({
      code: "payment_unavailable",
      error: `payments on ${network} cannot be checked now: nothing was taken; repeat with the same payment later`
    })
  )

/** Absolute URL of the request without its query; `publicUrl` is what the world calls the service. */
const resourceOf = ({ headers, url }: HttpServerRequest.HttpServerRequest, publicUrl: string | undefined): string => {
  const path = url.split("?", 1)[0]!
  return `${publicUrl ?? `http://${headers["host"] ?? "localhost"}`}${path}`
}
