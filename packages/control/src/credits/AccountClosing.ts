/**
 * Closing the ledger of an erased account: every ledger account of its own is booked out against
 * `equity:adjustment`, with the erasure as the reason.
 *
 * Invariants: the movements of the account stay; afterwards each of its ledger accounts stands at zero, also when a late
 * payment came in and it is closed again. Nothing of it is held: the account is refused, and its calls have ended.
 */
import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { MicroCredits } from "@muniment/domain/Money"
import type { Books } from "./Books.ts"
import { accountName, equityOfAdjustments } from "./LedgerAccounts.ts"
import { type NewTransfer, postTransfers } from "./Transfers.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

/** A ledger account of the account, and what it is worth to it: what is owed to it is positive. */
export interface OwnedTotal {
  readonly name: string
  readonly amount: MicroCredits
}

/** Ledger accounts of one account that do not stand at zero. */
export const ownedTotals = (sql: SqlClient.SqlClient, accountId: string) =>
  sql<OwnedTotal>`SELECT name, credits - debits AS amount FROM ledger_account
    WHERE owner = ${accountId} AND credits <> debits ORDER BY name`

/** `key` names the erasure. -> What was booked out. */
export const makeClosing =
  (books: Books["Service"], sql: SqlClient.SqlClient) =>
  (accountId: string, key: string): Effect.Effect<ReadonlyArray<OwnedTotal>, ControlFailure> =>
    Effect.andThen(
      books.queue.flush,
      books.credit(
        accountId,
        Effect.gen(function* () {
          const totals = yield* ownedTotals(sql, accountId)
          const at = yield* Clock.currentTimeMillis
          const [before] = yield* sql<{ readonly count: number }>`SELECT count(*) AS count FROM transfer
            WHERE account = ${accountId} AND key >= ${`${key}:`} AND key < ${`${key};`}`
          yield* postTransfers(
            sql,
            totals.map(({ amount, name }): NewTransfer => {
              const [debit, credit] = amount > 0 ? [name, equityOfAdjustments] : [equityOfAdjustments, name]
              return {
                key: `${key}:${before!.count}:${name}`,
                debit,
                credit,
                amount: Math.abs(amount),
                kind: "adjustment",
                operation: "erasure of the account",
                account: accountId,
                at
              }
            })
          )
          return { result: totals, amount: -amountOf(totals, accountName("balance", accountId)) }
        })
      )
    ).pipe(
      Effect.tap((totals) =>
        Effect.sync(() => {
          books.purseOf(accountId).allowance -= amountOf(totals, accountName("allowance", accountId))
        })
      ),
      Effect.uninterruptible,
      Effect.withSpan("Ledger.close")
    )

const amountOf = (totals: ReadonlyArray<OwnedTotal>, wanted: string): MicroCredits =>
  totals.find(({ name }) => name === wanted)?.amount ?? 0
