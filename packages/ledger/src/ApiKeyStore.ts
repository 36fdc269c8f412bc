/**
 * API keys (interface.md section 2): only the SHA-256 of a key is kept, the secret is shown once.
 *
 * Invariants: a key is looked up in `control.db` on every call, so a revocation acts at once; a
 * revoked key never opens again, not even when the same secret is brought anew. When a key was last
 * used is remembered in memory and written in the background, never by the request itself.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { Statement } from "effect/sql"
import type { Account, Identity } from "@muniment/domain/Account"
import type { KeyRecord } from "@muniment/domain/api/AdminApi"
import { Conflict, type InsufficientStorage, InvalidRequest, NotFound } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { apiKeyBytes, displayPrefix, hashApiKey, isUsableSecret, makeApiKey } from "@muniment/trust/ApiKeys"
import { accountOf, type AccountRow } from "./Accounts.ts"
import { ControlDatabase } from "./ControlDatabase.ts"

/** How often last uses are written; also how much of them a kill loses. */
export const lastUseFlushMillis = 60_000
/** Means nothing; helps secret scanners and people to tell what a string is. */
export const defaultKeyPrefix = "mun_"

export interface CreatedKey {
  readonly record: KeyRecord
  /** Not stored: this is the one time to show it. */
  readonly secret: string
}

export class ApiKeyStore extends Context.Service<
  ApiKeyStore,
  {
    /**
     * A new key; `secret` brings one along (22 to 256 characters of a bearer token). Bringing the
     * secret of a working key of the same account gives that key again; of any other, a conflict.
     */
    readonly create: (
      account: Account,
      label: string,
      secret?: string
    ) => Effect.Effect<CreatedKey, InvalidRequest | Conflict | InsufficientStorage>
    /** Whom the secret belongs to; undefined when unknown or revoked. */
    readonly authenticate: (secret: string) => Effect.Effect<Identity | undefined>
    /** Oldest first, of one account or of all; revoked ones too. */
    readonly list: (accountId?: string) => Effect.Effect<ReadonlyArray<KeyRecord>>
    /** Revoking twice keeps the first time. */
    readonly revoke: (id: string) => Effect.Effect<KeyRecord, NotFound | InsufficientStorage>
  }
>()("muniment/ledger/ApiKeyStore") {
  static readonly layerWith = (options: { readonly keyPrefix: string }) =>
    Layer.effect(
      ApiKeyStore,
      Effect.suspend(() => makeStore(options.keyPrefix))
    )
  static readonly layer = ApiKeyStore.layerWith({ keyPrefix: defaultKeyPrefix })
}

const makeStore = Effect.fnUntraced(function* (keyPrefix: string) {
  const { read, sql, write } = yield* ControlDatabase
  const random = yield* SecureRandom.SecureRandom
  const lastUses = yield* makeLastUses

  /** Keys with the name of their account, oldest first. */
  const select = (condition: Statement.Fragment) =>
    Effect.map(
      sql<KeyRow>`SELECT api_key.*, account.name AS account_name FROM api_key JOIN account ON account.id = api_key.account
        WHERE ${condition} ORDER BY api_key.created_at, api_key.rowid`,
      (rows) => rows.map((row) => ({ row, record: recordOf(row, lastUses.of(row.id)) }))
    )

  const insert = Effect.fnUntraced(function* (account: Account, label: string, secret: string) {
    const [known] = yield* select(sql`api_key.hash = ${hashApiKey(secret)}`)
    if (known !== undefined) {
      if (known.row.account === account.id && known.row.revoked_at === null) return known.record
      return yield* new Conflict({
        code: "id_conflict",
        error: "this secret is a key already, of another account or revoked"
      })
    }
    const [count] = yield* sql<{ readonly working: number }>`SELECT count(*) AS working FROM api_key
      WHERE account = ${account.id} AND revoked_at IS NULL`
    if (count!.working >= Limits.keysPerAccountMax) {
      return yield* new InvalidRequest({
        code: "limit_exceeded",
        error: `an account has at most ${Limits.keysPerAccountMax} working keys`
      })
    }
    const record: KeyRecord = {
      id: `key_${yield* random.ulid}`,
      account: account.name,
      label,
      prefix: displayPrefix(secret, keyPrefix),
      createdAt: yield* Clock.currentTimeMillis
    }
    yield* sql`INSERT INTO api_key (id, account, label, prefix, hash, created_at)
      VALUES (${record.id}, ${account.id}, ${label}, ${record.prefix}, ${hashApiKey(secret)}, ${record.createdAt})`
    return record
  })

  return ApiKeyStore.of({
    create: Effect.fn("ApiKeyStore.create")(function* (account, label, brought) {
      if (brought !== undefined && !isUsableSecret(brought)) {
        return yield* new InvalidRequest({
          code: "invalid_request",
          error: "a key of your own has 22 to 256 characters of A-Z a-z 0-9 . _ ~ + / = -"
        })
      }
      const secret = brought ?? makeApiKey(keyPrefix, yield* random.randomBytes(apiKeyBytes))
      return { record: yield* write(insert(account, label, secret)), secret }
    }),
    authenticate: Effect.fn("ApiKeyStore.authenticate")(function* (secret) {
      const [row] = yield* read(
        sql<AccountRow & { readonly key_id: string }>`SELECT account.*, api_key.id AS key_id
          FROM api_key JOIN account ON account.id = api_key.account
          WHERE api_key.hash = ${hashApiKey(secret)} AND api_key.revoked_at IS NULL`
      )
      if (row === undefined) return undefined
      yield* lastUses.note(row.key_id, yield* Clock.currentTimeMillis)
      return { account: accountOf(row), keyId: row.key_id }
    }),
    list: Effect.fn("ApiKeyStore.list")(function* (accountId) {
      const condition = accountId === undefined ? sql`TRUE` : sql`api_key.account = ${accountId}`
      return (yield* read(select(condition))).map(({ record }) => record)
    }),
    revoke: Effect.fn("ApiKeyStore.revoke")(function* (id) {
      const now = yield* Clock.currentTimeMillis
      return yield* write(
        Effect.gen(function* () {
          yield* sql`UPDATE api_key SET revoked_at = ${now} WHERE id = ${id} AND revoked_at IS NULL`
          const [revoked] = yield* select(sql`api_key.id = ${id}`)
          if (revoked === undefined) return yield* new NotFound({ code: "key_not_found", error: "no such key" })
          return revoked.record
        })
      )
    })
  })
})

/**
 * Last uses not yet written: one entry a key. The first one starts the wait for the next write; with
 * none, nothing wakes. Telling when a key was used is worth no failed request: what could not be
 * written waits for the next time.
 */
const makeLastUses = Effect.gen(function* () {
  const { sql, write } = yield* ControlDatabase
  const scope = yield* Effect.scope
  const pending = new Map<string, number>()
  let isWaiting = false

  const flush = Effect.suspend(() => {
    const batch = Object.fromEntries(pending)
    pending.clear()
    return write(
      sql`UPDATE api_key SET last_used_at = used.value FROM json_each(${JSON.stringify(batch)}) AS used
        WHERE api_key.id = used.key`
    ).pipe(
      Effect.catchCause((cause) => {
        for (const [id, at] of Object.entries(batch)) if (!pending.has(id)) pending.set(id, at)
        return Effect.logWarning("the last uses of keys could not be written", cause)
      })
    )
  }).pipe(Effect.uninterruptible)
  const flushLater = Effect.gen(function* () {
    do {
      yield* Effect.sleep(lastUseFlushMillis)
      yield* flush
    } while (pending.size > 0)
    isWaiting = false
  })

  yield* Effect.addFinalizer(() => (pending.size === 0 ? Effect.void : flush))
  return {
    note: (id: string, atMillis: number) =>
      Effect.suspend(() => {
        pending.set(id, atMillis)
        if (isWaiting) return Effect.void
        isWaiting = true
        return Effect.asVoid(Effect.forkIn(flushLater, scope))
      }),
    of: (id: string): number | undefined => pending.get(id)
  }
})

interface KeyRow {
  readonly id: string
  readonly account: string
  readonly account_name: string
  readonly label: string
  readonly prefix: string
  readonly created_at: number
  readonly last_used_at: number | null
  readonly revoked_at: number | null
}

/** The operator's routes name accounts by name, so their answers do. */
const recordOf = (row: KeyRow, lastUse: number | undefined): KeyRecord => {
  const lastUsedAt = lastUse ?? row.last_used_at
  return {
    id: row.id,
    account: row.account_name,
    label: row.label,
    prefix: row.prefix,
    createdAt: row.created_at,
    ...(lastUsedAt === null ? {} : { lastUsedAt }),
    ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at })
  }
}
