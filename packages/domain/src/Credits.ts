/**
 * Answers of the credit endpoints (contract: Credits). Numbers are credits or dollars; inside the service money is an
 * integer (`Money.ts`).
 */
import { Schema } from "effect"
import { Plan } from "./Account.ts"
import { Limits } from "./Limits.ts"
import { creditsPerUsd, microCreditsPerCredit, nearestMicroCredits } from "./Money.ts"
import { DepositOffer, depositUnits, PaymentRequirement } from "./Payment.ts"

const Balance = Schema.Struct({ credits: Schema.Finite, usd: Schema.Finite })

/** Query parameter of a deposit: US dollars in whole cents, within `Limits.depositCentsMin` and `Limits.depositCentsMax`. */
export const DepositAmount = Schema.Finite.check(
  Schema.makeFilter((amount: number) => depositUnits(amount) !== undefined, {
    expected: `an amount of ${Limits.depositCentsMin / 100} to ${Limits.depositCentsMax / 100} US dollars with at most two decimals`,
    toJsonSchema: () => ({
      minimum: Limits.depositCentsMin / 100,
      maximum: Limits.depositCentsMax / 100,
      multipleOf: 0.01
    })
  })
).annotate({ description: "US dollars, 0.10 to 1000, at most two decimals; default 0.10.", examples: [5] })

export const depositUsdDefault = Limits.depositCentsMin / 100

/**
 * Credits of the largest deposit. Totals are read as doubles: beyond 2^53 millionths, 9,000 times this, the ledger could
 * not be opened.
 */
const adjustmentCreditsMax = (Limits.depositCentsMax / 100) * creditsPerUsd
/** Rounding error of a decimal in a double, in millionths: far above the error, far below one. */
const millionthTolerance = 1e-3

/** Credits that an operator gives or takes. */
export const AdjustmentCredits = Schema.Finite.check(
  Schema.makeFilter((credits: number) => isAdjustment(credits), {
    expected: `an amount of credits other than 0, at most ${adjustmentCreditsMax} and with at most 6 decimals`,
    toJsonSchema: () => ({
      minimum: -adjustmentCreditsMax,
      maximum: adjustmentCreditsMax,
      multipleOf: 1 / microCreditsPerCredit,
      not: { const: 0 }
    })
  })
).annotate({ description: "Positive gives, negative takes; at most 6 decimals." })

const isAdjustment = (credits: number): boolean => {
  const micro = nearestMicroCredits(credits)
  const isExact = Math.abs(credits * microCreditsPerCredit - micro) < millionthTolerance
  return micro !== 0 && isExact && Math.abs(credits) <= adjustmentCreditsMax
}

export const Deposited = Schema.Struct({
  success: Schema.Literal(true),
  deposit: Schema.Struct({ amount_usd: Schema.Finite, credits: Schema.Finite }),
  balance: Balance,
  message: Schema.String,
  replayed: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "True when this payment had been credited before: nothing was added now." })
  )
})

export const CreditAccount = Schema.Struct({
  success: Schema.Literal(true),
  balance: Balance,
  allowance: Schema.Struct({
    credits: Schema.NullOr(Schema.Finite).annotate({ description: "Left this month; null without bound." }),
    monthly: Schema.NullOr(Schema.Finite),
    renewsAt: Schema.Int.annotate({ description: "Milliseconds: the first moment of the next month, UTC." })
  }),
  plan: Plan,
  insuredUntil: Schema.optionalKey(
    Schema.Int.annotate({
      description: "Milliseconds: the first daily run that finds the balance used up, if nothing changes."
    })
  ),
  purgeNotice: Schema.optionalKey(
    Schema.Struct({
      memories: Schema.Int,
      createdBefore: Schema.Int,
      from: Schema.Int.annotate({ description: "Milliseconds: the first daily run that may remove them." })
    }).annotate({ description: "Memories that no balance keeps: a deposit before that run saves them." })
  )
})

/** One movement of an account's credits; `credits` is positive in its favour. */
export const CreditTransaction = Schema.Struct({
  id: Schema.Int,
  at: Schema.Int,
  kind: Schema.Literals([
    "deposit",
    "charge",
    "storage",
    "storage_metered",
    "allowance",
    "allowance_expired",
    "reversal",
    "adjustment"
  ]),
  operation: Schema.optionalKey(Schema.String),
  agentId: Schema.optionalKey(
    Schema.String.annotate({ description: "The agent that a charge is for; absent: for none or several." })
  ),
  purse: Schema.Literals(["balance", "allowance", "receivable", "own-use"]),
  calls: Schema.Int.annotate({
    description: "Calls that a charge stands for: reads of one moment and agent are one movement."
  }),
  credits: Schema.Finite
})

/** Body of a 402 answer; the version of the protocol comes first. */
export const paymentRequiredFields = {
  x402Version: Schema.Literal(1),
  error: Schema.String,
  deposit: Schema.optionalKey(DepositOffer),
  accepts: Schema.Array(PaymentRequirement),
  code: Schema.Literals(["payment_required", "payment_invalid", "insufficient_credits"])
}
