/**
 * Corrections of balances by the operator, each with a key (contract: Operator routes).
 *
 * Invariants: a key stands for one correction: repeating it changes nothing, and another account or amount under it is a
 * conflict; nothing is taken below zero.
 */
import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Account } from "@muniment/domain/Account"
import { Conflict } from "@muniment/domain/Errors"
import type { MicroCredits } from "@muniment/domain/Money"
import type { Books } from "./Books.ts"
import { accountName, equityOfAdjustments } from "./LedgerAccounts.ts"
import { postTransfers } from "./Transfers.ts"
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
