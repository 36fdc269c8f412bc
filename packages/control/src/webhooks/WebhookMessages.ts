/**
 * Messages of webhooks, of accounts' and of the operator's (`null`): statements on table `webhook_message`, inside the
 * caller's transaction.
 *
 * Invariants: a message is due only after those of its lane before it were delivered or given up; it leaves `pending` by
 * a delivery, or by a failure past the time for which it is tried.
 */
import { Clock, Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { AccountEventType, WebhookEventType, WebhookState } from "@muniment/domain/Events"

export interface NewMessage {
  readonly id: string
  /** Messages of one lane go out in order: those of an agent, or of a payment. */
  readonly lane: string
  readonly type: AccountEventType | WebhookEventType
  /** JSON, as it is signed and sent. */
  readonly body: string
}

export interface DueMessage extends Pick<NewMessage, "id" | "lane" | "body"> {
  readonly attempts: number
}

export interface Attempt {
  readonly message: DueMessage
  /** Why it failed; undefined: delivered. */
  readonly reason: string | undefined
  /** Until the next one. */
  readonly delayMillis: number
}

interface MessageBounds {
  readonly retryMillisMax: number
  readonly giveUpMillis: number
  /** A delivered message can be sent again. */
  readonly keepsBodies: boolean
}

export interface MessageFilter {
  readonly state?: WebhookState | undefined
  readonly limit: number
}

interface ListedMessage<Type> {
  readonly id: string
  readonly lane: string
  readonly type: Type
  readonly state: WebhookState
  readonly attempts: number
  readonly createdAt: number
  readonly nextAt: number | null
  readonly deliveredAt: number | null
  readonly reason: string | null
}

export interface MessageCounts {
  readonly pending: number
  readonly failed: number
  /** Time of the oldest pending message. */
  readonly oldestAt: number | null
}

export class WebhookMessages<Type extends NewMessage["type"]> {
  readonly #sql: SqlClient.SqlClient
  readonly #bounds: MessageBounds

  constructor(sql: SqlClient.SqlClient, bounds: MessageBounds) {
    this.#sql = sql
    this.#bounds = bounds
  }

  /** `account`: with whose erasure they go. */
  add(webhook: string | null, account: string | null, { body, id, lane, type }: NewMessage) {
    const sql = this.#sql
    return Effect.flatMap(
      Clock.currentTimeMillis,
      (now) =>
        sql`INSERT INTO webhook_message ${sql.insert({
          id,
          webhook,
          account,
          lane,
          type,
          body,
          state: "pending",
          attempts: 0,
          created_at: now,
          due_since: now,
          next_at: now
        })} ON CONFLICT (id) DO NOTHING`
    )
  }

  /** The first messages of the lanes whose first message is due. */
  due(webhook: string | null, limit: number) {
    const sql = this.#sql
    return Effect.flatMap(
      Clock.currentTimeMillis,
      // A time further away than any delay is by a clock that was set back since.
      (now) => sql<DueMessage>`SELECT m.id, m.lane, m.body, m.attempts FROM webhook_message m
        JOIN (${this.heads(webhook)}) head ON head.lane = m.lane
        WHERE m.webhook IS ${webhook} AND m.state = 'pending'
          AND (head.next_at <= ${now} OR head.next_at > ${now + this.#bounds.retryMillisMax})
        ORDER BY m.sequence LIMIT ${limit}`
    )
  }

  /** -> the ids of those that are given up. */
  attempted(attempts: ReadonlyArray<Attempt>) {
    const sql = this.#sql
    const { giveUpMillis, keepsBodies } = this.#bounds
    return Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const givenUp: Array<string> = []
      for (const {
        delayMillis,
        message: { id },
        reason
      } of attempts) {
        if (reason === undefined) {
          yield* sql`UPDATE webhook_message SET state = 'delivered', attempts = attempts + 1, delivered_at = ${now},
            reason = NULL, body = ${keepsBodies ? sql`body` : ""} WHERE id = ${id}`
          continue
        }
        const [row] = yield* sql<{ readonly state: WebhookState }>`UPDATE webhook_message
          SET attempts = attempts + 1, reason = ${reason}, next_at = ${now + delayMillis},
            state = CASE WHEN ${now} - due_since > ${giveUpMillis} THEN 'failed' ELSE 'pending' END
          WHERE id = ${id} RETURNING state`
        if (row?.state === "failed") givenUp.push(id)
      }
      return givenUp
    })
  }

  /** Newest first. */
  list(webhook: string | null, { limit, state }: MessageFilter) {
    const sql = this.#sql
    const condition: Statement.Fragment = state === undefined ? sql`TRUE` : sql`state = ${state}`
    return sql<ListedMessage<Type>>`SELECT id, lane, type, state, attempts, created_at AS createdAt,
        CASE state WHEN 'pending' THEN next_at END AS nextAt, delivered_at AS deliveredAt, reason
      FROM webhook_message WHERE webhook IS ${webhook} AND ${condition} ORDER BY sequence DESC LIMIT ${limit}`
  }

  /** Makes a message due now, or all that were given up; -> how many. */
  repeat(webhook: string | null, message: string | undefined) {
    const sql = this.#sql
    const isGivenUp = sql`state = 'failed'`
    const wanted = message === undefined ? sql`TRUE` : sql`id = ${message}`
    const condition = message !== undefined && this.#bounds.keepsBodies ? sql`TRUE` : isGivenUp
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.map(
        sql`UPDATE webhook_message SET state = 'pending', attempts = 0, due_since = ${now}, next_at = ${now},
          delivered_at = NULL WHERE webhook IS ${webhook} AND ${wanted} AND ${condition} RETURNING id`,
        (made) => made.length
      )
    )
  }

  /** The first pending message of each lane. SQLite takes the other columns from the row of the minimum. */
  heads(webhook: string | null): Statement.Fragment {
    return this.#sql`SELECT lane, next_at, min(sequence) AS sequence FROM webhook_message
      WHERE webhook IS ${webhook} AND state = 'pending' GROUP BY lane`
  }
}
