/**
 * Callers by the digests of their keys, kept in memory. Any change of a key or an account drops them, so a revocation acts
 * on the next call as it does without; a key's end is looked at on every call. When a key was last used is kept here too,
 * until it is written.
 */
import { Effect } from "effect"
import type { Identity } from "@muniment/domain/Identity"
import type { KeyScope } from "@muniment/domain/KeyScope"
import { Limits } from "@muniment/domain/Limits"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import { makeKnownRows } from "../database/KnownRows.ts"
import type { WatchedRows } from "../database/RowWatch.ts"
import { accountOf, type AccountRow } from "./Accounts.ts"

/** What an identity is made of; not when a key was last used. */
const identityRows: ReadonlyArray<WatchedRows> = [
  { table: "api_key", columns: ["account", "hash", "scope", "expires_at", "revoked_at"] },
  { table: "account" }
]

/** The owner of a working key by the key's digest; undefined: there is none. */
export const makeKnownKeys = Effect.gen(function* () {
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

export const scopeOf = (text: string | null): KeyScope | undefined =>
  text === null ? undefined : (JSON.parse(text) as KeyScope)

/** How often last uses are written; a kill loses at most this much of them. */
export const lastUseFlushMillis = 60_000

/**
 * Last uses of keys that are not written yet, one entry per key. The first one starts the wait for the next write. A
 * failed write fails no request: its entries are written the next time.
 */
export const makeLastUses = Effect.gen(function* () {
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
        return Effect.logWarning("last uses of keys not written; they are kept and retried", cause)
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
    /** Notes it at once; the effect waits for the next write, where nothing waits for it yet. */
    note: (id: string, atMillis: number): Effect.Effect<void> => {
      pending.set(id, atMillis)
      if (isWaiting) return Effect.void
      isWaiting = true
      return Effect.asVoid(Effect.forkIn(flushLater, scope))
    },
    of: (id: string): number | undefined => pending.get(id)
  }
})
