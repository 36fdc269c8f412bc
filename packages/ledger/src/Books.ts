/**
 * What `Ledger` and `PaymentJournal` share: the purses in memory, the queue to the file, and the rule by
 * which both change together.
 *
 * Invariants: while the process lives the purses in memory are the authority, since one process owns
 * `control.db`; credit is added after its commit, and taken out of reach before it. A credit may
 * overtake the queue, a debit never does; so what the file says is never below zero either.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { InsufficientStorage } from "@muniment/domain/Errors"
import type { MicroCredits } from "@muniment/domain/Money"
import { ChangeQueue } from "./ChangeQueue.ts"
import { ControlDatabase, type WithoutSql } from "./ControlDatabase.ts"
import { purseOfName } from "./LedgerAccounts.ts"
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

export class Books extends Context.Service<
  Books,
  {
    readonly queue: ChangeQueue
    /** The purse of an account as it stands; whoever changes it changes this one. */
    readonly purseOf: (accountId: string) => Purse
    /** The same in the month of `atMillis`: the month's allowance is granted now. To be read, or held from. */
    readonly purseAt: (accountId: string, atMillis: number) => Purse
    /** Takes up to `amountMax` of the free balance by `commit`, which is a durable transaction of its own. */
    readonly debit: <A, E, R>(
      accountId: string,
      amountMax: MicroCredits,
      commit: (taken: MicroCredits) => Effect.Effect<Debited<A>, E, R>
    ) => Effect.Effect<A, WithoutSql<E> | InsufficientStorage, R>
    /** Adds what `commit` made durable. */
    readonly credit: <A, E, R>(
      accountId: string,
      commit: Effect.Effect<Credited<A>, E, R>
    ) => Effect.Effect<A, WithoutSql<E> | InsufficientStorage, R>
  }
>()("muniment/ledger/Books") {
  static readonly layer = (options: BooksOptions): Layer.Layer<Books, never, ControlDatabase> =>
    Layer.effect(Books, make(options))
}

export interface BooksOptions {
  /** What every account can spend in a UTC month without paying. */
  readonly monthlyAllowance: MicroCredits
}

export interface Debited<A> {
  readonly result: A
  /** False when the transaction found its work done before: nothing is taken. */
  readonly isTaken: boolean
}

export interface Credited<A> {
  readonly result: A
  readonly amount: MicroCredits
}

const make = Effect.fnUntraced(function* ({ monthlyAllowance }: BooksOptions) {
  const database = yield* ControlDatabase
  const purses = yield* loadPurses(database)
  const queue = new ChangeQueue(database)
  yield* queue.writeBehind

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
    if (month <= purse.month) return purse
    const next = rolledOver(purse, month, monthlyAllowance)
    // Only looked at: while the queue is full nothing is reserved, and the change will be made later.
    if (queue.isFull) return next.purse
    const transfers = [
      ...allowanceExpired(accountId, purse.month, next.expired, atMillis),
      ...allowanceGranted(accountId, month, monthlyAllowance, atMillis)
    ]
    if (transfers.length > 0) queue.add({ transfers })
    return Object.assign(purse, next.purse)
  }

  return Books.of({
    queue,
    purseOf,
    purseAt,
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
        // What freed the credit must be in the file first: else a kill would leave a hold that was given
        // back, and the credit gone.
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

/** Runs `step` with the time of the clock, without a fiber's turn in between. */
export const atNow = <A, E, R>(step: (nowMillis: number) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Clock.clockWith((clock) => step(clock.currentTimeMillisUnsafe()))
