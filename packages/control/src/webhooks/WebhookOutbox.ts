/** Messages for the operator's webhook, from their writing (`payments/MoneyEvents.ts`) to their delivery. */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { NotFound } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { WebhookEventType, WebhookRecord } from "@muniment/domain/Events"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"
import {
  type Attempt,
  type DueMessage,
  type MessageCounts,
  type MessageFilter,
  WebhookMessages
} from "./WebhookMessages.ts"

export class WebhookOutbox extends Context.Service<
  WebhookOutbox,
  {
    /** Oldest first. */
    readonly due: (limit: number) => Effect.Effect<ReadonlyArray<DueMessage>>
    /** Writes down what became of attempts; -> the ids of messages that are given up. */
    readonly attempted: (attempts: ReadonlyArray<Attempt>) => Effect.Effect<ReadonlyArray<string>, ControlFailure>
    /** Newest first. */
    readonly list: (filter: MessageFilter) => Effect.Effect<ReadonlyArray<WebhookRecord>>
    /** Makes a message due now, or all that were given up; -> how many. */
    readonly resend: (id: string | undefined) => Effect.Effect<number, NotFound | ControlFailure>
    readonly counts: Effect.Effect<MessageCounts>
    /** Removes what was delivered longer ago than it is kept. */
    readonly sweep: Effect.Effect<void, ControlFailure>
  }
>()("muniment/control/WebhookOutbox") {
  static readonly layer: Layer.Layer<WebhookOutbox, never, ControlDatabase> = Layer.effect(
    WebhookOutbox,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const { read, sql, write } = yield* ControlDatabase
  const messages = operatorMessages(sql)
  return WebhookOutbox.of({
    due: (limit) => read(messages.due(null, limit)),
    attempted: Effect.fn("WebhookOutbox.attempted")((attempts) => write(messages.attempted(attempts))),
    list: (filter) =>
      Effect.map(read(messages.list(null, filter)), (found) =>
        found.map(({ lane, ...message }) => ({ ...message, payment: lane }))
      ),
    resend: Effect.fn("WebhookOutbox.resend")((id) =>
      write(
        Effect.flatMap(messages.repeat(null, id), (made) =>
          id !== undefined && made === 0 ? notFound : Effect.succeed(made)
        )
      )
    ),
    counts: read(
      Effect.map(
        sql<MessageCounts>`SELECT count(*) FILTER (WHERE state = 'pending') AS pending,
          count(*) FILTER (WHERE state = 'failed') AS failed, min(due_since) FILTER (WHERE state = 'pending') AS oldestAt
          FROM webhook_message WHERE webhook IS NULL AND state IN ('pending', 'failed')`,
        ([counts]) => counts!
      )
    ),
    sweep: write(
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.asVoid(sql`DELETE FROM webhook_message WHERE webhook IS NULL AND state = 'delivered'
          AND delivered_at < ${now - Limits.webhookRetentionMillis}`)
      )
    )
  })
})

/** Each one's lane is its payment. */
export const operatorMessages = (sql: SqlClient.SqlClient): WebhookMessages<WebhookEventType> =>
  new WebhookMessages(sql, {
    retryMillisMax: Limits.webhookRetryMillisMax,
    giveUpMillis: Limits.webhookGiveUpMillis,
    keepsBodies: true
  })

const notFound = Effect.suspend(() =>
  Effect.fail(new NotFound({ code: "webhook_not_found", error: "no message has this id: see webhooks list" }))
)
