/**
 * Webhooks of accounts, and how far each one has read the account's events (contract: Webhooks of accounts).
 *
 * Invariants: messages and the cursor behind them are written in one transaction, so each event becomes a message once,
 * also through kills; a webhook with too many messages that were given up is paused, so that nothing more is lost; of
 * delivered ones a bounded number is kept, without their bodies; an account has a bounded number of webhooks; secrets come and go sealed; a webhook of an account
 * that is suspended is not followed. Who sets the URL or the secret is its maker from then on, and it goes with their
 * key or wallet: who is revoked or unlinked meanwhile makes and changes none.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { SqlClient } from "effect/sql"
import { type InvalidRequest, NotFound, type Unauthenticated } from "@muniment/domain/Errors"
import type { AccountEventType, HookChange, HookDelivery, HookRecord, NewHook } from "@muniment/domain/Events"
import { Limits } from "@muniment/domain/Limits"
import { requireWorkingMaker } from "../database/requireWorkingMaker.ts"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import {
  type FollowedHook,
  type HookCounts,
  type HookEndpoint,
  type HookPlace,
  HookRows,
  removeHooks
} from "./HookRows.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"
import {
  type Attempt,
  type DueMessage,
  type MessageFilter,
  type NewMessage,
  WebhookMessages
} from "./WebhookMessages.ts"

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
      filter: MessageFilter
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
    /** Writes down what became of attempts; -> the ids of messages that are given up. */
    readonly attempted: (
      id: string,
      attempts: ReadonlyArray<Attempt>
    ) => Effect.Effect<ReadonlyArray<string>, ControlFailure>
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
    deliveries: (place, filter) =>
      read(
        Effect.map(Effect.andThen(known(place), messages.list(place.id, filter)), (found) =>
          found.map(({ lane, ...message }) => ({ ...message, agentId: lane === "" ? null : lane }))
        )
      ),
    repeat: Effect.fn("AccountHooks.repeat")((place, message) =>
      write(Effect.andThen(known(place), messages.repeatOf(place.id, message)))
    ),
    active: read(rows.active),
    due: read(rows.due),
    followed: (id) => read(rows.followed(id)),
    endpoint: (place) => read(found(rows.endpoint(place))),
    enqueue: Effect.fn("AccountHooks.enqueue")((hook, news, cursor) =>
      write(Effect.andThen(messages.enqueue(hook, news), rows.moveCursor(hook.id, cursor)))
    ),
    dueMessages: (id) => read(messages.due(id, Limits.hookRoundMessages)),
    attempted: Effect.fn("AccountHooks.attempted")((id, attempts) => write(messages.attemptedOf(id, attempts))),
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

/** With each change the webhook knows when it has something due. */
class HookMessages extends WebhookMessages<AccountEventType> {
  readonly #sql: SqlClient.SqlClient

  constructor(sql: SqlClient.SqlClient) {
    super(sql, { retryMillisMax: Limits.hookRetryMillisMax, giveUpMillis: Limits.hookGiveUpMillis, keepsBodies: false })
    this.#sql = sql
  }

  enqueue({ account, id: webhook }: HookPlace, news: ReadonlyArray<NewMessage>) {
    const sql = this.#sql
    return Effect.gen({ self: this }, function* () {
      // Removed meanwhile.
      const [known] = yield* sql`SELECT 1 FROM account_webhook WHERE id = ${webhook}`
      if (known === undefined) return
      for (const message of news) yield* this.add(webhook, account, message)
      if (news.length > 0) yield* this.#noteNext(webhook)
    })
  }

  attemptedOf(webhook: string, attempts: ReadonlyArray<Attempt>) {
    const sql = this.#sql
    return Effect.gen({ self: this }, function* () {
      const now = yield* Clock.currentTimeMillis
      const givenUp = yield* this.attempted(attempts)
      const failure = attempts.find(({ reason }) => reason !== undefined)
      const delivered = attempts.some(({ reason }) => reason === undefined)
      yield* sql`UPDATE account_webhook SET reason = ${failure?.reason ?? null},
        delivered_at = ${delivered ? now : sql`delivered_at`} WHERE id = ${webhook}`
      yield* this.#keepBounds(webhook, givenUp.length > 0)
      yield* this.#noteNext(webhook)
      return givenUp
    })
  }

  repeatOf(webhook: string, message: string | undefined) {
    return Effect.gen({ self: this }, function* () {
      const made = yield* this.repeat(webhook, message)
      if (message !== undefined && made === 0) return yield* notFound
      yield* this.#noteNext(webhook)
      return made
    })
  }

  /** Makes waiting messages due now, with all their time again. */
  tryAnew(webhook: string) {
    const sql = this.#sql
    return Effect.gen({ self: this }, function* () {
      const now = yield* Clock.currentTimeMillis
      yield* sql`UPDATE webhook_message SET due_since = ${now}, next_at = ${now}
        WHERE webhook = ${webhook} AND state = 'pending'`
      yield* this.#noteNext(webhook)
    })
  }

  #keepBounds(webhook: string, hasGivenUp: boolean) {
    const sql = this.#sql
    return Effect.gen(function* () {
      yield* sql`DELETE FROM webhook_message WHERE webhook = ${webhook} AND state = 'delivered' AND sequence <= (
        SELECT sequence FROM webhook_message WHERE webhook = ${webhook} AND state = 'delivered'
        ORDER BY sequence DESC LIMIT 1 OFFSET ${Limits.hookDeliveredKept})`
      if (!hasGivenUp) return
      const [failed] = yield* sql<{ readonly count: number }>`SELECT count(*) AS count FROM webhook_message
        WHERE webhook = ${webhook} AND state = 'failed'`
      if (failed!.count < Limits.hookFailedMax) return
      yield* sql`UPDATE account_webhook SET state = 'paused', reason = ${tooManyFailed} WHERE id = ${webhook}`
    })
  }

  #noteNext(webhook: string) {
    return this.#sql`UPDATE account_webhook SET next_at = (SELECT min(next_at) FROM (${this.heads(webhook)}))
      WHERE id = ${webhook}`
  }
}

const tooManyFailed = "too many messages were given up: mend the receiver, repeat them, resume the webhook"

const notFound = Effect.suspend(() =>
  Effect.fail(new NotFound({ code: "webhook_not_found", error: "no message of this id was given up" }))
)
