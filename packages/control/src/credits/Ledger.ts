/**
 * Credits of all accounts, by double entry (contract: Credits; the model is TigerBeetle's). The allowance of the month
 * pays first, then the paid balance; use by plan `owner`, or under an allowance without bound, is recorded and not
 * charged.
 *
 * Invariants: the sum of all accounts is zero; no purse is negative; a key is charged once; two calls never hold the
 * same credit. A deposit, the hold of a write and a storage charge are durable before they are answered; the charges of
 * calls, reads and writes alike, follow within `Limits.ledgerFlushMillis`.
 */
import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { Account } from "@muniment/domain/Account"
import type { Conflict } from "@muniment/domain/Errors"
import type { MicroCredits } from "@muniment/domain/Money"
import { traced } from "@muniment/domain/traced"
import { type Adjustment, makeAdjustments } from "./Adjustments.ts"
import { makeClosing, ownedTotals, type OwnedTotal } from "./Adjustments.ts"
import { Books, type BooksOptions } from "./Books.ts"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import { entriesOf, entryOf, type EntryRow, type LedgerEntry } from "./LedgerEntries.ts"
import type { Purses } from "./Purses.ts"
import type { ActualCost, Reservation, ReserveOptions } from "./Reservation.ts"
import { type InsufficientCredits, makeReservations, type Settled } from "./Reservations.ts"
import { makeStorageCharges, type RunFacts, type RunRecorded, type StorageCharge } from "./StorageCharges.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

export type { LedgerEntry } from "./LedgerEntries.ts"
export type { Purses } from "./Purses.ts"
export type { ActualCost, Reservation, ReserveOptions } from "./Reservation.ts"
export { InsufficientCredits } from "./Reservations.ts"

export interface TransactionsPage {
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
    /** Without `durable` no I/O. The caller must settle or void it, also when it fails or is interrupted. */
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
     * By the operator. Fails as `insufficient_balance` if more is taken than is free, and as `idempotency_conflict` if
     * the key stands for another account or amount.
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
