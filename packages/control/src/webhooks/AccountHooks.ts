/**
 * Webhooks of accounts, and how far each one has read the account's events (contract: Webhooks of accounts).
 *
 * Invariants: messages and the cursor behind them are written in one transaction, so each event becomes a message once,
 * also through kills; an account has a bounded number of webhooks; secrets come and go sealed; a webhook of an account
 * that is suspended is not followed. Who sets the URL or the secret is its maker from then on, and it goes with their
 * key or wallet: who is revoked or unlinked meanwhile makes and changes none.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { SqlClient, Statement } from "effect/sql"
import { type InvalidRequest, NotFound, type Unauthenticated } from "@muniment/domain/Errors"
import type {
  AccountEventType,
  HookChange,
  HookDelivery,
  HookRecord,
  NewHook,
  WebhookState
} from "@muniment/domain/Events"
import { Limits } from "@muniment/domain/Limits"
import { requireWorkingMaker } from "../database/requireWorkingMaker.ts"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import {
  deliveryOf,
  type DeliveryRow,
  type FollowedHook,
  type HookCounts,
  type HookEndpoint,
  type HookPlace,
  HookRows,
  removeHooks
} from "./HookRows.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

export class AccountHooks extends Context.Service<
  AccountHooks,
  {
    readonly add: (
      account: string,
      hook: NewHook & { readonly secret: string; readonly cursor: string; readonly madeBy: string | undefined }
    ) => Effect.Effect<HookRecord, InvalidRequest | Unauthenticated | ControlFailure>
    /** Oldest first. */
    readonly list: (account: string) => Effect.Effect<ReadonlyArray<HookRecord>>
    readonly get: (place: HookPlace) => Effect.Effect<HookRecord, NotFound>
    /** One that is resumed tries what waits anew; one that is led elsewhere counts as made by who did it. */
    readonly change: (
      place: HookPlace,
      change: HookChange,
      madeBy: string | undefined
    ) => Effect.Effect<HookRecord, NotFound | Unauthenticated | ControlFailure>
    /** The one before is kept for `Limits.hookSecretOverlapMillis`; the webhook counts as made by who did it. */
    readonly replaceSecret: (
      place: HookPlace,
      secret: string,
      madeBy: string | undefined
    ) => Effect.Effect<HookRecord, NotFound | Unauthenticated | ControlFailure>
    readonly remove: (place: HookPlace) => Effect.Effect<void, NotFound | ControlFailure>
    /** Newest first. */
    readonly deliveries: (
      place: HookPlace,
      filter: { readonly state?: WebhookState | undefined; readonly limit: number }
    ) => Effect.Effect<ReadonlyArray<HookDelivery>, NotFound>
    /** Makes a message that was given up due, or all of them; -> how many. */
    readonly repeat: (place: HookPlace, message: string | undefined) => Effect.Effect<number, NotFound | ControlFailure>
    /** Active ones of accounts that are not suspended. */
    readonly active: Effect.Effect<ReadonlyArray<HookPlace>>
    /** Ids of those that have a message to send now. */
    readonly due: Effect.Effect<ReadonlyArray<string>>
    /** Undefined: not active, or its account is suspended or gone. */
    readonly followed: (id: string) => Effect.Effect<FollowedHook | undefined>
    /** Endpoint of a webhook, also of a paused one. */
    readonly endpoint: (place: HookPlace) => Effect.Effect<HookEndpoint, NotFound>
    readonly enqueue: (
      hook: HookPlace,
      messages: ReadonlyArray<NewMessage>,
      cursor: string
    ) => Effect.Effect<void, ControlFailure>
    readonly dueMessages: (id: string) => Effect.Effect<ReadonlyArray<DueMessage>>
    /** Writes down what became of attempts; -> how many messages were given up. */
    readonly attempted: (id: string, attempts: ReadonlyArray<Attempt>) => Effect.Effect<number, ControlFailure>
    /** Events cannot be read. */
    readonly noteReason: (id: string, reason: string) => Effect.Effect<void, ControlFailure>
    readonly counts: Effect.Effect<HookCounts>
  }
>()("muniment/control/AccountHooks") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const { read, sql, write } = yield* ControlDatabase
  const random = yield* SecureRandom.SecureRandom
  const rows = new HookRows(sql)
  const messages = new HookMessages(sql)

  /** Inside a transaction: the webhook, of this account. */
  const known = (place: HookPlace) => found(rows.record(place))

  return AccountHooks.of({
    add: Effect.fn("AccountHooks.add")(function* (account, hook) {
      const id = `hook_${yield* random.ulid}`
      return yield* write(
        Effect.gen(function* () {
          yield* requireWorkingMaker(sql, account, hook.madeBy)
          yield* rows.insert(id, account, hook)
          return yield* Effect.orDie(known({ id, account }))
        })
      )
    }),
    list: (account) => read(rows.records(sql`account_webhook.account = ${account}`)),
    get: (place) => read(known(place)),
    change: Effect.fn("AccountHooks.change")((place, change, madeBy) =>
      write(
        Effect.gen(function* () {
          yield* requireWorkingMaker(sql, place.account, madeBy)
          const { state: before } = yield* known(place)
          yield* rows.change(place.id, change, madeBy)
          if (change.state === "active" && before === "paused") yield* messages.tryAnew(place.id)
          return yield* known(place)
        })
      )
    ),
    replaceSecret: Effect.fn("AccountHooks.replaceSecret")((place, secret, madeBy) =>
      write(
        Effect.gen(function* () {
          yield* requireWorkingMaker(sql, place.account, madeBy)
          yield* known(place)
          yield* rows.replaceSecret(place.id, secret, madeBy)
          return yield* known(place)
        })
      )
    ),
    remove: Effect.fn("AccountHooks.remove")((place) =>
      write(Effect.andThen(known(place), removeHooks(sql, sql`id = ${place.id}`)))
    ),
    deliveries: (place, filter) => read(Effect.andThen(known(place), messages.list(place.id, filter))),
    repeat: Effect.fn("AccountHooks.repeat")((place, message) =>
      write(Effect.andThen(known(place), messages.repeat(place.id, message)))
    ),
    active: read(rows.active),
    due: read(rows.due),
    followed: (id) => read(rows.followed(id)),
    endpoint: (place) => read(found(rows.endpoint(place))),
    enqueue: Effect.fn("AccountHooks.enqueue")((hook, news, cursor) =>
      write(Effect.andThen(messages.add(hook, news), rows.moveCursor(hook.id, cursor)))
    ),
    dueMessages: (id) => read(messages.due(id)),
    attempted: Effect.fn("AccountHooks.attempted")((id, attempts) => write(messages.attempted(id, attempts))),
    noteReason: (id, reason) => write(rows.noteReason(id, reason)),
    counts: read(rows.counts)
  })
})

/** Fails where there is none. */
const found = <A, E>(row: Effect.Effect<A | undefined, E>): Effect.Effect<A, E | NotFound> =>
  Effect.flatMap(row, (one) =>
    one === undefined
      ? Effect.fail(new NotFound({ code: "webhook_not_found", error: "no such webhook" }))
      : Effect.succeed(one)
  )

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

/**
 * Messages of accounts' webhooks: statements on table `account_webhook_message`, inside the caller's transaction.
 *
 * Invariants: a message is due only after those of the same agent before it were delivered or given up; it leaves
 * `pending` by a delivery, or by a failure past the time for which it is tried; a webhook with too many that were given up
 * is paused, so that nothing more is lost; of delivered ones a bounded number is kept, without their bodies. With each
 * change the webhook knows when it has something due.
 */
class HookMessages {
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

  /** The first messages of the agents whose first message is due. */
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

  /** Makes waiting messages due now, with all their time again. */
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
