/** Webhooks of accounts (contract: Webhooks of accounts): where an account's events are sent, and how far each one is. */
import { Schema } from "effect"
import { AccountEventType } from "./Events.ts"
import { AgentId } from "./Ids.ts"
import { Limits } from "./Limits.ts"
import { deliveryFields, webhookId } from "./Webhooks.ts"

export const HookState = Schema.Literals(["active", "paused"])
export type HookState = typeof HookState.Type

export const HookUrl = Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.hookUrlLengthMax)).annotate({
  description: "An https URL without credentials or fragment, on a host that everybody can reach.",
  format: "webhook-url"
})

export const HookTypes = Schema.Array(AccountEventType)
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
