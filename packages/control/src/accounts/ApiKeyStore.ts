/**
 * API keys (contract: Identity): only the SHA-256 of a key is stored, and the secret is shown once.
 *
 * Invariants: what is known of a key is what `control.db` has (`makeKnownKeys`), so a revocation takes effect on the next
 * call; a revoked key never works again, also if the same secret is supplied again; with a key goes what it made, and what
 * that made, webhooks too, and a revoked key makes none. The last use of a key is kept in memory and written in the
 * background, never by the request.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { SqlClient, Statement } from "effect/sql"
import type { Account } from "@muniment/domain/Account"
import type { Identity, KeyScope } from "@muniment/domain/Identity"
import type { KeyRecord } from "@muniment/domain/api/AdminApi"
import { Conflict, InvalidRequest, NotFound, type PayloadTooLarge, type Unauthenticated } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { type QuotaLimits, requireQuota } from "@muniment/domain/Plans"
import { traced } from "@muniment/domain/traced"
import {
  apiKeyBytes,
  displayPrefix,
  hashApiKey,
  isUsableSecret,
  makeApiKey,
  usableSecret
} from "@muniment/trust/ApiKeys"
import { ControlDatabase, type WatchedRows } from "../database/ControlDatabase.ts"
import { makeKnownRows } from "../database/KnownRows.ts"
import { removeHooks } from "../webhooks/HookRows.ts"
import { makeLastUses } from "./LastUses.ts"
import { requireWorkingMaker } from "../database/requireWorkingMaker.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"
import { accountOf, type AccountRow, Quotas } from "./Accounts.ts"

/** Has no meaning; lets secret scanners and people recognise a key. */
const defaultKeyPrefix = "mun_"

interface CreatedKey {
  readonly record: KeyRecord
  /** The secret is not stored: it can be shown only now. */
  readonly secret: string
}

/** Restrictions and end of a new key. */
interface KeyBounds {
  readonly scope?: KeyScope | undefined
  /** Id of the key, or address of the wallet, that makes it; undefined: the operator. */
  readonly madeBy?: string | undefined
  /** Milliseconds. */
  readonly expiresAt?: number | undefined
}

interface Revocation {
  readonly record: KeyRecord
  /** Ids of the keys that were revoked with it: those that it made, and those that these made. */
  readonly alsoRevoked: ReadonlyArray<string>
}

export class ApiKeyStore extends Context.Service<
  ApiKeyStore,
  {
    /**
     * A new key, with the caller's own `secret` if given (`isUsableSecret`). The secret of a working key of the same
     * account gives that key again; the secret of any other key is a conflict. A key that is revoked by now makes none.
     */
    readonly create: (
      account: Account,
      label: string,
      secret?: string,
      bounds?: KeyBounds
    ) => Effect.Effect<CreatedKey, InvalidRequest | Unauthenticated | Conflict | PayloadTooLarge | ControlFailure>
    /** Owner of the secret; undefined if it is unknown or revoked. */
    readonly authenticate: (secret: string) => Effect.Effect<Identity | undefined>
    /** Whether a key is neither revoked nor at its end. */
    readonly isWorking: (id: string) => Effect.Effect<boolean>
    /** Oldest first, of one account or of all, revoked ones included. */
    readonly list: (accountId?: string) => Effect.Effect<ReadonlyArray<KeyRecord>>
    /** Keys of the account that work now. */
    readonly working: (accountId: string) => Effect.Effect<number>
    /**
     * With all keys that it made, and those that these made; with `keepMade` they stay, and its maker counts as theirs.
     * Revoking twice keeps the first time.
     */
    readonly revoke: (
      id: string,
      options?: { readonly keepMade?: boolean | undefined }
    ) => Effect.Effect<Revocation, NotFound | ControlFailure>
  }
>()("muniment/control/ApiKeyStore") {
  static readonly layerWith = (options: { readonly keyPrefix: string }) =>
    Layer.effect(
      ApiKeyStore,
      Effect.suspend(() => makeStore(options.keyPrefix))
    )
  static readonly layer = ApiKeyStore.layerWith({ keyPrefix: defaultKeyPrefix })
}

const makeStore = Effect.fnUntraced(function* (keyPrefix: string) {
  const { read, sql, write } = yield* ControlDatabase
  const ownerOf = yield* makeKnownKeys
  const workingOf = yield* makeWorkingCounts
  const random = yield* SecureRandom.SecureRandom
  const quotas = yield* Quotas
  const lastUses = yield* makeLastUses({ table: "api_key", column: "id" })
  const hashOf = makeHashOf()

  /** Keys with the name of their account, oldest first. */
  const select = (condition: Statement.Fragment) =>
    Effect.map(
      sql<KeyRow>`SELECT api_key.*, account.name AS account_name FROM api_key JOIN account ON account.id = api_key.account
        WHERE ${condition} ORDER BY api_key.created_at, api_key.rowid`,
      (rows) => rows.map((row) => ({ row, record: recordOf(row, lastUses.of(row.id)) }))
    )

  const insert = Effect.fnUntraced(function* (account: Account, label: string, secret: string, bounds: KeyBounds) {
    const [known] = yield* select(sql`api_key.hash = ${hashApiKey(secret)}`)
    if (known !== undefined) return yield* knownKey(account, known)
    return yield* insertNew(sql, random, account, { label, secret, keyPrefix, limits: quotas.of(account), ...bounds })
  })

  return ApiKeyStore.of({
    create: traced("ApiKeyStore.create")(function* (account, label, brought, bounds = {}) {
      if (brought !== undefined && !isUsableSecret(brought)) {
        return yield* new InvalidRequest({
          code: "invalid_request",
          error: `your own key must have ${usableSecret}`
        })
      }
      const secret = brought ?? makeApiKey(keyPrefix, yield* random.randomBytes(apiKeyBytes))
      return { record: yield* write(insert(account, label, secret, bounds)), secret }
    }),
    authenticate: (secret) =>
      Clock.clockWith((clock) => {
        const now = clock.currentTimeMillisUnsafe()
        return Effect.flatMapEager(ownerOf(hashOf(secret), now), (identity) =>
          identity?.keyId === undefined
            ? Effect.succeed(identity)
            : Effect.mapEager(lastUses.note(identity.keyId, now), () => identity)
        )
      }),
    isWorking: (id) => Effect.flatMap(Clock.currentTimeMillis, (now) => read(isWorkingAt(sql, id, now))),
    list: traced("ApiKeyStore.list")(function* (accountId) {
      const condition = accountId === undefined ? sql`TRUE` : sql`api_key.account = ${accountId}`
      return (yield* read(select(condition))).map(({ record }) => record)
    }),
    working: (accountId) => Effect.flatMap(Clock.currentTimeMillis, (now) => workingOf(accountId, now)),
    revoke: traced("ApiKeyStore.revoke")(function* (id, { keepMade = false } = {}) {
      const now = yield* Clock.currentTimeMillis
      return yield* write(
        Effect.gen(function* () {
          if (keepMade) yield* handOver(sql, id)
          const gone = yield* revokeWithMade(sql, id, now)
          const [revoked] = yield* select(sql`api_key.id = ${id}`)
          if (revoked === undefined) return yield* new NotFound({ code: "key_not_found", error: "no such key" })
          return { record: revoked.record, alsoRevoked: gone.filter((each) => each !== id) }
        })
      )
    })
  })
})

/** Keys that it made count as made by its maker. */
const handOver = (sql: SqlClient.SqlClient, id: string) =>
  Effect.forEach(["api_key", "account_webhook"], (table) => {
    const maker = sql`(SELECT maker.made_by FROM api_key AS maker WHERE maker.id = ${id})`
    return sql`UPDATE ${sql(table)} SET made_by = ${maker} WHERE made_by = ${id}`
  })

/** The key and what it made, in turn, and all their webhooks; ids of those that worked until now, oldest first. */
const revokeWithMade = (sql: SqlClient.SqlClient, id: string, now: number) =>
  Effect.map(
    Effect.tap(
      sql<{ readonly id: string }>`WITH RECURSIVE gone(id) AS (
        SELECT ${id} UNION SELECT api_key.id FROM api_key JOIN gone ON api_key.made_by = gone.id
      )
      UPDATE api_key SET revoked_at = ${now} WHERE id IN (SELECT id FROM gone) AND revoked_at IS NULL RETURNING id`,
      (rows) => {
        const ids = JSON.stringify([id, ...rows.map((row) => row.id)])
        return removeHooks(sql, sql`made_by IN (SELECT value FROM json_each(${ids}))`)
      }
    ),
    (rows) => rows.map((row) => row.id).toSorted()
  )

interface NewKey extends KeyBounds {
  readonly label: string
  readonly secret: string
  readonly keyPrefix: string
  readonly limits: QuotaLimits
}

/** Remembers the latest: requests with one key follow one another. */
const makeHashOf = () => {
  let latest = { secret: "", hash: hashApiKey("") }
  return (secret: string): string => {
    if (latest.secret !== secret) latest = { secret, hash: hashApiKey(secret) }
    return latest.hash
  }
}

/** Working keys of an account, and from when and until when that holds if no key changes. */
interface WorkingKeys {
  readonly working: number
  readonly since: number
  readonly until: number | null
}

const workingKeys = (sql: SqlClient.SqlClient, accountId: string, now: number) =>
  Effect.map(
    sql<WorkingKeys>`SELECT count(*) AS working, ${now} AS since, min(expires_at) AS until FROM api_key
      WHERE account = ${accountId} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})`,
    ([counted]) => counted!
  )

/** Working keys of an account at a time. */
const makeWorkingCounts = Effect.gen(function* () {
  const { sql } = yield* ControlDatabase
  const rows = [{ table: "api_key", columns: ["account", "revoked_at", "expires_at"], countsRows: true }]
  const known = yield* makeKnownRows<WorkingKeys>(rows, Limits.accountsKnownMax)
  return (accountId: string, now: number): Effect.Effect<number> =>
    Effect.map(
      known.get(
        accountId,
        workingKeys(sql, accountId, now),
        ({ since, until }) => now >= since && now < (until ?? Infinity)
      ),
      (counted) => counted!.working
    )
})

const isWorkingAt = (sql: SqlClient.SqlClient, id: string, now: number) =>
  Effect.map(
    sql`SELECT 1 FROM api_key WHERE id = ${id} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})`,
    (found) => found.length > 0
  )

/** Inside a transaction, and only if the secret is not a key yet. */
const insertNew = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  random: SecureRandom.SecureRandom["Service"],
  account: Account,
  { expiresAt, keyPrefix, label, limits, madeBy, scope, secret }: NewKey
) {
  yield* requireWorkingMaker(sql, account.id, madeBy)
  const [count] = yield* sql<{ readonly working: number }>`SELECT count(*) AS working FROM api_key
    WHERE account = ${account.id} AND revoked_at IS NULL`
  if (count!.working >= Limits.keysPerAccountMax) {
    return yield* new InvalidRequest({
      code: "limit_exceeded",
      error: `an account can have at most ${Limits.keysPerAccountMax} working keys; revoke one first`
    })
  }
  const createdAt = yield* Clock.currentTimeMillis
  yield* requireQuota("keys", limits, (yield* workingKeys(sql, account.id, createdAt)).working, 1)
  const record: KeyRecord = {
    id: `key_${yield* random.ulid}`,
    account: account.name,
    label,
    prefix: displayPrefix(secret, keyPrefix),
    createdAt,
    ...scope,
    ...(madeBy !== undefined && { madeBy }),
    ...(expiresAt !== undefined && { expiresAt })
  }
  yield* sql`INSERT INTO api_key (id, account, label, prefix, hash, created_at, scope, expires_at, made_by)
    VALUES (${record.id}, ${account.id}, ${label}, ${record.prefix}, ${hashApiKey(secret)}, ${record.createdAt},
      ${scope === undefined ? null : JSON.stringify(scope)}, ${expiresAt ?? null},
      ${madeBy ?? null})`
  return record
})

interface KnownKey {
  readonly row: KeyRow
  readonly record: KeyRecord
}

const knownKey = (account: Account, { record, row }: KnownKey): Effect.Effect<KeyRecord, Conflict> =>
  row.account === account.id && row.revoked_at === null
    ? Effect.succeed(record)
    : Effect.fail(
        new Conflict({
          code: "id_conflict",
          error: "this secret already is a key of another account, or a revoked key; choose another secret"
        })
      )

interface KeyRow {
  readonly id: string
  readonly account: string
  readonly account_name: string
  readonly label: string
  readonly prefix: string
  readonly created_at: number
  readonly scope: string | null
  readonly expires_at: number | null
  readonly made_by: string | null
  readonly last_used_at: number | null
  readonly revoked_at: number | null
}

/** The operator's routes refer to accounts by name, so their answers do too. */
const recordOf = (row: KeyRow, lastUse: number | undefined): KeyRecord => {
  const lastUsedAt = lastUse ?? row.last_used_at
  return {
    id: row.id,
    account: row.account_name,
    label: row.label,
    prefix: row.prefix,
    createdAt: row.created_at,
    ...scopeOf(row.scope),
    ...(row.made_by === null ? {} : { madeBy: row.made_by }),
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
    ...(lastUsedAt === null ? {} : { lastUsedAt }),
    ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at })
  }
}

/** Rows from which an identity is made; not when a key was last used. */
const identityRows: ReadonlyArray<WatchedRows> = [
  { table: "api_key", columns: ["account", "hash", "scope", "expires_at", "revoked_at"] },
  { table: "account" }
]

/** The owner of a working key by the key's digest; undefined: there is none. */
const makeKnownKeys = Effect.gen(function* () {
  const { sql } = yield* ControlDatabase
  const known = yield* makeKnownRows<Identity>(identityRows, Limits.keysKnownMax)
  const look = (digest: string, nowMillis: number) =>
    Effect.map(
      sql<AccountRow & UsedKey>`SELECT account.*, api_key.id AS key_id, api_key.scope, api_key.expires_at
        FROM api_key JOIN account ON account.id = api_key.account
        WHERE api_key.hash = ${digest} AND api_key.revoked_at IS NULL
          AND (api_key.expires_at IS NULL OR api_key.expires_at > ${nowMillis})`,
      ([row]) => (row === undefined ? undefined : identityOf(row))
    )
  return (digest: string, nowMillis: number): Effect.Effect<Identity | undefined> =>
    known.get(digest, look(digest, nowMillis), ({ keyExpiresAt = Infinity }) => keyExpiresAt > nowMillis)
})

interface UsedKey {
  readonly key_id: string
  readonly expires_at: number | null
  readonly scope: string | null
}

const identityOf = (row: AccountRow & UsedKey): Identity => ({
  account: accountOf(row),
  keyId: row.key_id,
  scope: scopeOf(row.scope),
  ...(row.expires_at !== null && { keyExpiresAt: row.expires_at })
})

const scopeOf = (text: string | null): KeyScope | undefined =>
  text === null ? undefined : (JSON.parse(text) as KeyScope)
