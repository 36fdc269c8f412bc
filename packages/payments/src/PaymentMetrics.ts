/** What `/metrics` tells of payments: how many came to which end, by network. */
import { type Effect, Metric } from "effect"
import type { PaymentNetwork } from "@muniment/domain/Payment"

/**
 * `settled`, `failed`, `reversed`: a payment's own end, once each. The others are answers, as often as
 * they were given.
 */
export type PaymentCount =
  | "settled"
  | "failed"
  | "reversed"
  | "replayed"
  | "pending"
  | "invalid"
  | "conflict"
  | "unavailable"

const payments = Metric.counter("payments_total", {
  description: "Payments by network and outcome.",
  incremental: true
})

export const countPayment = (network: PaymentNetwork, outcome: PaymentCount): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(payments, { network, outcome }), 1)
