/**
 * Revoked grants (contract: Grants), by `grantId`.
 *
 * Invariants: a revocation takes effect with its commit, for every search; a lookup runs no query, because all revocations
 * that still matter are in memory; after the grant's own expiry a revocation is deleted. Their number per account is
 * bounded.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { InvalidRequest } from "@muniment/domain/Errors"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

/** Bounded, because every wallet has an account and chooses the expiry until which a row is kept. */
export const revocationsPerAccountMax = 10_000

export class GrantRevocations extends Context.Service<
  GrantRevocations,
  {
    /** Revokes a grant for the grantor's account. Idempotent. `expiresAtSeconds` is the grant's `e`. */
    readonly revoke: (
      grantId: string,
      accountId: string,
      expiresAtSeconds: number
    ) => Effect.Effect<void, InvalidRequest | ControlFailure>
    readonly isRevoked: (grantId: string) => boolean
    /** Deletes those of expired grants; returns their number. */
    readonly sweep: Effect.Effect<number, ControlFailure>
  }
>()("muniment/control/GrantRevocations") {
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
        yield* sql`INSERT INTO grant_revocation (grant_id, account, revoked_at, expires_at)
          VALUES (${grantId}, ${accountId}, ${yield* Clock.currentTimeMillis}, ${expiresAtSeconds})
          ON CONFLICT (grant_id) DO NOTHING`
      })

      return GrantRevocations.of({
        // Uninterruptible: the commit and the set must not diverge.
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
    error: `an account can have at most ${revocationsPerAccountMax} revoked grants that are not expired; wait for some to expire`
  })
