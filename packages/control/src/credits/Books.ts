/**
 * Purses in memory and the queue to the file, shared by `Ledger` and `PaymentJournal`, and the rule by which both change
 * together.
 *
 * Invariants: while the process runs, the purses in memory are authoritative, because one process owns `control.db`; a
 * credit is added after its commit, a debit is held before it. A credit may overtake the queue, a debit never does, so
 * balances in the file are never negative either.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { Account } from "@muniment/domain/Account"
import { type MicroCredits, storageMicroCreditsPerMemoryDay } from "@muniment/domain/Money"
import { plans } from "@muniment/domain/Plans"
import { parseWalletAddress } from "@muniment/trust/WalletAddress"
import { ChangeQueue } from "./ChangeQueue.ts"
import { ControlDatabase, type WithoutSql } from "../database/ControlDatabase.ts"
import { accountName, incomeFromStorage, type NewTransfer, postTransfers, purseOfName } from "./Transfers.ts"
import { EarlierOwners, leaving, takingUp } from "./LeftCharges.ts"
import {
  allowanceExpired,
  allowanceGranted,
  emptyPurse,
  hold,
  monthOf,
  type Purse,
  release,
  rolledOver,
  spend
} from "./Purses.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"
import { type PurgeMark, storageJob } from "../jobs/JobLog.ts"

export class Books extends Context.Service<
  Books,
  {
    readonly queue: ChangeQueue
    /** The account's purse itself, not a copy: callers change it. */
    readonly purseOf: (accountId: string) => Purse
    /** The same in the month of `atMillis`: grants that month's allowance first. */
    readonly purseAt: (accountId: string, atMillis: number) => Purse
    /** Whether prices are only recorded and no purse is touched: by the plan, or as nothing bounds the allowance. */
    readonly isUnlimited: (account: Pick<Account, "id" | "plan">) => boolean
    /** Takes up to `amountMax` of the free balance; `commit` runs as a durable transaction of its own. */
    readonly debit: <A, E, R>(
      accountId: string,
      amountMax: MicroCredits,
      commit: (taken: MicroCredits) => Effect.Effect<Debited<A>, E, R>
    ) => Effect.Effect<A, WithoutSql<E> | ControlFailure, R>
    /** Adds the amount that `commit` has made durable. */
    readonly credit: <A, E, R>(
      accountId: string,
      commit: Effect.Effect<Credited<A>, E, R>
    ) => Effect.Effect<A, WithoutSql<E> | ControlFailure, R>
  }
>()("muniment/control/Books") {
  static readonly layer = (options: BooksOptions): Layer.Layer<Books, never, ControlDatabase> =>
    Layer.effect(Books, make(options))
}

export interface BooksOptions {
  /** Free credits of each account per UTC month; undefined: without bound, prices are recorded and not taken. */
  readonly monthlyAllowance: MicroCredits | undefined
  /** The same of accounts that a wallet opened by itself, whose id is its address; default: as of all. */
  readonly walletAllowance?: { readonly monthly: MicroCredits | undefined }
}

interface Debited<A> {
  readonly result: A
  /** False if the work was already done: nothing is taken. */
  readonly isTaken: boolean
}

interface Credited<A> {
  readonly result: A
  readonly amount: MicroCredits
}

/** Free credits of an account a month; undefined: without bound. */
export const allowanceOf = (
  { monthlyAllowance, walletAllowance }: BooksOptions,
  accountId: string
): MicroCredits | undefined =>
  walletAllowance !== undefined && parseWalletAddress(accountId) !== undefined
    ? walletAllowance.monthly
    : monthlyAllowance

const make = Effect.fnUntraced(function* (options: BooksOptions) {
  const database = yield* ControlDatabase
  const purses = yield* loadPurses(database)
  const queue = new ChangeQueue(database)
  const owners = yield* EarlierOwners
  yield* queue.writeBehind(leaving(owners))

  const purseOf = (accountId: string): Purse => {
    const known = purses.get(accountId)
    if (known !== undefined) return known
    const made = emptyPurse()
    purses.set(accountId, made)
    return made
  }

  const purseAt = (accountId: string, atMillis: number): Purse => {
    const purse = purseOf(accountId)
    const month = monthOf(atMillis)
    const granted = allowanceOf(options, accountId)
    if (granted === undefined || month <= purse.month) return purse
    const next = rolledOver(purse, month, granted)
    // Read only: while the queue is full nothing is reserved, and the change is made later.
    if (queue.isFull) return next.purse
    const transfers = [
      ...allowanceExpired(accountId, purse.month, next.expired, atMillis),
      ...allowanceGranted(accountId, month, granted, atMillis)
    ]
    if (transfers.length > 0) queue.add({ transfers })
    return Object.assign(purse, next.purse)
  }

  yield* takingUp(owners, { purseAt, flush: queue.flush }, database)

  return Books.of({
    queue,
    purseOf,
    purseAt,
    isUnlimited: ({ id, plan }) => plans[plan].isUnlimited || allowanceOf(options, id) === undefined,
    debit: <A, E, R>(
      accountId: string,
      amountMax: MicroCredits,
      commit: (taken: MicroCredits) => Effect.Effect<Debited<A>, E, R>
    ) =>
      Effect.suspend(() => {
        const purse = purseOf(accountId)
        const fromBalance = Math.min(amountMax, purse.balance - purse.heldBalance)
        const taken = { fromAllowance: 0, fromBalance }
        hold(purse, taken)
        // The change that freed the credit must be in the file first: otherwise a kill would leave a hold that was given
        // back, and the credit lost.
        return Effect.andThen(queue.flush, database.write(commit(fromBalance))).pipe(
          Effect.tapCause(() => Effect.sync(() => release(purse, taken))),
          Effect.map(({ isTaken, result }) => {
            if (isTaken) spend(purse, taken)
            else release(purse, taken)
            return result
          })
        )
      }).pipe(Effect.uninterruptible),
    credit: <A, E, R>(accountId: string, commit: Effect.Effect<Credited<A>, E, R>) =>
      database.write(commit).pipe(
        Effect.map(({ amount, result }) => {
          purseOf(accountId).balance += amount
          return result
        }),
        Effect.uninterruptible
      )
  })
})

/** Running totals of the file, and the month of each account's last grant or expiry. */
const loadPurses = Effect.fnUntraced(function* ({ read, sql }: ControlDatabase["Service"]) {
  const purses = new Map<string, Purse>()
  const totals = yield* read(
    sql<{ readonly name: string; readonly amount: number }>`SELECT name, credits - debits AS amount FROM ledger_account
      WHERE kind = 'liability'`
  )
  for (const { amount, name } of totals) {
    const owned = purseOfName(name)
    if (owned === undefined) continue
    const purse = purses.get(owned.accountId) ?? emptyPurse()
    if (owned.purse === "balance") purse.balance = amount
    else purse.allowance = amount
    purses.set(owned.accountId, purse)
  }
  const grants = yield* read(
    sql<{ readonly account: string; readonly at: number }>`SELECT account, max(at) AS at FROM transfer
      WHERE kind IN ('allowance', 'allowance_expired') GROUP BY account`
  )
  for (const { account, at } of grants) purses.get(account)!.month = monthOf(at)
  return purses
})

/** Runs `step` with the current time, without yielding to other fibers in between. */
export const atNow = <A, E, R>(step: (nowMillis: number) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Clock.clockWith((clock) => step(clock.currentTimeMillisUnsafe()))

/**
 * Storage charges, once per account and UTC day (contract: Plans and the daily job). The charge, the row of the run and
 * the mark of what is to be purged are one transaction, so a rerun after a crash changes nothing.
 */

/** Results of the run besides charges. */
export interface RunFacts {
  readonly account: Account
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string
  /** Live memories counted by this run, charged or metered. */
  readonly memories: number
  readonly expired?: number | undefined
  readonly purged?: number | undefined
  /** The mark from now on; undefined: none. */
  readonly mark?: PurgeMark | undefined
}

export interface StorageCharge extends RunFacts {
  /** `insure` takes the price from the free balance, as far as it goes; `meter` records the whole price as receivable. */
  readonly mode: "insure" | "meter"
}

/** The row in the log; of the earlier run if this one is a repeat. */
export interface RunRecorded {
  readonly charged: MicroCredits
  readonly metered: MicroCredits
  readonly isRepeat: boolean
}

export const makeStorageCharges = (books: Books["Service"], sql: SqlClient.SqlClient) => {
  const insure = (run: RunFacts, price: MicroCredits) =>
    books.debit(run.account.id, price, (charged) =>
      Effect.map(
        record(sql, run, { charged, metered: 0, insured: run.memories }, (at) => ({
          key: `storage:${run.day}:${run.account.id}`,
          debit: accountName("balance", run.account.id),
          credit: incomeFromStorage,
          amount: charged,
          kind: "storage",
          account: run.account.id,
          at
        })),
        (result) => ({ result, isTaken: !result.isRepeat })
      )
    )

  const meter = (run: RunFacts, metered: MicroCredits) =>
    books.credit(
      run.account.id,
      Effect.map(
        record(sql, run, { charged: 0, metered, insured: 0 }, (at) => ({
          key: `storage_metered:${run.day}:${run.account.id}`,
          debit: accountName("receivable", run.account.id),
          credit: incomeFromStorage,
          amount: metered,
          kind: "storage_metered",
          account: run.account.id,
          at
        })),
        (result) => ({ result, amount: 0 })
      )
    )

  return {
    chargeStorage: Effect.fn("Ledger.chargeStorage")(function* ({
      mode,
      ...run
    }: StorageCharge): Effect.fn.Return<RunRecorded, ControlFailure> {
      const price = run.memories * storageMicroCreditsPerMemoryDay
      return yield* mode === "insure" ? insure(run, price) : meter(run, price)
    }),
    recordRun: Effect.fn("Ledger.recordRun")(function* (run: RunFacts): Effect.fn.Return<RunRecorded, ControlFailure> {
      return yield* meter(run, 0)
    })
  }
}

interface RunAmounts {
  readonly charged: MicroCredits
  readonly metered: MicroCredits
  readonly insured: number
}

/** Inside a transaction. */
const record = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  run: RunFacts,
  amounts: RunAmounts,
  transferAt: (at: number) => NewTransfer
) {
  const [before] = yield* sql<{ readonly charged: number; readonly metered: number }>`SELECT charged, metered
    FROM job_run WHERE job = ${storageJob} AND day = ${run.day} AND account = ${run.account.id}`
  if (before !== undefined) return { ...before, isRepeat: true }
  const { charged, insured, metered } = amounts
  const at = yield* Clock.currentTimeMillis
  yield* sql`INSERT INTO job_run ${sql.insert({
    job: storageJob,
    day: run.day,
    account: run.account.id,
    memories: run.memories,
    charged,
    metered,
    expired: run.expired ?? 0,
    purged: run.purged ?? 0,
    insured,
    at
  })}`
  yield* sql`DELETE FROM purge_mark WHERE account = ${run.account.id}`
  if (run.mark !== undefined) {
    const { createdBefore, memories, runAt } = run.mark
    const mark = { account: run.account.id, run_at: runAt, created_before: createdBefore, memories }
    yield* sql`INSERT INTO purge_mark ${sql.insert(mark)}`
  }
  if (charged + metered > 0) yield* postTransfers(sql, [transferAt(at)])
  return { charged, metered, isRepeat: false }
})
