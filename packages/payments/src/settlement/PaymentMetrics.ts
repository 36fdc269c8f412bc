/** Metric of payments by network and outcome. */
import { type Effect, Metric } from "effect"
import type { PaymentNetwork } from "@muniment/domain/Payment"

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
