/**
 * Callers by the digests of their keys, kept in memory, so that a request whose key is known asks `control.db` nothing and
 * waits for no transaction. Whatever changes or removes a key or an account empties it (`RowWatch`), so a revocation acts
 * on the next call as it does without; a key's end is looked at on every call.
 */
import { Effect } from "effect"
import type { Identity } from "@muniment/domain/Identity"
import type { KeyScope } from "@muniment/domain/KeyScope"
import { Limits } from "@muniment/domain/Limits"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import type { WatchedRows } from "../database/RowWatch.ts"
import { accountOf, type AccountRow } from "./Accounts.ts"

/** What an identity is made of; not when a key was last used. */
const identityRows: ReadonlyArray<WatchedRows> = [
  { table: "api_key", columns: ["account", "hash", "scope", "expires_at", "revoked_at"] },
  { table: "account" }
]

/** The owner of a working key by the key's digest; undefined: there is none. */
export const makeKnownKeys = Effect.gen(function* () {
  const { read, sql, watch } = yield* ControlDatabase
  const known = new Map<string, Identity>()
  const changes = yield* watch(identityRows, () => known.clear())

  const keep = (digest: string, identity: Identity): void => {
    if (known.size >= Limits.keysKnownMax) {
      const [oldest = ""] = known.keys()
      known.delete(oldest)
    }
    known.set(digest, identity)
  }

  const look = Effect.fnUntraced(function* (digest: string, nowMillis: number) {
    const { count } = changes
    const [row] = yield* sql<AccountRow & UsedKey>`SELECT account.*, api_key.id AS key_id, api_key.scope,
        api_key.expires_at
      FROM api_key JOIN account ON account.id = api_key.account
      WHERE api_key.hash = ${digest} AND api_key.revoked_at IS NULL
        AND (api_key.expires_at IS NULL OR api_key.expires_at > ${nowMillis})`
    if (row === undefined) return undefined
    const identity: Identity = {
      account: accountOf(row),
      keyId: row.key_id,
      scope: scopeOf(row.scope),
      ...(row.expires_at !== null && { keyExpiresAt: row.expires_at })
    }
    if (changes.count === count) keep(digest, identity)
    return identity
  })

  return (digest: string, nowMillis: number): Effect.Effect<Identity | undefined> => {
    const identity = known.get(digest)
    const isWorking = identity !== undefined && (identity.keyExpiresAt ?? Infinity) > nowMillis
    return isWorking ? Effect.succeed(identity) : read(look(digest, nowMillis))
  }
})

interface UsedKey {
  readonly key_id: string
  readonly expires_at: number | null
  readonly scope: string | null
}

export const scopeOf = (text: string | null): KeyScope | undefined =>
  text === null ? undefined : (JSON.parse(text) as KeyScope)
