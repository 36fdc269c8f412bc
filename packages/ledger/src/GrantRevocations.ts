/**
 * Grants that their grantors took back (interface.md section 8), by `grantId`.
 *
 * Invariants: a revocation counts from its commit on, for every search; asking costs no query, since
 * all that can still matter is held in memory; past the grant's own expiry a revocation is dropped, for
 * then the grant is dead anyway. An account has a bounded number of them.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { type InsufficientStorage, InvalidRequest } from "@muniment/domain/Errors"
import { ControlDatabase } from "./ControlDatabase.ts"

/** Anybody with a wallet has an account, and the rows stay until the expiry that he chose. */
export const revocationsPerAccountMax = 10_000

export class GrantRevocations extends Context.Service<
  GrantRevocations,
  {
    /** By the grantor's account. Again: nothing changes. `expiresAtSeconds` is the grant's `e`. */
    readonly revoke: (
      grantId: string,
      accountId: string,
      expiresAtSeconds: number
    ) => Effect.Effect<void, InvalidRequest | InsufficientStorage>
    readonly isRevoked: (grantId: string) => boolean
    /** Drops those of grants expired by now; how many. */
    readonly sweep: Effect.Effect<number, InsufficientStorage>
  }
>()("muniment/ledger/GrantRevocations") {
  static readonly layer = Layer.effect(
    GrantRevocations,
    Effect.gen(function* () {
      const { read, sql, write } = yield* ControlDatabase
      const nowSeconds = Effect.map(Clock.currentTimeMillis, (millis) => Math.floor(millis / 1_000))
      const alive = yield* read(
        sql<IdRow>`SELECT grant_id FROM grant_revocation WHERE expires_at > ${yield* nowSeconds}`
      )
      const revoked = new Set(alive.map((row) => row.grant_id))

      const insert = Effect.fnUntraced(function* (grantId: string, accountId: string, expiresAtSeconds: number) {
        const [held] = yield* sql<{ readonly count: number }>`SELECT count(*) AS count FROM grant_revocation
          WHERE account = ${accountId}`
        if (held !== undefined && held.count >= revocationsPerAccountMax) return yield* tooMany()
        yield* sql`INSERT OR IGNORE INTO grant_revocation (grant_id, account, revoked_at, expires_at)
          VALUES (${grantId}, ${accountId}, ${yield* Clock.currentTimeMillis}, ${expiresAtSeconds})`
      })

      return GrantRevocations.of({
        // Between the commit and the set no interruption may fall.
        revoke: Effect.fn("GrantRevocations.revoke")(function* (grantId, accountId, expiresAtSeconds) {
          if (revoked.has(grantId) || expiresAtSeconds <= (yield* nowSeconds)) return
          yield* write(insert(grantId, accountId, expiresAtSeconds))
          revoked.add(grantId)
        }, Effect.uninterruptible),
        isRevoked: (grantId) => revoked.has(grantId),
        sweep: Effect.gen(function* () {
          const dropped = yield* write(
            sql<IdRow>`DELETE FROM grant_revocation WHERE expires_at <= ${yield* nowSeconds} RETURNING grant_id`
          )
          for (const row of dropped) revoked.delete(row.grant_id)
          return dropped.length
        }).pipe(Effect.uninterruptible, Effect.withSpan("GrantRevocations.sweep"))
      })
    })
  )
}

interface IdRow {
  readonly grant_id: string
}

const tooMany = () =>
  new InvalidRequest({
    code: "limit_exceeded",
    error: `an account can have ${revocationsPerAccountMax} revoked grants that are not expired`
  })
