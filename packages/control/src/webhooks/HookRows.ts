/**
 * Statements on table `account_webhook`. Those that write run inside the caller's transaction; those on its messages are
 * in `WebhookMessages`.
 */
import { Clock, Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import {
  AccountEventType,
  type HookChange,
  type HookRecord,
  type HookState,
  type NewHook
} from "@muniment/domain/Events"
import { InvalidRequest } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { MessageCounts } from "./WebhookMessages.ts"

/** Fields of a webhook that a delivery needs. */
export interface FollowedHook extends HookEndpoint {
  readonly id: string
  readonly account: string
  readonly types: ReadonlyArray<AccountEventType>
  readonly agents: readonly [string, ...ReadonlyArray<string>] | undefined
  readonly cursor: string
  /** Messages that wait. */
  readonly pending: number
}

export interface HookEndpoint {
  readonly url: string
  /** Its secrets, the newest first. */
  readonly sealed: ReadonlyArray<string>
}

export interface HookPlace {
  readonly id: string
  readonly account: string
}

/** Counts of all accounts; messages of paused webhooks do not wait. */
export interface HookCounts extends MessageCounts {
  readonly active: number
  readonly paused: number
}

export class HookRows {
  readonly #sql: SqlClient.SqlClient

  constructor(sql: SqlClient.SqlClient) {
    this.#sql = sql
  }

  insert(
    id: string,
    account: string,
    {
      agents,
      cursor,
      madeBy,
      secret,
      types,
      url
    }: NewHook & { readonly secret: string; readonly cursor: string; readonly madeBy: string | undefined }
  ) {
    const sql = this.#sql
    return Effect.gen(function* () {
      const [held] = yield* sql<{ readonly count: number }>`SELECT count(*) AS count FROM account_webhook
        WHERE account = ${account}`
      if (held!.count >= Limits.hooksPerAccountMax) return yield* tooMany
      yield* sql`INSERT INTO account_webhook ${sql.insert({
        id,
        account,
        url,
        types: types === undefined ? null : JSON.stringify(types),
        agents: agents === undefined ? null : JSON.stringify(agents),
        state: "active",
        secret,
        cursor,
        made_by: madeBy ?? null,
        created_at: yield* Clock.currentTimeMillis
      })}`
    })
  }

  records(condition: Statement.Fragment) {
    const sql = this.#sql
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.map(
        sql<HookRow>`SELECT account_webhook.*,
          (SELECT count(*) FROM webhook_message m WHERE m.webhook = account_webhook.id AND m.state = 'pending') AS pending,
          (SELECT count(*) FROM webhook_message m WHERE m.webhook = account_webhook.id AND m.state = 'failed') AS failed
          FROM account_webhook WHERE ${condition} ORDER BY created_at, id`,
        (found) => found.map((row) => recordOf(row, now))
      )
    )
  }

  record({ account, id }: HookPlace) {
    const condition = this.#sql`account_webhook.id = ${id} AND account_webhook.account = ${account}`
    return Effect.map(this.records(condition), ([record]) => record)
  }

  change(id: string, { state, types, url }: HookChange, madeBy: string | undefined) {
    const sql = this.#sql
    const fields = {
      ...(url !== undefined && { url, made_by: madeBy ?? null }),
      ...(types !== undefined && { types: JSON.stringify(types) }),
      ...(state !== undefined && { state, reason: null })
    }
    return Object.keys(fields).length === 0
      ? Effect.void
      : Effect.asVoid(sql`UPDATE account_webhook SET ${sql.update(fields)} WHERE id = ${id}`)
  }

  replaceSecret(id: string, secret: string, madeBy: string | undefined) {
    const sql = this.#sql
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.asVoid(sql`UPDATE account_webhook SET old_secret = secret, secret = ${secret}, made_by = ${madeBy ?? null},
        old_secret_until = ${now + Limits.hookSecretOverlapMillis} WHERE id = ${id}`)
    )
  }

  moveCursor(id: string, cursor: string) {
    return Effect.asVoid(this.#sql`UPDATE account_webhook SET cursor = ${cursor} WHERE id = ${id}`)
  }

  noteReason(id: string, reason: string) {
    return Effect.asVoid(
      this.#sql`UPDATE account_webhook SET reason = ${reason} WHERE id = ${id} AND reason IS NOT ${reason}`
    )
  }

  get active() {
    return this.#sql<HookPlace>`SELECT account_webhook.id, account FROM account_webhook
      JOIN account ON account.id = account_webhook.account WHERE state = 'active' AND suspended_at IS NULL`
  }

  get due() {
    const sql = this.#sql
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.map(
        // A time further away than any delay is by a clock that was set back since.
        sql<{ readonly id: string }>`SELECT id FROM account_webhook WHERE state = 'active' AND next_at IS NOT NULL
          AND (next_at <= ${now} OR next_at > ${now + Limits.hookRetryMillisMax})`,
        (found) => found.map(({ id }) => id)
      )
    )
  }

  followed(id: string) {
    const sql = this.#sql
    return Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const [row] = yield* sql<HookRow>`SELECT account_webhook.*,
        (SELECT count(*) FROM webhook_message m WHERE m.webhook = account_webhook.id AND m.state = 'pending') AS pending,
        0 AS failed FROM account_webhook JOIN account ON account.id = account_webhook.account
        WHERE account_webhook.id = ${id} AND state = 'active' AND suspended_at IS NULL`
      if (row === undefined) return undefined
      const { agents, types } = recordOf(row, now)
      return {
        id,
        account: row.account,
        ...endpointOf(row, now),
        types,
        agents: agents ?? undefined,
        cursor: row.cursor,
        pending: row.pending
      } satisfies FollowedHook
    })
  }

  endpoint({ account, id }: HookPlace) {
    const sql = this.#sql
    return Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const [row] = yield* sql<HookSecrets>`SELECT url, secret, old_secret, old_secret_until FROM account_webhook
        WHERE id = ${id} AND account = ${account}`
      return row && endpointOf(row, now)
    })
  }

  get counts() {
    const sql = this.#sql
    return Effect.map(
      sql<HookCounts>`SELECT hooks.*, messages.* FROM
        (SELECT count(*) FILTER (WHERE state = 'active') AS active, count(*) FILTER (WHERE state = 'paused') AS paused
          FROM account_webhook) AS hooks,
        (SELECT count(*) FILTER (WHERE m.state = 'pending') AS pending, count(*) FILTER (WHERE m.state = 'failed') AS failed,
          min(m.due_since) FILTER (WHERE m.state = 'pending') AS oldestAt
          FROM webhook_message m JOIN account_webhook w ON w.id = m.webhook
          WHERE m.state = 'failed' OR (m.state = 'pending' AND w.state = 'active')) AS messages`,
      ([counts]) => counts!
    )
  }
}

/** Removes webhooks with their messages. */
export const removeHooks = (sql: SqlClient.SqlClient, condition: Statement.Fragment) =>
  Effect.andThen(
    sql`DELETE FROM webhook_message WHERE webhook IN (SELECT id FROM account_webhook WHERE ${condition})`,
    Effect.asVoid(sql`DELETE FROM account_webhook WHERE ${condition}`)
  )

interface HookSecrets {
  readonly url: string
  readonly secret: string
  readonly old_secret: string | null
  readonly old_secret_until: number | null
}

interface HookRow extends HookSecrets {
  readonly id: string
  readonly account: string
  readonly types: string | null
  readonly agents: string | null
  readonly state: HookState
  readonly cursor: string
  readonly made_by: string | null
  readonly created_at: number
  readonly delivered_at: number | null
  readonly reason: string | null
  readonly pending: number
  readonly failed: number
}

const isOverlapping = ({ old_secret_until: until }: HookSecrets, now: number): boolean => until !== null && until > now

const endpointOf = (row: HookSecrets, now: number): HookEndpoint => ({
  url: row.url,
  sealed: [row.secret, ...(isOverlapping(row, now) && row.old_secret !== null ? [row.old_secret] : [])]
})

const recordOf = (row: HookRow, now: number): HookRecord => ({
  id: row.id,
  url: row.url,
  types: row.types === null ? AccountEventType.literals : (JSON.parse(row.types) as ReadonlyArray<AccountEventType>),
  agents: row.agents === null ? null : (JSON.parse(row.agents) as readonly [string, ...ReadonlyArray<string>]),
  state: row.state,
  createdAt: row.created_at,
  madeBy: row.made_by,
  secretChangesAt: isOverlapping(row, now) ? row.old_secret_until : null,
  deliveredAt: row.delivered_at,
  reason: row.reason,
  pending: row.pending,
  failed: row.failed
})

const tooMany = Effect.suspend(() =>
  Effect.fail(
    new InvalidRequest({
      code: "limit_exceeded",
      error: `an account can have at most ${Limits.hooksPerAccountMax} webhooks; remove one first`
    })
  )
)
