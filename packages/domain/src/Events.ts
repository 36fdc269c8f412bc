/**
 * Changes of an account's memories, and of its money, as events (contract: Events): what happened to which memory, never
 * its content.
 */
import { Schema } from "effect"
import { AgentId, PageCursor } from "./Ids.ts"
import { Limits } from "./Limits.ts"
import { WebhookEventType } from "./Webhooks.ts"

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

/** Of `payment.*` and `refund.*`. */
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
