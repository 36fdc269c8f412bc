/**
 * Changes of an account's memories, and of its money, as events (contract: Events): what happened to which memory, never
 * its content.
 */
import { Schema } from "effect"
import { AgentId, PageCursor } from "./Ids.ts"
import { Limits } from "./Limits.ts"

/**
 * Messages of payments for the operator's webhook, and how far each one is (contract: Webhooks). Accounts read them as
 * events.
 *
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
const deliveryFields = {
  state: WebhookState,
  attempts: Schema.Int,
  createdAt: Schema.Int,
  nextAt: Schema.NullOr(Schema.Int).annotate({ description: "Of the next attempt; null: none is due." }),
  deliveredAt: Schema.NullOr(Schema.Int),
  reason: Schema.NullOr(Schema.String).annotate({ description: "Why the last attempt failed." })
}

const webhookId = Schema.String.annotate({ description: "`webhook-id`, the same in every attempt." })

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

/**
 * `memory.deleted` also by expiry. `events.lost`: there were more than are kept; read the agent's memories anew, or all
 * of them where no agent is named.
 */
export const AccountEventType = Schema.Literals([
  "memory.created",
  "memory.updated",
  "memory.superseded",
  "memory.deleted",
  ...WebhookEventType.literals,
  "events.lost"
])
export type AccountEventType = typeof AccountEventType.Type

/** Fields of `payment.*` and `refund.*`. */
const moneyFields = {
  payment: Schema.optionalKey(Schema.String),
  refund: Schema.optionalKey(Schema.String),
  network: Schema.optionalKey(Schema.String),
  amountUsd: Schema.optionalKey(Schema.Finite),
  credits: Schema.optionalKey(Schema.Finite),
  transaction: Schema.optionalKey(Schema.String),
  reason: Schema.optionalKey(Schema.String)
}
const MoneyEventData = Schema.Struct(moneyFields)
export type MoneyEventData = typeof MoneyEventData.Type

export const AccountEvent = Schema.Struct({
  id: Schema.String.annotate({ description: "The cursor behind this event; of a stream the `Last-Event-ID`." }),
  type: AccountEventType,
  timestamp: Schema.String.annotate({ description: "Time of the commit, ISO 8601." }),
  data: Schema.Struct({
    agentId: Schema.optionalKey(Schema.String),
    memoryId: Schema.optionalKey(Schema.String),
    kind: Schema.optionalKey(Schema.String),
    subjectId: Schema.optionalKey(Schema.String).annotate({
      description: "Of a memory that is there; absent once it is deleted."
    }),
    threadId: Schema.optionalKey(Schema.String),
    supersededBy: Schema.optionalKey(Schema.String).annotate({ description: "The newer version." }),
    ...moneyFields
  })
})
export type AccountEvent = typeof AccountEvent.Type

export const EventsQuery = Schema.Struct({
  agentId: Schema.optionalKey(AgentId),
  cursor: Schema.optionalKey(PageCursor),
  from: Schema.optionalKey(
    Schema.Literals(["now", "oldest"]).annotate({
      description: "Without a cursor: what happens from now on (default), or all events that are kept."
    })
  ),
  limit: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Limits.eventsPageMax })).annotate({
      description: "Of a page, 1 to 500, default 100."
    })
  )
})
export type EventsQuery = typeof EventsQuery.Type

/** Webhooks of accounts (contract: Webhooks of accounts): where an account's events are sent, and how far each one is. */
export const HookState = Schema.Literals(["active", "paused"])
export type HookState = typeof HookState.Type

const HookUrl = Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.hookUrlLengthMax)).annotate({
  description: "An https URL without credentials or fragment, on a host that everybody can reach.",
  format: "webhook-url"
})

const HookTypes = Schema.Array(AccountEventType)
  .check(Schema.isMinLength(1), Schema.isMaxLength(AccountEventType.literals.length))
  .annotate({ description: "Types of events that are sent; default all. `events.lost` is sent in any case." })

export const NewHook = Schema.Struct({
  url: HookUrl,
  types: Schema.optionalKey(HookTypes),
  agents: Schema.optionalKey(
    Schema.NonEmptyArray(AgentId)
      .check(Schema.isMaxLength(Limits.keyBindingsMax))
      .annotate({ description: "Only events of these agents; default all, also those that are new." })
  )
})
export type NewHook = typeof NewHook.Type

export const HookChange = Schema.Struct({
  url: Schema.optionalKey(HookUrl),
  types: Schema.optionalKey(HookTypes),
  state: Schema.optionalKey(
    HookState.annotate({ description: "A paused webhook goes on later where it was; events are kept for seven days." })
  )
})
export type HookChange = typeof HookChange.Type

/** Without its secret. Times in milliseconds. */
export const HookRecord = Schema.Struct({
  id: Schema.String,
  url: Schema.String,
  types: Schema.Array(AccountEventType),
  agents: Schema.NullOr(Schema.NonEmptyArray(Schema.String)).annotate({ description: "Null: all." }),
  state: HookState,
  createdAt: Schema.Int,
  madeBy: Schema.NullOr(Schema.String).annotate({
    description: "Key or wallet that made it, or set its URL or secret since."
  }),
  secretChangesAt: Schema.NullOr(Schema.Int).annotate({
    description: "Until then messages are signed with the secret before, too; null: there is none."
  }),
  deliveredAt: Schema.NullOr(Schema.Int).annotate({ description: "Of the last delivery." }),
  reason: Schema.NullOr(Schema.String).annotate({
    description: "Why the last attempt failed, or why it is paused; null since a delivery."
  }),
  pending: Schema.Int.annotate({ description: "Messages that wait. Events behind them are in the log of events." }),
  failed: Schema.Int.annotate({ description: "Messages that were given up." })
})
export type HookRecord = typeof HookRecord.Type

/** A message without its body. */
export const HookDelivery = Schema.Struct({
  id: webhookId,
  type: AccountEventType,
  agentId: Schema.NullOr(Schema.String),
  ...deliveryFields
})
export type HookDelivery = typeof HookDelivery.Type
