/**
 * Stored first answers by `Idempotency-Key` (contract: Idempotency). A claim is in memory and ends with the process, as
 * its request does; a finished answer is a row of `control.db`.
 *
 * Invariants: of concurrent claims of one key one is `Fresh`, until it completes or is forgotten; an answer is replayed
 * for `Limits.idempotencyRetentionMillis`, or until its account has more than `Limits.keptAnswersBytesMax` of them: then
 * the older half of that goes, or callers could fill the disk with answers of calls that cost nothing; a key that is
 * kept never serves a second request.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { traced } from "@muniment/domain/traced"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

export type Claim =
  /** The key is new: do the work, then `complete` or `forget`. */
  | { readonly _tag: "Fresh" }
  | { readonly _tag: "Replay"; readonly status: number; readonly body: string }
  /** The same request with this key is under way. */
  | { readonly _tag: "InFlight" }
  /** The key was used with another request. */
  | { readonly _tag: "Mismatch" }

/** The stored key: a client's key is unique within an account and a route. */
export const idempotencyKeyOf = (accountId: string, route: string, clientKey: string): string =>
  sha256Hex(JSON.stringify([accountId, route, clientKey]))

export class IdempotencyStore extends Context.Service<
  IdempotencyStore,
  {
    /** `key` from `idempotencyKeyOf`; `fingerprint` is a hash of method, URL and body, or of a tool and its arguments. */
    readonly claim: (key: string, fingerprint: string) => Effect.Effect<Claim>
    /** Stores the answer, which goes with its account, and ends the claim, also on a full disk. Without a claim: a defect. */
    readonly complete: (
      key: string,
      status: number,
      body: string,
      accountId: string
    ) => Effect.Effect<void, ControlFailure>
    /** Ends a claim whose request failed: the key is free again. */
    readonly forget: (key: string) => Effect.Effect<void>
    /** Deletes answers stored before `olderThanMillis`; returns their number. */
    readonly sweep: (olderThanMillis: number) => Effect.Effect<number, ControlFailure>
  }
>()("muniment/control/IdempotencyStore") {
  static readonly layer = Layer.effect(
    IdempotencyStore,
    Effect.gen(function* () {
      const { read, sql, write } = yield* ControlDatabase
      /** Fingerprints by key; as many as requests under way. */
      const claims = new Map<string, string>()
      /** Bytes that are kept of an account, at most; those of others are summed up with their next answer. */
      const kept = new Map<string, number>()
      const bytesOf = (accountId: string) =>
        Effect.map(
          sql<{ readonly bytes: number }>`SELECT coalesce(sum(length(body)), 0) AS bytes FROM idempotency
            WHERE account = ${accountId}`,
          ([row]) => row?.bytes ?? 0
        )
      /** Drops the account's answers beyond the newest half of what may be kept. */
      const dropOld = (accountId: string) => sql`DELETE FROM idempotency WHERE key IN (
        SELECT key FROM (
          SELECT key, sum(length(body)) OVER (ORDER BY created_at DESC, key) AS bytes FROM idempotency
          WHERE account = ${accountId}
        ) WHERE bytes > ${Limits.keptAnswersBytesMax / 2})`
      /** -> bytes that are kept of the account afterwards. */
      const keep = Effect.fnUntraced(function* (answer: NewAnswer) {
        yield* sql`INSERT INTO idempotency ${sql.insert({ ...answer })}
          ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint, created_at = excluded.created_at,
            status = excluded.status, body = excluded.body, account = excluded.account`
        const before = kept.get(answer.account)
        const bytes = before === undefined ? yield* bytesOf(answer.account) : before + answer.body.length
        if (bytes <= Limits.keptAnswersBytesMax) return bytes
        yield* dropOld(answer.account)
        return yield* bytesOf(answer.account)
      })

      return IdempotencyStore.of({
        claim: traced("IdempotencyStore.claim")(function* (key, fingerprint) {
          const keptSince = (yield* Clock.currentTimeMillis) - Limits.idempotencyRetentionMillis
          // The mapping runs while the transaction holds the connection, so no `complete` runs between reading the row
          // and reading the claims.
          return yield* read(
            sql.withTransaction(
              Effect.map(
                sql<AnswerRow>`SELECT fingerprint, status, body FROM idempotency
                  WHERE key = ${key} AND created_at >= ${keptSince}`,
                ([row]) => decide(claims, key, fingerprint, row)
              )
            )
          )
        }),
        complete: traced("IdempotencyStore.complete")(
          function* (key, status, body, account) {
            const fingerprint = claims.get(key)
            if (fingerprint === undefined) return yield* Effect.die(new Error("an answer without a claim"))
            const now = yield* Clock.currentTimeMillis
            const bytes = yield* write(keep({ key, fingerprint, created_at: now, status, body, account }))
            if (kept.size >= Limits.accountsKnownMax) kept.clear()
            kept.set(account, bytes)
          },
          (keeping, key) =>
            Effect.ensuring(
              keeping,
              Effect.sync(() => claims.delete(key))
            )
        ),
        forget: (key) => Effect.sync(() => void claims.delete(key)),
        sweep: traced("IdempotencyStore.sweep")(function* (olderThanMillis) {
          const dropped = yield* write(sql`DELETE FROM idempotency WHERE created_at < ${olderThanMillis} RETURNING key`)
          kept.clear()
          return dropped.length
        })
      })
    })
  )
}

interface AnswerRow {
  readonly fingerprint: string
  readonly status: number
  readonly body: string
}

interface NewAnswer extends AnswerRow {
  readonly key: string
  readonly created_at: number
  readonly account: string
}

/** The row has precedence: after its commit the claim may exist for a moment longer. */
const decide = (
  claims: Map<string, string>,
  key: string,
  fingerprint: string,
  answer: AnswerRow | undefined
): Claim => {
  const first = answer?.fingerprint ?? claims.get(key)
  if (first === undefined) {
    claims.set(key, fingerprint)
    return { _tag: "Fresh" }
  }
  if (first !== fingerprint) return { _tag: "Mismatch" }
  return answer === undefined ? { _tag: "InFlight" } : { _tag: "Replay", status: answer.status, body: answer.body }
}
