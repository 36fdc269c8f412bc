/**
 * Messages for the operator's webhook, from their writing (`payments/MoneyEvents.ts`) to their delivery.
 *
 * Invariants: a message is due only after those of the same payment before it were delivered or given up; it leaves
 * `pending` only by a delivery, or by a failure past the time for which it is tried.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { NotFound } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { WebhookEventType, WebhookRecord, WebhookState } from "@muniment/domain/Events"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import { deliveryOf, type DeliveryRow } from "./HookRows.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

export interface DueWebhook {
  readonly id: string
  /** JSON, as it is signed and sent. */
  readonly body: string
  /** Before this one. */
  readonly attempts: number
}

interface WebhookCounts {
  readonly pending: number
  readonly failed: number
  /** Time of the oldest pending message. */
  readonly oldestAt: number | undefined
}

export class WebhookOutbox extends Context.Service<
  WebhookOutbox,
  {
    /** Oldest first. */
    readonly due: (limit: number) => Effect.Effect<ReadonlyArray<DueWebhook>>
    readonly delivered: (id: string) => Effect.Effect<void, ControlFailure>
    /** An attempt failed: tried again after the delay, or given up; -> which. */
    readonly missed: (
      id: string,
      options: { readonly reason: string; readonly delayMillis: number }
    ) => Effect.Effect<"pending" | "failed", ControlFailure>
    /** Newest first. */
    readonly list: (filter: {
      readonly state?: WebhookState | undefined
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<WebhookRecord>>
    /** Makes a message due now, or all that were given up; -> how many. */
    readonly resend: (id: string | undefined) => Effect.Effect<number, NotFound | ControlFailure>
    readonly counts: Effect.Effect<WebhookCounts>
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
  const rows = new WebhookRows(sql)
  return WebhookOutbox.of({
    due: (limit) => read(rows.due(limit)),
    delivered: (id) => write(rows.delivered(id)),
    missed: Effect.fn("WebhookOutbox.missed")((id, options) => write(rows.missed(id, options))),
    list: (filter) => read(rows.list(filter)),
    resend: Effect.fn("WebhookOutbox.resend")((id) => write(rows.resend(id))),
    counts: read(rows.counts),
    sweep: write(rows.sweep)
  })
})

/** Statements on table `webhook`; those that write run inside the caller's transaction. */
class WebhookRows {
  readonly #sql: SqlClient.SqlClient

  constructor(sql: SqlClient.SqlClient) {
    this.#sql = sql
  }

  due(limit: number) {
    const sql = this.#sql
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      // A time further away than any delay is by a clock that was set back since.
      const isDue = sql`(next_at <= ${now} OR next_at > ${now + Limits.webhookRetryMillisMax})`
      return sql<DueWebhook>`SELECT id, body, attempts FROM webhook WHERE state = 'pending' AND ${isDue}
        AND NOT EXISTS (SELECT 1 FROM webhook earlier WHERE earlier.payment = webhook.payment
          AND earlier.sequence < webhook.sequence AND earlier.state = 'pending')
        ORDER BY sequence LIMIT ${limit}`
    })
  }

  delivered(id: string) {
    const sql = this.#sql
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.asVoid(sql`UPDATE webhook SET state = 'delivered', attempts = attempts + 1, delivered_at = ${now}, reason = NULL
        WHERE id = ${id}`)
    )
  }

  missed(id: string, { delayMillis, reason }: { readonly reason: string; readonly delayMillis: number }) {
    const sql = this.#sql
    return Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const [row] = yield* sql<{ readonly state: "pending" | "failed" }>`UPDATE webhook SET attempts = attempts + 1,
          reason = ${reason}, next_at = ${now + delayMillis},
          state = CASE WHEN ${now} - due_since > ${Limits.webhookGiveUpMillis} THEN 'failed' ELSE 'pending' END
        WHERE id = ${id} RETURNING state`
      return row?.state ?? "pending"
    })
  }

  list({ limit, state }: { readonly state?: WebhookState | undefined; readonly limit: number }) {
    const sql = this.#sql
    const condition: Statement.Fragment = state === undefined ? sql`TRUE` : sql`state = ${state}`
    return Effect.map(
      sql<WebhookRow>`SELECT * FROM webhook WHERE ${condition} ORDER BY sequence DESC LIMIT ${limit}`,
      (found) => found.map(recordOf)
    )
  }

  resend(id: string | undefined) {
    const sql = this.#sql
    return Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const condition = id === undefined ? sql`state = 'failed'` : sql`id = ${id}`
      const made = yield* sql`UPDATE webhook SET state = 'pending', attempts = 0, due_since = ${now}, next_at = ${now},
          delivered_at = NULL WHERE ${condition} RETURNING id`
      if (id !== undefined && made.length === 0) return yield* notFound
      return made.length
    })
  }

  get counts() {
    return Effect.map(
      this.#sql<{ readonly state: WebhookState; readonly count: number; readonly oldest: number }>`SELECT
        state, count(*) AS count, min(due_since) AS oldest FROM webhook WHERE state IN ('pending', 'failed') GROUP BY state`,
      (counted): WebhookCounts => {
        const pending = counted.find(({ state }) => state === "pending")
        const failed = counted.find(({ state }) => state === "failed")
        return { pending: pending?.count ?? 0, failed: failed?.count ?? 0, oldestAt: pending?.oldest }
      }
    )
  }

  get sweep() {
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.asVoid(
        this.#sql`DELETE FROM webhook WHERE state = 'delivered' AND delivered_at < ${now - Limits.webhookRetentionMillis}`
      )
    )
  }
}

const notFound = Effect.suspend(() =>
  Effect.fail(new NotFound({ code: "webhook_not_found", error: "no message has this id: see webhooks list" }))
)

interface WebhookRow extends DeliveryRow {
  readonly id: string
  readonly payment: string
  readonly type: WebhookEventType
}

const recordOf = (row: WebhookRow): WebhookRecord => ({
  id: row.id,
  type: row.type,
  payment: row.payment,
  ...deliveryOf(row)
})
