/**
 * Messages of accounts' webhooks: statements on table `account_webhook_message`, inside the caller's transaction.
 *
 * Invariants: a message is due only after those of the same agent before it were delivered or given up; it leaves
 * `pending` by a delivery, or by a failure past the time for which it is tried; a webhook with too many that were given up
 * is paused, so that nothing more is lost; of delivered ones a bounded number is kept, without their bodies. With each
 * change the webhook knows when it has something due.
 */
import { Clock, Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { HookDelivery } from "@muniment/domain/AccountWebhooks"
import type { AccountEventType } from "@muniment/domain/Events"
import { NotFound } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { WebhookState } from "@muniment/domain/Webhooks"
import { deliveryOf, type DeliveryRow } from "./DeliveryRow.ts"

export interface NewMessage {
  readonly id: string
  /** Messages of one agent go out in order; empty: of none. */
  readonly agent: string
  readonly type: AccountEventType
  /** JSON, as it is signed and sent. */
  readonly body: string
}

export interface DueMessage {
  readonly id: string
  readonly agent: string
  readonly body: string
  /** Before this one. */
  readonly attempts: number
}

export interface Attempt {
  readonly message: string
  /** Why it failed; undefined: delivered. */
  readonly reason: string | undefined
  /** Until the next one. */
  readonly delayMillis: number
}

export class HookMessages {
  readonly #sql: SqlClient.SqlClient

  constructor(sql: SqlClient.SqlClient) {
    this.#sql = sql
  }

  add({ account, id: webhook }: { readonly id: string; readonly account: string }, news: ReadonlyArray<NewMessage>) {
    const sql = this.#sql
    return Effect.gen({ self: this }, function* () {
      const now = yield* Clock.currentTimeMillis
      // Removed meanwhile.
      const [known] = yield* sql`SELECT 1 FROM account_webhook WHERE id = ${webhook}`
      if (known === undefined) return
      for (const { agent, body, id, type } of news) {
        yield* sql`INSERT INTO account_webhook_message ${sql.insert({
          id,
          webhook,
          account,
          agent,
          type,
          body,
          state: "pending",
          attempts: 0,
          created_at: now,
          due_since: now,
          next_at: now
        })} ON CONFLICT (id) DO NOTHING`
      }
      if (news.length > 0) yield* this.#noteNext(webhook)
    })
  }

  /** Of the agents whose first message is due, the first ones. */
  due(webhook: string) {
    const sql = this.#sql
    return Effect.flatMap(
      Clock.currentTimeMillis,
      (now) => sql<DueMessage>`SELECT m.id, m.agent, m.body, m.attempts FROM account_webhook_message m
        JOIN (${this.#heads(webhook)}) head ON head.agent = m.agent
        WHERE m.webhook = ${webhook} AND m.state = 'pending'
          AND (head.next_at <= ${now} OR head.next_at > ${now + Limits.hookRetryMillisMax})
        ORDER BY m.sequence LIMIT ${Limits.hookRoundMessages}`
    )
  }

  attempted(webhook: string, attempts: ReadonlyArray<Attempt>) {
    const sql = this.#sql
    return Effect.gen({ self: this }, function* () {
      const now = yield* Clock.currentTimeMillis
      let givenUp = 0
      for (const { delayMillis, message, reason } of attempts) {
        if (reason === undefined) yield* this.#delivered(message, now)
        else {
          const [row] = yield* sql<{ readonly state: WebhookState }>`UPDATE account_webhook_message
            SET attempts = attempts + 1, reason = ${reason}, next_at = ${now + delayMillis},
              state = CASE WHEN ${now} - due_since > ${Limits.hookGiveUpMillis} THEN 'failed' ELSE 'pending' END
            WHERE id = ${message} RETURNING state`
          if (row?.state === "failed") givenUp++
        }
      }
      const failure = attempts.find(({ reason }) => reason !== undefined)
      const delivered = attempts.some(({ reason }) => reason === undefined)
      yield* sql`UPDATE account_webhook SET reason = ${failure?.reason ?? null},
        delivered_at = ${delivered ? now : sql`delivered_at`} WHERE id = ${webhook}`
      yield* this.#keepBounds(webhook, givenUp > 0)
      yield* this.#noteNext(webhook)
      return givenUp
    })
  }

  list(webhook: string, { limit, state }: { readonly state?: WebhookState | undefined; readonly limit: number }) {
    const sql = this.#sql
    const condition: Statement.Fragment = state === undefined ? sql`TRUE` : sql`state = ${state}`
    return Effect.map(
      sql<MessageRow>`SELECT * FROM account_webhook_message WHERE webhook = ${webhook} AND ${condition}
        ORDER BY sequence DESC LIMIT ${limit}`,
      (found) => found.map(recordOf)
    )
  }

  repeat(webhook: string, message: string | undefined) {
    const sql = this.#sql
    return Effect.gen({ self: this }, function* () {
      const now = yield* Clock.currentTimeMillis
      const condition = message === undefined ? sql`TRUE` : sql`id = ${message}`
      const made = yield* sql`UPDATE account_webhook_message SET state = 'pending', attempts = 0, due_since = ${now},
        next_at = ${now} WHERE webhook = ${webhook} AND state = 'failed' AND ${condition} RETURNING id`
      if (message !== undefined && made.length === 0) return yield* notFound
      yield* this.#noteNext(webhook)
      return made.length
    })
  }

  /** What waits is due now, and has all its time again. */
  tryAnew(webhook: string) {
    const sql = this.#sql
    return Effect.gen({ self: this }, function* () {
      const now = yield* Clock.currentTimeMillis
      yield* sql`UPDATE account_webhook_message SET due_since = ${now}, next_at = ${now}
        WHERE webhook = ${webhook} AND state = 'pending'`
      yield* this.#noteNext(webhook)
    })
  }

  #delivered(message: string, now: number) {
    return this.#sql`UPDATE account_webhook_message SET state = 'delivered', attempts = attempts + 1,
      delivered_at = ${now}, reason = NULL, body = '' WHERE id = ${message}`
  }

  #keepBounds(webhook: string, hasGivenUp: boolean) {
    const sql = this.#sql
    return Effect.gen(function* () {
      yield* sql`DELETE FROM account_webhook_message WHERE webhook = ${webhook} AND state = 'delivered' AND sequence <= (
        SELECT sequence FROM account_webhook_message WHERE webhook = ${webhook} AND state = 'delivered'
        ORDER BY sequence DESC LIMIT 1 OFFSET ${Limits.hookDeliveredKept})`
      if (!hasGivenUp) return
      const [failed] = yield* sql<{ readonly count: number }>`SELECT count(*) AS count FROM account_webhook_message
        WHERE webhook = ${webhook} AND state = 'failed'`
      if (failed!.count < Limits.hookFailedMax) return
      yield* sql`UPDATE account_webhook SET state = 'paused', reason = ${tooManyFailed} WHERE id = ${webhook}`
    })
  }

  /** The first pending message of each agent. SQLite takes the other columns from the row of the minimum. */
  #heads(webhook: string): Statement.Fragment {
    return this.#sql`SELECT agent, next_at, min(sequence) AS sequence FROM account_webhook_message
      WHERE webhook = ${webhook} AND state = 'pending' GROUP BY agent`
  }

  #noteNext(webhook: string) {
    return this.#sql`UPDATE account_webhook SET next_at = (SELECT min(next_at) FROM (${this.#heads(webhook)}))
      WHERE id = ${webhook}`
  }
}

const tooManyFailed = "too many messages were given up: mend the receiver, repeat them, resume the webhook"

const notFound = Effect.suspend(() =>
  Effect.fail(new NotFound({ code: "webhook_not_found", error: "no message of this id was given up" }))
)

interface MessageRow extends DeliveryRow {
  readonly id: string
  readonly agent: string
  readonly type: AccountEventType
}

const recordOf = (row: MessageRow): HookDelivery => ({
  id: row.id,
  type: row.type,
  agentId: row.agent === "" ? null : row.agent,
  ...deliveryOf(row)
})
