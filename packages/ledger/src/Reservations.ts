/**
 * Reserve, settle, void (reliability.md, cut 5). Reads are held in memory only: no statement of SQL on
 * their way. Writes have a row that a crash leaves open; whoever opens the file next asks the namespaces
 * for its token and settles or voids.
 *
 * Invariants: a call is charged when it settles, once; a row becomes settled in the commit that holds
 * its charge; a request that was settled is free when it is repeated.
 */
import { Clock, Data, Effect } from "effect"
import type { Account } from "@muniment/domain/Account"
import { InsufficientStorage } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { MicroCredits } from "@muniment/domain/Money"
import { plans } from "@muniment/domain/Plans"
import { atNow, type Books } from "./Books.ts"
import type { Change } from "./ChangeQueue.ts"
import type { ControlDatabase } from "./ControlDatabase.ts"
import { accountName, incomeFromOperations, type PurseName } from "./LedgerAccounts.ts"
import { allowanceExpired, hold, type Purses, release, spend, spendable, splitOf } from "./Purses.ts"
import {
  type Durable,
  Reservation,
  type ReservationFields,
  reservationOfRow,
  type ReserveOptions,
  rowOfReservation
} from "./Reservation.ts"
import { findByRequest, openRows, sweepSettled } from "./ReservationRows.ts"
import type { NewTransfer } from "./Transfers.ts"

/** Rows dropped in one transaction. */
export const sweepPageRows = 1_000

/** Allowance and balance together are below the price; nothing is held. */
export class InsufficientCredits extends Data.TaggedError("InsufficientCredits")<{
  readonly price: MicroCredits
  readonly purses: Purses
}> {}

export interface Settled {
  readonly charged: MicroCredits
  readonly purses: Purses
}

/** `idPrefix` differs between any two starts of the process: ids are never used again. */
export const makeReservations = Effect.fnUntraced(function* (
  books: Books["Service"],
  database: ControlDatabase["Service"],
  idPrefix: string
) {
  const { queue } = books
  const { read, sql, write } = database
  /** Durable ones of earlier processes, whose outcome only the namespaces know. */
  const leftOver = (yield* read(openRows(sql))).map(reservationOfRow)
  for (const reservation of leftOver) hold(books.purseOf(reservation.accountId), reservation)
  /** Open reservations by request. */
  const openRequests = new Map<string, Reservation>()
  for (const reservation of leftOver) rememberRequest(openRequests, reservation)
  let made = 0

  const make = ({ account, operation }: ReserveOptions, now: number, held: Partial<ReservationFields> = {}) =>
    new Reservation({
      id: `${idPrefix}-${(made++).toString(36)}`,
      accountId: account.id,
      operation,
      fromAllowance: 0,
      fromBalance: 0,
      ownUse: 0,
      isUnlimited: plans[account.plan].isUnlimited,
      durable: undefined,
      at: now,
      month: "",
      ...held
    })

  const reserve = (options: ReserveOptions): Effect.Effect<Reservation, InsufficientCredits | InsufficientStorage> =>
    atNow((now) => {
      const isUnlimited = plans[options.account.plan].isUnlimited
      // Who pays nothing is served when nothing more can be written down: reads and erasure go on.
      if (isUnlimited) return Effect.succeed(make(options, now, { ownUse: queue.isFull ? 0 : options.price }))
      if (queue.isFull) return Effect.fail(tooManyPending())
      if (options.price === 0) return Effect.succeed(make(options, now))
      return options.durable === undefined ? holdFor(options, now) : reserveDurably(options, options.durable, now)
    })

  const holdFor = (options: ReserveOptions, now: number): Effect.Effect<Reservation, InsufficientCredits> => {
    const purse = books.purseAt(options.account.id, now)
    const split = splitOf(purse, options.price)
    if (split === undefined) {
      return Effect.fail(new InsufficientCredits({ price: options.price, purses: spendable(purse, false) }))
    }
    hold(purse, split)
    return Effect.succeed(make(options, now, { ...split, month: purse.month, durable: options.durable }))
  }

  const reserveDurably = Effect.fn("Ledger.reserve")(function* (
    options: ReserveOptions,
    durable: Durable,
    now: number
  ) {
    const { request } = durable
    const earlier = request === undefined ? undefined : yield* earlierOf(request)
    if (earlier?.open !== undefined) return earlier.open
    if (earlier?.settledAt !== undefined && earlier.settledAt >= now - Limits.reservationRetentionMillis) {
      return make(options, now)
    }
    const reservation = yield* holdFor(options, now)
    rememberRequest(openRequests, reservation)
    yield* queue
      .addDurable({
        ...(earlier?.id !== undefined && { drops: [earlier.id] }),
        opens: rowOfReservation(reservation, durable)
      })
      .pipe(Effect.tapCause(() => Effect.sync(() => giveBack(reservation, now))))
    return reservation
  }, Effect.uninterruptible)

  /** What became of a request before: open since an earlier process, or settled. */
  const earlierOf = Effect.fnUntraced(function* (request: string) {
    const open = openRequests.get(request)
    // The holder of a key repeats it after a crash only; then it goes on with what the crash left.
    if (open !== undefined) {
      return leftOver.includes(open) ? { open } : yield* Effect.die(new Error("one request reserves twice at once"))
    }
    const row = yield* read(findByRequest(sql, request))
    if (row === undefined) return undefined
    if (row.state === "settled") return { id: row.id, settledAt: row.at }
    // Its end is on the way to the file.
    yield* queue.flush
    const after = yield* read(findByRequest(sql, request))
    // Still open: its commit was reported as failed and had not; the call never ran, so the row gives way.
    return after && { id: after.id, settledAt: after.state === "settled" ? after.at : undefined }
  })

  /** Nothing is granted to who needs no allowance. */
  const pursesOf = (accountId: string, isUnlimited: boolean, now: number): Purses =>
    spendable(isUnlimited ? books.purseOf(accountId) : books.purseAt(accountId, now), isUnlimited)

  const settle = (reservation: Reservation): Effect.Effect<Settled> =>
    atNow((now) => {
      if (reservation.state === "open") {
        reservation.state = "settled"
        forgetRequest(openRequests, reservation)
        spend(books.purseOf(reservation.accountId), reservation)
        const transfers = chargesOf(reservation, now)
        if (reservation.durable !== undefined) queue.add({ ...endOf(reservation), transfers })
        else if (transfers.length > 0) queue.add({ transfers })
      }
      return Effect.succeed({
        charged: reservation.state === "settled" ? reservation.charge : 0,
        purses: pursesOf(reservation.accountId, reservation.isUnlimited, now)
      })
    })

  const voidOf = (reservation: Reservation): Effect.Effect<void> =>
    atNow((now) => {
      if (reservation.state !== "open") return Effect.void
      giveBack(reservation, now)
      if (reservation.durable !== undefined) queue.add({ drops: [reservation.id] })
      return Effect.void
    })

  /** The hold ends. What the allowance of a month that is over gave is not given back, but expires. */
  const giveBack = (reservation: Reservation, now: number): void => {
    const purse = books.purseOf(reservation.accountId)
    reservation.state = "void"
    forgetRequest(openRequests, reservation)
    release(purse, reservation)
    const { accountId, fromAllowance, id, month } = reservation
    if (fromAllowance === 0 || month === purse.month) return
    purse.allowance -= fromAllowance
    queue.add({ transfers: allowanceExpired(accountId, month, fromAllowance, now, `:${id}`) })
  }

  return {
    reserve,
    settle,
    void: voidOf,
    openReservations: Effect.sync(() => leftOver.filter(({ state }) => state === "open")),
    purses: (account: Account) =>
      atNow((now) => Effect.succeed(pursesOf(account.id, plans[account.plan].isUnlimited, now))),
    sweep: Effect.gen(function* () {
      const olderThan = (yield* Clock.currentTimeMillis) - Limits.reservationRetentionMillis
      let swept = 0
      for (let page = sweepPageRows; page === sweepPageRows; swept += page) {
        page = (yield* write(sweepSettled(sql, olderThan, sweepPageRows))).length
        yield* Effect.yieldNow
      }
      return swept
    }).pipe(Effect.withSpan("Ledger.sweepReservations"))
  }
})

const rememberRequest = (open: Map<string, Reservation>, reservation: Reservation): void => {
  if (reservation.durable?.request !== undefined) open.set(reservation.durable.request, reservation)
}

const forgetRequest = (open: Map<string, Reservation>, reservation: Reservation): void => {
  if (reservation.durable?.request !== undefined) open.delete(reservation.durable.request)
}

/** Only a request can come again and ask whether it was paid. */
const endOf = ({ durable, id }: Reservation): Change =>
  durable?.request === undefined ? { drops: [id] } : { settles: id }

const chargesOf = (reservation: Reservation, at: number): ReadonlyArray<NewTransfer> => {
  const { accountId, durable, fromAllowance, fromBalance, id, operation, ownUse } = reservation
  const charges: Array<NewTransfer> = []
  const charge = (purse: PurseName, amount: MicroCredits): void => {
    if (amount === 0) return
    charges.push({
      key: `charge:${id}:${purse}`,
      debit: accountName(purse, accountId),
      credit: incomeFromOperations,
      amount,
      kind: "charge",
      operation,
      // A read's line need not be told from those of a moment before and after.
      isShared: durable === undefined,
      account: accountId,
      at
    })
  }
  charge("allowance", fromAllowance)
  charge("balance", fromBalance)
  charge("own-use", ownUse)
  return charges
}

const tooManyPending = () =>
  new InsufficientStorage({ code: "insufficient_storage", error: "charges cannot be written: the disk is full" })
