/**
 * Credits of all accounts, by double entry (contract: Credits; the model is TigerBeetle's). The allowance of the month
 * pays first, then the paid balance; use by plan `owner`, or under an allowance without bound, is recorded and not
 * charged.
 *
 * Invariants: the sum of all accounts is zero; no purse is negative; a key is charged once; two calls never hold the
 * same credit. A deposit, the hold of a write and a storage charge are durable before they are answered; the charges of
 * calls, reads and writes alike, follow within `Limits.ledgerFlushMillis`.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { SqlClient } from "effect/sql"
import type { Account } from "@muniment/domain/Account"
import { Conflict } from "@muniment/domain/Errors"
import type { MicroCredits } from "@muniment/domain/Money"
import { traced } from "@muniment/domain/traced"
import {
  Books,
  type BooksOptions,
  makeStorageCharges,
  type RunFacts,
  type RunRecorded,
  type StorageCharge
} from "./Books.ts"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import {
  accountName,
  entriesOf,
  entryOf,
  type EntryRow,
  equityOfAdjustments,
  type LedgerEntry,
  type NewTransfer,
  postTransfers
} from "./Transfers.ts"
import type { Purses } from "./Purses.ts"
import type { ActualCost, Reservation, ReserveOptions } from "./Reservation.ts"
import { type InsufficientCredits, makeReservations, type Settled } from "./Reservations.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

export type { LedgerEntry } from "./Transfers.ts"
export type { Purses } from "./Purses.ts"
export type { ActualCost, Reservation, ReserveOptions } from "./Reservation.ts"
export { InsufficientCredits } from "./Reservations.ts"

interface TransactionsPage {
  /** Only entries older than this one. */
  readonly before?: number | undefined
  readonly limit: number
}

export interface AccountTotals {
  readonly name: string
  readonly debits: MicroCredits
  readonly credits: MicroCredits
}

export class Ledger extends Context.Service<
  Ledger,
  {
    /** The first call of a month grants its allowance. */
    readonly purses: (account: Account) => Effect.Effect<Purses>
    /**
     * Reserves credits, without I/O unless `durable`. The caller must settle or void it, also on failure or
     * interruption.
     */
    readonly reserve: (options: ReserveOptions) => Effect.Effect<Reservation, InsufficientCredits | ControlFailure>
    /**
     * Idempotent: a second call gives the same answer and charges nothing. With `actual` a part of the hold is charged,
     * under its name, and the rest is free at once; more than is held is a defect.
     */
    readonly settle: (reservation: Reservation, actual?: ActualCost) => Effect.Effect<Settled>
    /** Ends the hold; nothing is charged. */
    readonly void: (reservation: Reservation) => Effect.Effect<void>
    /** Durable reservations of earlier processes, which are not decided and whose calls have not been repeated. */
    readonly openReservations: Effect.Effect<ReadonlyArray<Reservation>>
    /** Settles or voids one of them; nothing happens if it is none any more. */
    readonly decide: (reservation: Reservation, wasDone: boolean) => Effect.Effect<void>
    /** Deletes settled ones older than `Limits.reservationRetentionMillis`; returns their number. */
    readonly sweepReservations: Effect.Effect<number, ControlFailure>
    /** Newest first. */
    readonly transactions: (accountId: string, page: TransactionsPage) => Effect.Effect<ReadonlyArray<LedgerEntry>>
    /**
     * Gives or takes credits for the operator. Fails as `insufficient_balance` if more is taken than is free, and as
     * `idempotency_conflict` if the key stands for another account or amount.
     */
    readonly adjust: (
      adjustment: Adjustment
    ) => Effect.Effect<{ readonly purses: Purses; readonly isRepeat: boolean }, Conflict | ControlFailure>
    /** Once per account and day, with the row of the daily job. */
    readonly chargeStorage: (charge: StorageCharge) => Effect.Effect<RunRecorded, ControlFailure>
    /** Only the row: this account is not charged for this day. */
    readonly recordRun: (run: RunFacts) => Effect.Effect<RunRecorded, ControlFailure>
    /** Ledger accounts of one account that do not stand at zero; flushes first. */
    readonly owned: (accountId: string) => Effect.Effect<ReadonlyArray<OwnedTotal>, ControlFailure>
    /** Books them all out, for the erasure that `key` names; returns them. */
    readonly close: (accountId: string, key: string) => Effect.Effect<ReadonlyArray<OwnedTotal>, ControlFailure>
    /** Makes everything charged so far durable. */
    readonly flush: Effect.Effect<void, ControlFailure>
    /** Running totals in the file, by name. */
    readonly balances: Effect.Effect<ReadonlyArray<AccountTotals>>
  }
>()("muniment/control/Ledger") {
  static readonly layer = (
    options: BooksOptions
  ): Layer.Layer<Ledger | Books, never, ControlDatabase | SecureRandom.SecureRandom> =>
    Layer.effect(Ledger, make()).pipe(Layer.provideMerge(Books.layer(options)))
}

const make = Effect.fnUntraced(function* () {
  const books = yield* Books
  const database = yield* ControlDatabase
  const random = yield* SecureRandom.SecureRandom
  const { read, sql } = database
  const reservations = yield* makeReservations(books, database, yield* random.ulid)
  const { chargeStorage, recordRun } = makeStorageCharges(books, sql)

  const adjust = makeAdjustments(books, sql)

  return Ledger.of({
    purses: (account) => reservations.purses(account),
    reserve: (options) => reservations.reserve(options),
    settle: (reservation, actual) => reservations.settle(reservation, actual),
    void: (reservation) => reservations.void(reservation),
    openReservations: reservations.open,
    decide: (reservation, wasDone) => reservations.decide(reservation, wasDone),
    sweepReservations: reservations.sweep,
    transactions: traced("Ledger.transactions")(function* (accountId, { before, limit }) {
      // While they cannot be written the newest charges are missing from the file; the older ones are listed.
      yield* Effect.ignore(books.queue.flush)
      const rows =
        yield* read(sql<EntryRow>`${entriesOf(sql)} WHERE transfer.account = ${accountId} AND transfer.id < ${before ?? Number.MAX_SAFE_INTEGER}
        ORDER BY transfer.id DESC LIMIT ${limit}`)
      return rows.map(entryOf)
    }),
    adjust: traced("Ledger.adjust")(function* (adjustment) {
      const { account, amount } = adjustment
      if (!Number.isSafeInteger(amount) || amount === 0) {
        return yield* Effect.die(new RangeError(`an adjustment of ${amount} millionths`))
      }
      const wasMade = yield* adjust(adjustment)
      return { purses: yield* reservations.purses(account), isRepeat: wasMade }
    }),
    chargeStorage,
    recordRun,
    owned: (accountId) => Effect.andThen(books.queue.flush, read(ownedTotals(sql, accountId))),
    close: makeClosing(books, sql),
    flush: books.queue.flush,
    balances: read(sql<AccountTotals>`SELECT name, debits, credits FROM ledger_account ORDER BY name`)
  })
})

/**
 * Movements against `equity:adjustment`: corrections of balances by the operator, each with a key (contract: Operator
 * routes), and the closing of an erased account.
 *
 * Invariants: a key stands for one correction: repeating it changes nothing, and another account or amount under it is a
 * conflict; nothing is taken below zero. The movements of a closed account stay.
 */
interface Adjustment {
  readonly account: Account
  /** Positive gives, negative takes; not zero. */
  readonly amount: MicroCredits
  /** A second adjustment of this key changes nothing. */
  readonly key: string
  readonly reason: string
}

/** Carries out a correction; true if it was made before. */
const makeAdjustments = (books: Books["Service"], sql: SqlClient.SqlClient) => {
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
interface OwnedTotal {
  readonly name: string
  readonly amount: MicroCredits
}

/** Ledger accounts of one account that do not stand at zero. */
const ownedTotals = (sql: SqlClient.SqlClient, accountId: string) =>
  sql<OwnedTotal>`SELECT name, credits - debits AS amount FROM ledger_account
    WHERE owner = ${accountId} AND credits <> debits ORDER BY name`

/**
 * Books out every ledger account of an erased account; `key` names the erasure. -> What was booked out. Afterwards each
 * stands at zero, also when a late payment came in and it is closed again. Nothing of it may be held: the account is
 * refused, and its calls have ended.
 */
const makeClosing =
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

/** Ids after `after`, up to `last`. */
export interface TransferPage {
  readonly after: number
  readonly last: number
}

const pageRows = 5_000

/** `rowsOf` reads what is wanted of a page, and `use` gets each row. */
export const makeTransferPages = Effect.gen(function* () {
  const { read, sql } = yield* ControlDatabase
  const ledger = yield* Ledger
  return <Row, E>(rowsOf: (page: TransferPage) => Effect.Effect<ReadonlyArray<Row>, E>, use: (row: Row) => void) =>
    Effect.gen(function* () {
      yield* ledger.flush
      const [newest] = yield* read(sql<{ readonly last: number }>`SELECT coalesce(max(id), 0) AS last FROM transfer`)
      for (let after = 0; after < newest!.last; after += pageRows) {
        for (const row of yield* read(rowsOf({ after, last: after + pageRows }))) use(row)
        yield* Effect.yieldNow
      }
    })
})
