/**
 * Refunds of payments and their states: `verified` -> `broadcasting` -> `settled` -> `finalized`; or `failed`.
 *
 * Invariants: a payment has one refund that has not failed; the credits leave the balance in the transaction that
 * journals the refund, before anything is sent, and come back in the one that fails it.
 */
import { Clock, Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { Conflict } from "@muniment/domain/Errors"
import type { PaymentState } from "@muniment/domain/Operations"
import { creditsOfUnits } from "@muniment/domain/Payment"
import type { Books } from "../credits/Books.ts"
import { accountName, type NewTransfer, postTransfers, usdcOn } from "../credits/Transfers.ts"
import type { Announce } from "./MoneyEvents.ts"
import type { ControlDatabase } from "../database/ControlDatabase.ts"
import {
  journalled,
  type JournalledPayment,
  type JournalRow,
  type NewPayment,
  type PaymentTransaction
} from "./JournalledPayment.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

/** `payer` is who sends the refund; `account` and `network` are those of the payment. */
interface NewRefund extends NewPayment {
  /** Id of the payment. */
  readonly payment: string
}

export interface JournalledRefund extends JournalledPayment {
  readonly payment: string
}

export interface RefundJournal {
  /** The one that has not failed. */
  readonly of: (paymentId: string) => Effect.Effect<JournalledRefund | undefined>
  readonly find: (id: string) => Effect.Effect<JournalledRefund | undefined>
  readonly unfinished: Effect.Effect<ReadonlyArray<JournalledRefund>>
  /** Takes the credits; -> the refund, or the one that the payment has. Fails as `insufficient_balance` if they are spent. */
  readonly claim: (refund: NewRefund) => Effect.Effect<JournalledRefund, Conflict | ControlFailure>
  readonly broadcasting: (id: string, transaction: PaymentTransaction) => Effect.Effect<void, ControlFailure>
  readonly settled: (id: string, hash: string) => Effect.Effect<void, ControlFailure>
  readonly resettled: (id: string, hash: string) => Effect.Effect<void, ControlFailure>
  readonly finalized: (id: string) => Effect.Effect<void, ControlFailure>
  /** Gives the credits back. */
  readonly failed: (id: string, reason: string) => Effect.Effect<void, ControlFailure>
  /** Nothing is counted: the operator paid for a transaction of their own. */
  readonly reverted: (id: string) => Effect.Effect<void>
}

export const makeRefundJournal = (
  books: Books["Service"],
  { read, sql, write }: ControlDatabase["Service"],
  announce: Announce
): RefundJournal => {
  const { find, insert, move, of, unfinished } = refundRows(sql)
  const post = (refund: NewRefund, isUndone: boolean) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) => postTransfers(sql, [transferOf(refund, at, isUndone)]))

  const claim = (refund: NewRefund) =>
    books.debit(refund.account, creditsOfUnits(refund.units), (taken) =>
      Effect.gen(function* () {
        const known = yield* of(refund.payment)
        if (known !== undefined) return { result: known, isTaken: false }
        if ((yield* find(refund.id)) !== undefined) return yield* alreadyUsed
        if (taken < creditsOfUnits(refund.units)) return yield* spent
        yield* insert(refund)
        yield* post(refund, false)
        const begun = (yield* find(refund.id))!
        yield* announce("refund.started", begun)
        return { result: begun, isTaken: true }
      })
    )

  const failed = Effect.fnUntraced(function* (id: string, reason: string) {
    const refund = yield* read(find(id))
    if (refund === undefined) return yield* Effect.die(new Error(`the journal has lost refund ${id}`))
    yield* books.credit(
      refund.account,
      Effect.gen(function* () {
        if ((yield* find(id))?.state === "failed") return { result: undefined, amount: 0 }
        yield* post(refund, true)
        yield* move(id, "failed", { reason })
        yield* announce("refund.failed", { ...refund, reason })
        return { result: undefined, amount: creditsOfUnits(refund.units) }
      })
    )
  })

  const settled = Effect.fnUntraced(function* (id: string, hash: string) {
    yield* move(id, "settled", { tx_hash: hash })
    const refund = yield* find(id)
    if (refund?.state === "settled") yield* announce("refund.settled", refund)
  })

  return {
    of: (paymentId) => read(of(paymentId)),
    find: (id) => read(find(id)),
    unfinished: read(unfinished),
    claim,
    broadcasting: (id, { hash, raw }) => Effect.asVoid(write(move(id, "broadcasting", { tx_hash: hash, tx_raw: raw }))),
    settled: (id, hash) => write(settled(id, hash)),
    resettled: (id, hash) => Effect.asVoid(write(move(id, "settled", { tx_hash: hash }))),
    finalized: (id) => Effect.asVoid(write(move(id, "finalized"))),
    failed,
    reverted: () => Effect.void
  }
}

/** Statements on table `refund`; those that write run inside the caller's transaction. */
const refundRows = (sql: SqlClient.SqlClient) => {
  const select = (condition: Statement.Fragment) =>
    Effect.map(sql<RefundRow>`SELECT * FROM refund WHERE ${condition} ORDER BY created_at`, (rows) =>
      rows.map(refundOf)
    )
  const of = (paymentId: string) =>
    Effect.map(select(sql`payment = ${paymentId} AND state <> 'failed'`), ([refund]) => refund)
  const find = (id: string) => Effect.map(select(sql`id = ${id}`), ([refund]) => refund)
  const move = (id: string, state: PaymentState, columns: Readonly<Record<string, string>> = {}) =>
    Effect.flatMap(
      Clock.currentTimeMillis,
      (now) =>
        sql`UPDATE refund SET ${sql.update({ ...columns, state, updated_at: now })} WHERE id = ${id} AND state <> 'failed'`
    )
  const insert = Effect.fnUntraced(function* (refund: NewRefund) {
    const now = yield* Clock.currentTimeMillis
    const { account, id, network, payer, payment, units } = refund
    const payload = JSON.stringify(refund.payload)
    const row = { id, payment, account, network, payer, units, payload, state: "verified" }
    yield* sql`INSERT INTO refund ${sql.insert({ ...row, created_at: now, updated_at: now })}`
  })

  const unfinished = select(sql`state IN ('verified', 'broadcasting', 'settled')`)
  return { find, insert, move, of, unfinished }
}

const alreadyUsed = Effect.suspend(
  () => new Conflict({ code: "payment_already_used", error: "this authorization is another refund's: sign a new one" })
)

const spent = Effect.suspend(
  () =>
    new Conflict({
      code: "insufficient_balance",
      error: "the account has spent the credits of this payment meanwhile: ask for the offer again"
    })
)

/** The account's balance pays; the asset is what the payee holds less. */
const transferOf = (
  { account, id, network, payment, units }: NewRefund,
  at: number,
  isUndone: boolean
): NewTransfer => {
  const [balance, asset] = [accountName("balance", account), usdcOn(network)]
  return {
    key: `${isUndone ? "refund_undone" : "refund"}:${id}`,
    debit: isUndone ? asset : balance,
    credit: isUndone ? balance : asset,
    amount: creditsOfUnits(units),
    kind: "adjustment",
    operation: `${isUndone ? "failed refund" : "refund"} of ${payment}`,
    account,
    at
  }
}

interface RefundRow extends JournalRow {
  readonly payment: string
}

const refundOf = (row: RefundRow): JournalledRefund => ({ ...journalled(row), payment: row.payment })

/** Refunds whose transfer is missing or of another amount. */
export const refundsWithoutTransfers = (sql: SqlClient.SqlClient) =>
  sql<{ readonly problem: string }>`SELECT 'refund ' || refund.id || ' is ' || state || ' and its credits do not say so'
      AS problem FROM refund
    WHERE units * 1000 <> (SELECT coalesce(sum(amount), 0) FROM transfer WHERE key = 'refund:' || refund.id)
      OR (state = 'failed') <> EXISTS (SELECT 1 FROM transfer WHERE key = 'refund_undone:' || refund.id)`
