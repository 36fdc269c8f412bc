/** What the operator's webhook is told of payments (accounts read the same as events), and how far each message is (contract: Webhooks). */
import { Schema } from "effect"

/**
 * `payment.settled`: credited. `payment.reversed`: its chain took it back. `refund.started`: credits taken, to be sent.
 * `refund.settled`: its chain has it. `refund.failed`: the money never left, the credits are back.
 */
export const WebhookEventType = Schema.Literals([
  "payment.settled",
  "payment.reversed",
  "refund.started",
  "refund.settled",
  "refund.failed"
])
export type WebhookEventType = typeof WebhookEventType.Type

export const WebhookState = Schema.Literals(["pending", "delivered", "failed"])
export type WebhookState = typeof WebhookState.Type

/** A message without its body. Times in milliseconds. */
export const WebhookRecord = Schema.Struct({
  id: Schema.String.annotate({ description: "`webhook-id`, the same in every attempt." }),
  type: WebhookEventType,
  payment: Schema.String,
  state: WebhookState,
  attempts: Schema.Int,
  createdAt: Schema.Int,
  nextAt: Schema.NullOr(Schema.Int).annotate({ description: "Of the next attempt; null: none is due." }),
  deliveredAt: Schema.NullOr(Schema.Int),
  reason: Schema.NullOr(Schema.String).annotate({ description: "Why the last attempt failed." })
})
export type WebhookRecord = typeof WebhookRecord.Type

/** Outcome of one attempt. */
export const WebhookTrial = Schema.Struct({
  delivered: Schema.Boolean,
  reason: Schema.NullOr(Schema.String).annotate({ description: "Why not." }),
  tookMillis: Schema.Int
})
export type WebhookTrial = typeof WebhookTrial.Type
