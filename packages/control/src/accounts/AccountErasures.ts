/**
 * Erasures of whole accounts, as far as `control.db` knows the account (contract: Operator routes).
 *
 * Invariants: an erasure is durable before anything is erased, with the tags of its files, so that a start after a kill
 * can finish it; the account is refused from its beginning on; its last transaction removes the account's rows and
 * stores the report. The ledger, payments, runs of the daily job and revoked grants stay. Of the name only a hash stays.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { Account, AccountErasureReport, ErasedCounts } from "@muniment/domain/Account"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { Conflict } from "@muniment/domain/Errors"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

/** An erasure that is not finished. */
export interface OpenErasure {
  readonly accountId: string
  readonly namespaces: ReadonlyArray<NamespaceTag>
  /** Names of their files at its beginning. */
  readonly files: ReadonlyArray<string>
  /** Counts at its beginning. */
  readonly found: ErasedCounts
  readonly startedAt: number
}

/** Rows of an account that an erasure removes. */
type AccountRows = Pick<ErasedCounts, "keys" | "wallets" | "schemas" | "answers">

export class AccountErasures extends Context.Service<
  AccountErasures,
  {
    readonly countRows: (accountId: string) => Effect.Effect<AccountRows>
    /** Suspends the account; of an account whose erasure has begun, that erasure. */
    readonly begin: (
      account: Account,
      what: Pick<OpenErasure, "namespaces" | "files" | "found">
    ) => Effect.Effect<OpenErasure, ControlFailure>
    /** Fails once the account's erasure has begun: nothing may come to it any more. */
    readonly requireNone: (accountId: string) => Effect.Effect<void, Conflict>
    readonly open: Effect.Effect<ReadonlyArray<OpenErasure>>
    /** The report of the account of that name or id, if it was erased. */
    readonly reportOf: (nameOrId: string) => Effect.Effect<AccountErasureReport | undefined>
    /** Removes all rows of the account and keeps the report; then they leave the logs. */
    readonly finish: (report: AccountErasureReport) => Effect.Effect<void, ControlFailure>
  }
>()("muniment/control/AccountErasures") {
  static readonly layer = Layer.effect(
    AccountErasures,
    Effect.gen(function* () {
      const { noteErasure, read, settle, sql, write } = yield* ControlDatabase
      return AccountErasures.of({
        countRows: (accountId) => read(countRows(sql, accountId)),
        begin: Effect.fn("AccountErasures.begin")(function* (account, { files, found, namespaces }) {
          const now = yield* Clock.currentTimeMillis
          return yield* write(
            Effect.gen(function* () {
              yield* sql`UPDATE account SET suspended_at = coalesce(suspended_at, ${now}) WHERE id = ${account.id}`
              // An account that came again after an erasure is erased again.
              yield* sql`DELETE FROM account_erasure WHERE account = ${account.id} AND report IS NOT NULL`
              yield* sql`INSERT INTO account_erasure ${sql.insert({
                account: account.id,
                name_hash: sha256Hex(account.name),
                namespaces: JSON.stringify(namespaces),
                files: JSON.stringify(files),
                found: JSON.stringify(found),
                started_at: now
              })} ON CONFLICT (account) DO NOTHING`
              const [row] = yield* sql<ErasureRow>`SELECT * FROM account_erasure WHERE account = ${account.id}`
              return openErasureOf(row!)
            })
          )
        }),
        requireNone: (accountId) => read(requireNoErasure(sql, accountId)),
        open: read(
          Effect.map(sql<ErasureRow>`SELECT * FROM account_erasure WHERE report IS NULL ORDER BY started_at`, (rows) =>
            rows.map(openErasureOf)
          )
        ),
        reportOf: (nameOrId) =>
          read(
            Effect.map(
              sql<{ readonly report: string }>`SELECT report FROM account_erasure WHERE report IS NOT NULL
                AND (account = ${nameOrId} OR name_hash = ${sha256Hex(nameOrId)}) ORDER BY started_at DESC`,
              ([row]) => (row === undefined ? undefined : (JSON.parse(row.report) as AccountErasureReport))
            )
          ),
        finish: Effect.fn("AccountErasures.finish")(function* (report) {
          yield* write(
            Effect.gen(function* () {
              for (const table of ownedTables) yield* sql`DELETE FROM ${sql(table)} WHERE account = ${report.account}`
              yield* sql`DELETE FROM reservation WHERE account = ${report.account} AND state = 'settled'`
              yield* sql`DELETE FROM account WHERE id = ${report.account}`
              yield* sql`UPDATE account_erasure SET report = ${JSON.stringify(report)} WHERE account = ${report.account}`
              yield* noteErasure
            })
          )
          yield* settle
        })
      })
    })
  )
}

/** Fails for an account that an erasure has begun to take away, or has taken. Also inside a transaction. */
export const requireNoErasure = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, accountId: string) {
  const rows = yield* sql`SELECT 1 FROM account WHERE id = ${accountId}
    AND id NOT IN (SELECT account FROM account_erasure WHERE report IS NULL)`
  if (rows.length > 0) return
  return yield* new Conflict({ code: "erasure_open", error: "the erasure of this account has begun" })
})

/** Tables whose rows go with their account. */
const ownedTables = [
  "account_event",
  "webhook_message",
  "account_webhook",
  "api_key",
  "wallet",
  "memory_schema",
  "idempotency",
  "model_usage",
  "purge_mark",
  "account_quota",
  "consolidation",
  "consolidation_mark"
] as const

const countRows = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, accountId: string) {
  const [counts] = yield* sql<AccountRows>`SELECT
    (SELECT count(*) FROM api_key WHERE account = ${accountId}) AS keys,
    (SELECT count(*) FROM wallet WHERE account = ${accountId}) AS wallets,
    (SELECT count(*) FROM memory_schema WHERE account = ${accountId}) AS schemas,
    (SELECT count(*) FROM idempotency WHERE account = ${accountId}) AS answers`
  return counts!
})

interface ErasureRow {
  readonly account: string
  readonly namespaces: string
  readonly files: string
  readonly found: string
  readonly started_at: number
}

const openErasureOf = (row: ErasureRow): OpenErasure => ({
  accountId: row.account,
  namespaces: JSON.parse(row.namespaces) as ReadonlyArray<NamespaceTag>,
  files: JSON.parse(row.files) as ReadonlyArray<string>,
  found: JSON.parse(row.found) as ErasedCounts,
  startedAt: row.started_at
})
