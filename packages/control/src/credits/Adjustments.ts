/**
 * Movements against `equity:adjustment`: corrections of balances by the operator, each with a key (contract: Operator
 * routes), and the closing of an erased account.
 *
 * Invariants: a key stands for one correction: repeating it changes nothing, and another account or amount under it is a
 * conflict; nothing is taken below zero. The movements of a closed account stay.
 */
import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Account } from "@muniment/domain/Account"
import { Conflict } from "@muniment/domain/Errors"
import type { MicroCredits } from "@muniment/domain/Money"
import type { Books } from "./Books.ts"
import { accountName, equityOfAdjustments } from "./LedgerAccounts.ts"
import { postTransfers, type NewTransfer } from "./Transfers.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

export interface Adjustment {
  readonly account: Account
  /** Positive gives, negative takes; not zero. */
  readonly amount: MicroCredits
  /** A second adjustment of this key changes nothing. */
  readonly key: string
  readonly reason: string
}

/** Carries out a correction; true if it was made before. */
export const makeAdjustments = (books: Books["Service"], sql: SqlClient.SqlClient) => {
  const give = ({ account, amount, key, reason }: Adjustment) =>
    books.credit(
      account.id,
      Effect.gen(function* () {
        if (yield* isRepeat(account.id, amount, key)) return { result: true, amount: 0 }
        yield* post(key, equityOfAdjustments, accountName("balance", account.id), amount, account.id, reason)
        return { result: false, amount }
      })
    )
  const take = ({ account, amount, key, reason }: Adjustment) =>
    books.debit(account.id, -amount, (taken) =>
      Effect.gen(function* () {
        if (yield* isRepeat(account.id, amount, key)) return { result: true, isTaken: false }
        if (taken < -amount) return yield* notEnough()
        yield* post(key, accountName("balance", account.id), equityOfAdjustments, taken, account.id, reason)
        return { result: false, isTaken: true }
      })
    )
  /** True if this adjustment was made before; a key that stands for another one is a conflict. */
  const isRepeat = Effect.fnUntraced(function* (account: string, amount: MicroCredits, key: string) {
    const [known] = yield* sql<{ readonly account: string; readonly amount: number }>`SELECT transfer.account,
        CASE WHEN ledger_account.name = ${equityOfAdjustments} THEN amount ELSE -amount END AS amount
      FROM transfer JOIN ledger_account ON ledger_account.id = transfer.debit
      WHERE transfer.key = ${adjustmentKey(key)}`
    if (known === undefined) return false
    return known.account === account && known.amount === amount ? true : yield* keyTaken()
  })
  const post = (key: string, debit: string, credit: string, amount: MicroCredits, account: string, reason: string) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) =>
      postTransfers(sql, [
        { key: adjustmentKey(key), debit, credit, amount, kind: "adjustment", operation: reason, account, at }
      ])
    )
  return (adjustment: Adjustment): Effect.Effect<boolean, Conflict | ControlFailure> =>
    adjustment.amount > 0 ? give(adjustment) : take(adjustment)
}

const adjustmentKey = (key: string) => `adjustment:${key}`

const keyTaken = () =>
  new Conflict({
    code: "idempotency_conflict",
    error: "this key names a correction of another account or amount: nothing was changed"
  })

const notEnough = () =>
  new Conflict({
    code: "insufficient_balance",
    error: "the free balance is lower than the amount to take; take at most the balance"
  })

/** A ledger account of the account, and what it is worth to it: what is owed to it is positive. */
export interface OwnedTotal {
  readonly name: string
  readonly amount: MicroCredits
}

/** Ledger accounts of one account that do not stand at zero. */
export const ownedTotals = (sql: SqlClient.SqlClient, accountId: string) =>
  sql<OwnedTotal>`SELECT name, credits - debits AS amount FROM ledger_account
    WHERE owner = ${accountId} AND credits <> debits ORDER BY name`

/**
 * Books out every ledger account of an erased account; `key` names the erasure. -> What was booked out. Afterwards each
 * stands at zero, also when a late payment came in and it is closed again. Nothing of it may be held: the account is
 * refused, and its calls have ended.
 */
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
