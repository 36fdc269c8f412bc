/** A signed payment as the settlement gets it, and the answers it can give. */
import { Data, type Effect, Metric } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { PaymentNetwork } from "@muniment/domain/Payment"
import type { ControlFailure } from "@muniment/control/database/ControlFailure"
import type { ChainUnavailable, PaymentInvalid } from "../chain/PaymentChain.ts"
import type { WirePayment } from "../wire/PaymentHeader.ts"

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

/** Pending: sent, or about to be; the service continues without the caller. */
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
