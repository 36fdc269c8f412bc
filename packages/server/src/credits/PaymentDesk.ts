/**
 * Takes payments: says what a call would cost in USDC (402), and turns a signed payment into credits
 * (contract: Payments), for deposits and for calls that met empty purses.
 *
 * Invariants: a payment is credited once, in full, to the authenticated account, from whichever wallet;
 * an unknown outcome is 202 and never 402, which would make an agent pay twice.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Account } from "@muniment/domain/Account"
import {
  Conflict,
  Forbidden,
  type InsufficientStorage,
  NotFound,
  PaymentPending,
  PaymentRequired,
  RateLimited,
  Unavailable
} from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { toCredits, toUsd, usdcUnitsPerCent } from "@muniment/domain/Money"
import { creditsOfUnits } from "@muniment/domain/Payment"
import { spentOn } from "@muniment/domain/StageTimes"
import { Payments } from "@muniment/payments/Payments"
import type { PaymentSettled } from "@muniment/payments/settlement/PaymentRuns"
import { decodePayment, type SignedReceipt, signOffers, signReceipt } from "@muniment/payments/wire/PaymentHeader"
import { KeyRing } from "@muniment/trust/KeyRing"
import { type JournalledPayment, PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import { boundMet } from "../boundMet.ts"
import type { PaymentCarrier } from "./PaymentCarrier.ts"

/** A demand for payment: units of USDC, and for what. */
export interface Demand {
  readonly account: Account
  readonly units: number
  /** A deposit describes itself in the 402; a call that met empty purses does not. */
  readonly purpose: "deposit" | "top-up"
}

/** Amount demanded where the caller chooses none: the smallest deposit. */
export const topUpUnits = Limits.depositCentsMin * usdcUnitsPerCent

/** A 402 always names a way to pay: clients choke on one without. */
type Demanded = PaymentRequired | Forbidden | Unavailable
type Refusal = Demanded | PaymentPending | Conflict | RateLimited | InsufficientStorage

export class PaymentDesk extends Context.Service<
  PaymentDesk,
  {
    readonly isOpen: boolean
    /** Credits the payment that the call carries; without one, the 402 that asks for it. */
    readonly take: (demand: Demand, carrier: PaymentCarrier) => Effect.Effect<PaymentSettled, Refusal>
    /** Asks for a payment although the call may carry one: that one is credited and spent already. */
    readonly ask: (demand: Demand, carrier: PaymentCarrier) => Effect.Effect<never, Demanded>
  }
>()("muniment/server/PaymentDesk") {
  static readonly layer = (options: { readonly publicUrl: string | undefined }) =>
    Layer.effect(this, make(options.publicUrl))
}

const make = Effect.fnUntraced(function* (publicUrl: string | undefined) {
  const payments = yield* Payments
  const receipts = yield* PaymentReceipts
  const { signJws: sign } = yield* KeyRing
  const resourceOf = ({ origin, path }: PaymentCarrier) => `${publicUrl ?? origin}${path}`

  /** The 402 answer; where nothing can be paid, 403 or 503. */
  const demandPayment = Effect.fnUntraced(function* (
    demand: Demand,
    carrier: PaymentCarrier,
    code: PaymentRequired["code"],
    error: string
  ): Effect.fn.Return<never, Demanded> {
    const { tell } = carrier
    if (!payments.isConfigured) return yield* nothingToPay
    const credits = toCredits(creditsOfUnits(demand.units))
    const amountUsd = toUsd(creditsOfUnits(demand.units))
    const description = `${credits} credits for ${amountUsd.toFixed(2)} USD`
    const resource = resourceOf(carrier)
    const accepts = yield* payments.quote({ units: demand.units, resource, description })
    if (accepts.length === 0) {
      yield* tell(later)
      return yield* noNetwork
    }
    const offers = signOffers({ accepts, resource }, { atMillis: yield* Clock.currentTimeMillis, sign })
    yield* tell({ _tag: "Demanded", demand: { error, resource, description, accepts, offers } })
    return yield* new PaymentRequired({
      x402Version: 1,
      error,
      ...(demand.purpose === "deposit" && { deposit: { amount_usd: amountUsd, credits, description } }),
      accepts,
      code
    })
  })

  const ask = (demand: Demand, carrier: PaymentCarrier) =>
    demandPayment(demand, carrier, "insufficient_credits", emptyPurses)

  const take = Effect.fn("PaymentDesk.take")(function* (demand: Demand, carrier: PaymentCarrier) {
    const { carried, tell } = carrier
    const refuse = (reason: string) =>
      demandPayment(demand, carrier, "payment_invalid", `the payment was refused: ${reason}`)
    const wire = yield* decodePayment(carried).pipe(Effect.catchTag("PaymentInvalid", ({ reason }) => refuse(reason)))
    if (wire === undefined) {
      return yield* demand.purpose === "deposit"
        ? demandPayment(demand, carrier, "payment_required", signAndRepeat)
        : ask(demand, carrier)
    }
    const { account, units } = demand
    const resource = resourceOf(carrier)
    yield* carrier.waits
    const outcome = yield* spentOn("paying", payments.pay({ account: account.id, units, wire, resource })).pipe(
      Effect.catchTags({
        PaymentInvalid: ({ reason }) => refuse(reason),
        PaymentConflict: () => alreadyUsed,
        TooManyReverts: ({ retryAfterSeconds }) => reverted(tell, retryAfterSeconds),
        ChainUnavailable: ({ network }) => Effect.andThen(tell(later), unreachable(network))
      })
    )
    if (outcome._tag === "Pending") {
      yield* tell({ _tag: "Later", retryAfterSeconds: outcome.retryAfterSeconds })
      return yield* pending
    }
    const receipt = receipts.sign(outcome, carrier.origin)
    yield* tell({ _tag: "Settled", version: wire.version, transaction: { ...outcome, receipt } })
    return outcome
  })

  return { isOpen: payments.isConfigured, take, ask }
})

const signAndRepeat = "payment is required: sign one of `accepts` and repeat the request"

const emptyPurses =
  "the allowance of this month and the balance are used up: pay one of `accepts` and repeat, or deposit"

const nothingToPay = new Forbidden({
  code: "insufficient_credits",
  error: "the allowance of this month and the balance are used up, and this service takes no deposits: ask its operator"
})

const noNetwork = new Unavailable({
  code: "payment_unavailable",
  error: "no network can take payments now: nothing was taken; repeat later"
})

const later = { _tag: "Later", retryAfterSeconds: Limits.paymentRetrySeconds } as const

const alreadyUsed = new Conflict({
  code: "payment_already_used",
  error:
    "this payment was used already, by another account or for another amount; what somebody else submitted for a payer is credited to the payer's own wallet account"
})

const revertsAllowed = `${Limits.revertsPerPayerDay} of a payer, ${Limits.revertsPerAccountDay} of an account within 24 hours`

const reverted = Effect.fnUntraced(function* (tell: PaymentCarrier["tell"], retryAfterSeconds: number) {
  yield* tell({ _tag: "Later", retryAfterSeconds })
  return yield* new RateLimited({
    code: "rate_limited",
    error: "too many payments of this payer or account failed on their chain: nothing was taken; pay later",
    details: yield* boundMet("reverts", revertsAllowed, retryAfterSeconds)
  })
})

const pending = new PaymentPending({
  code: "payment_pending",
  error:
    "the payment was accepted and is being processed: repeat this request with the same payment, do not sign another"
})

const unreachable = (network: string) =>
  Effect.fail(
    new Unavailable({
      code: "payment_unavailable",
      error: `payments on ${network} cannot be checked now: nothing was taken; repeat with the same payment later`
    })
  )

/**
 * Receipts of settled payments (contract: Payments): at the time of the payment, and again whenever they are asked for.
 *
 * Invariant: all that a receipt says is in the journal, so it says the same at any time; only a new signing key, or a
 * chain that included the payment again under another hash, changes its bytes.
 */

/** Statement of a receipt. */
type ReceiptFacts = Pick<PaymentSettled, "hash" | "network" | "payer" | "resource" | "settledAt">

interface ReceiptAnswer {
  readonly success: true
  /** Id. */
  readonly payment: string
  readonly settledAt: number
  readonly receipt: SignedReceipt
}

export class PaymentReceipts extends Context.Service<
  PaymentReceipts,
  {
    /** `origin`: of the request; it stands for the public URL where none is configured. */
    readonly sign: (facts: ReceiptFacts, origin: string) => SignedReceipt
    /** Receipt of a credited payment, by its id or its transaction; with `account` (id) only of that account. */
    readonly find: (
      name: string,
      options: { readonly origin: string; readonly account?: string }
    ) => Effect.Effect<ReceiptAnswer, NotFound>
  }
>()("muniment/server/PaymentReceipts") {
  static readonly layer = (options: { readonly publicUrl: string | undefined }) =>
    Layer.effect(this, makeReceipts(options.publicUrl))
}

const makeReceipts = Effect.fnUntraced(function* (publicUrl: string | undefined) {
  const journal = yield* PaymentJournal
  const keys = yield* KeyRing

  const sign = ({ hash, network, payer, resource, settledAt }: ReceiptFacts, origin: string) =>
    signReceipt(
      { hash, network, payer },
      {
        atMillis: settledAt,
        // Payments by earlier versions do not have it.
        resource: resource ?? `${publicUrl ?? origin}${depositRoute}`,
        sign: keys.signJws
      }
    )

  const find = Effect.fn("PaymentReceipts.find")(function* (
    name: string,
    { account, origin }: { readonly origin: string; readonly account?: string }
  ) {
    const facts = factsOf(yield* journal.findNamed(name, account))
    if (facts === undefined) return yield* notFound
    const { payment, settledAt } = facts
    return { success: true as const, payment, settledAt, receipt: sign(facts, origin) }
  })

  return PaymentReceipts.of({ sign, find })
})

const depositRoute = "/v1/credits/deposit"

/** Undefined unless the money is with us. */
const factsOf = (payment: JournalledPayment | undefined): (ReceiptFacts & { readonly payment: string }) | undefined => {
  if (payment?.settledAt === undefined || payment.state === "reversed") return undefined
  const { id, network, payer, resource, settledAt, transaction } = payment
  return { payment: id, network, payer, resource, settledAt, hash: transaction?.hash ?? "" }
}

const notFound = Effect.suspend(() =>
  Effect.fail(
    new NotFound({ code: "payment_not_found", error: "no credited payment of yours has this id or transaction" })
  )
)
