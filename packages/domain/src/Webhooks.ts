/**
 * Messages of payments for the operator's webhook, and how far each one is (contract: Webhooks). Accounts read them as
 * events.
 */
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

/** How far a message is, behind what it is of. Times in milliseconds. */
export const deliveryFields = {
  state: WebhookState,
  attempts: Schema.Int,
  createdAt: Schema.Int,
  nextAt: Schema.NullOr(Schema.Int).annotate({ description: "Of the next attempt; null: none is due." }),
  deliveredAt: Schema.NullOr(Schema.Int),
  reason: Schema.NullOr(Schema.String).annotate({ description: "Why the last attempt failed." })
}

export const webhookId = Schema.String.annotate({ description: "`webhook-id`, the same in every attempt." })

/** A message without its body. */
export const WebhookRecord = Schema.Struct({
  id: webhookId,
  type: WebhookEventType,
  payment: Schema.String,
  ...deliveryFields
})
export type WebhookRecord = typeof WebhookRecord.Type

/** Outcome of one attempt. */
export const WebhookTrial = Schema.Struct({
  delivered: Schema.Boolean,
  reason: Schema.NullOr(Schema.String).annotate({ description: "Why not." }),
  tookMillis: Schema.Int
})
export type WebhookTrial = typeof WebhookTrial.Type
