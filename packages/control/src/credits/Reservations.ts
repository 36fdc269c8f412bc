/**
 * Holds of calls under way: reserve, then settle or void. Reads are held in memory only and run no SQL. A write has a row
 * that a crash leaves open; the next start asks the namespaces for its token and settles or voids it.
 *
 * Invariants: a call is charged when it settles, once; a row becomes settled in the commit that contains its charge; a
 * repeated request that was settled is free.
 */
import { Clock, Data, Effect } from "effect"
import type { Account } from "@muniment/domain/Account"
import { InsufficientStorage } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { MicroCredits } from "@muniment/domain/Money"
import { atNow, type Books } from "./Books.ts"
import type { Change } from "./ChangeQueue.ts"
import type { ControlDatabase } from "../database/ControlDatabase.ts"
import {
  allowanceExpired,
  hold,
  type Purse,
  type Purses,
  release,
  spend,
  spendable,
  type Split,
  splitOf
} from "./Purses.ts"
import {
  type ActualCost,
  type Durable,
  findByRequest,
  openRows,
  Reservation,
  type ReservationFields,
  reservationOfRow,
  type ReserveOptions,
  rowOfReservation,
  sweepSettled
} from "./Reservation.ts"
import { accountName, incomeFromOperations, type NewTransfer, type PurseName } from "./Transfers.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

/** Rows dropped in one transaction. */
const sweepPageRows = 1_000

/** Allowance and balance together are lower than the price; nothing is held. */
export class InsufficientCredits extends Data.TaggedError("InsufficientCredits")<{
  readonly price: MicroCredits
  readonly purses: Purses
}> {}

export interface Settled {
  readonly charged: MicroCredits
  readonly purses: Purses
}

/** `idPrefix` differs between any two starts of the process: an id is never used twice. */
export const makeReservations = Effect.fnUntraced(function* (
  books: Books["Service"],
  database: ControlDatabase["Service"],
  idPrefix: string
) {
  const leftOver = (yield* database.read(openRows(database.sql))).map(reservationOfRow)
  return new Reservations(books, database, idPrefix, leftOver)
})

class Reservations {
  readonly #books: Books["Service"]
  readonly #database: ControlDatabase["Service"]
  readonly #idPrefix: string
  /** Durable reservations of earlier processes, whose outcome only the namespaces know. */
  readonly #leftOver: Set<Reservation>
  readonly #openRequests = new Map<string, Reservation>()
  #made = 0

  constructor(
    books: Books["Service"],
    database: ControlDatabase["Service"],
    idPrefix: string,
    leftOver: ReadonlyArray<Reservation>
  ) {
    this.#books = books
    this.#database = database
    this.#idPrefix = idPrefix
    this.#leftOver = new Set(leftOver)
    for (const reservation of leftOver) {
      hold(books.purseOf(reservation.accountId), reservation)
      this.#rememberRequest(reservation)
    }
  }

  reserve(options: ReserveOptions): Effect.Effect<Reservation, InsufficientCredits | ControlFailure> {
    return atNow((now) => {
      const { isFull } = this.#books.queue
      // Where nothing is taken, calls are served even if no charge can be recorded: reads and erasure go on.
      if (this.#books.isUnlimited(options.account))
        return Effect.succeed(this.#make(options, now, { ownUse: isFull ? 0 : options.price }))
      if (isFull) return Effect.fail(tooManyPending())
      if (options.price === 0) return Effect.succeed(this.#make(options, now))
      return options.durable === undefined
        ? this.#holdFor(options, now)
        : this.#reserveDurably(options, options.durable, now)
    })
  }

  /** Settling again charges nothing and gives the same answer. What `actual` leaves of the hold is free at once. */
  settle(reservation: Reservation, actual?: ActualCost): Effect.Effect<Settled> {
    return atNow((now) => {
      if (reservation.state === "open") {
        if (actual !== undefined) this.#narrow(reservation, actual, now)
        reservation.state = "settled"
        this.#forgetRequest(reservation)
        spend(this.#books.purseOf(reservation.accountId), reservation)
        const transfers = chargesOf(reservation, now)
        if (reservation.durable !== undefined) this.#books.queue.add({ ...endOf(reservation), transfers })
        else if (transfers.length > 0) this.#books.queue.add({ transfers })
      }
      return Effect.succeed({
        charged: reservation.state === "settled" ? reservation.charge : 0,
        purses: this.#pursesOf(reservation.accountId, reservation.isUnlimited, now)
      })
    })
  }

  void(reservation: Reservation): Effect.Effect<void> {
    return atNow((now) => {
      if (reservation.state !== "open") return Effect.void
      this.#giveBack(reservation, now)
      if (reservation.durable !== undefined) this.#books.queue.add({ drops: [reservation.id] })
      return Effect.void
    })
  }

  get open(): Effect.Effect<ReadonlyArray<Reservation>> {
    return Effect.sync(() => [...this.#leftOver].filter(({ state }) => state === "open"))
  }

  /** Ends one of these, unless its call has been repeated meanwhile and goes on with it. */
  decide(reservation: Reservation, wasDone: boolean): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (!this.#leftOver.delete(reservation)) return Effect.void
      return wasDone ? Effect.asVoid(this.settle(reservation)) : this.void(reservation)
    })
  }

  purses(account: Account): Effect.Effect<Purses> {
    return atNow((now) => Effect.succeed(this.#pursesOf(account.id, this.#books.isUnlimited(account), now)))
  }

  get sweep(): Effect.Effect<number, ControlFailure> {
    return Effect.gen({ self: this }, function* () {
      const { sql, write } = this.#database
      const olderThan = (yield* Clock.currentTimeMillis) - Limits.reservationRetentionMillis
      let swept = 0
      for (let page = sweepPageRows; page === sweepPageRows; swept += page) {
        page = (yield* write(sweepSettled(sql, olderThan, sweepPageRows))).length
        yield* Effect.yieldNow
      }
      return swept
    }).pipe(Effect.withSpan("Ledger.sweepReservations"))
  }

  #make(
    { account, namespace, operation }: ReserveOptions,
    now: number,
    held: Partial<ReservationFields> = {}
  ): Reservation {
    return new Reservation({
      id: `${this.#idPrefix}-${(this.#made++).toString(36)}`,
      accountId: account.id,
      operation,
      namespace,
      fromAllowance: 0,
      fromBalance: 0,
      ownUse: 0,
      isUnlimited: this.#books.isUnlimited(account),
      durable: undefined,
      at: now,
      month: "",
      ...held
    })
  }

  #holdFor(options: ReserveOptions, now: number): Effect.Effect<Reservation, InsufficientCredits> {
    const purse = this.#books.purseAt(options.account.id, now)
    const split = splitOf(purse, options.price)
    if (split === undefined) {
      return Effect.fail(new InsufficientCredits({ price: options.price, purses: spendable(purse, false) }))
    }
    hold(purse, split)
    return Effect.succeed(this.#make(options, now, { ...split, month: purse.month, durable: options.durable }))
  }

  #reserveDurably(
    options: ReserveOptions,
    durable: Durable,
    now: number
  ): Effect.Effect<Reservation, InsufficientCredits | ControlFailure> {
    return Effect.gen({ self: this }, function* () {
      const { request } = durable
      const earlier = request === undefined ? undefined : yield* this.#earlierOf(request)
      if (earlier?.open !== undefined) return earlier.open
      if (earlier?.settledAt !== undefined && earlier.settledAt >= now - Limits.reservationRetentionMillis) {
        return this.#make(options, now)
      }
      const reservation = yield* this.#holdFor(options, now)
      this.#rememberRequest(reservation)
      yield* this.#books.queue
        .addDurable({
          ...(earlier?.id !== undefined && { drops: [earlier.id] }),
          opens: rowOfReservation(reservation, durable)
        })
        .pipe(Effect.tapCause(() => Effect.sync(() => this.#giveBack(reservation, now))))
      return reservation
    }).pipe(Effect.withSpan("Ledger.reserve"), Effect.uninterruptible)
  }

  /** Outcome of an earlier call with this request: open since an earlier process, or settled. */
  #earlierOf(request: string) {
    return Effect.gen({ self: this }, function* () {
      const { read, sql } = this.#database
      const open = this.#openRequests.get(request)
      // A key is repeated while its first call is open only after a crash; the call then continues that reservation.
      if (open !== undefined) {
        return this.#leftOver.delete(open)
          ? { open }
          : yield* Effect.die(new Error("one request reserves twice at once"))
      }
      const row = yield* read(findByRequest(sql, request))
      if (row === undefined) return undefined
      if (row.state === "settled") return { id: row.id, settledAt: row.at }
      // Its end is queued and not yet in the file.
      yield* this.#books.queue.flush
      const after = yield* read(findByRequest(sql, request))
      // Still open: its commit was reported as failed although it succeeded; the call never ran, so the row is replaced.
      return after && { id: after.id, settledAt: after.state === "settled" ? after.at : undefined }
    })
  }

  /** Grants no allowance where nothing is taken. */
  #pursesOf(accountId: string, isUnlimited: boolean, now: number): Purses {
    return spendable(isUnlimited ? this.#books.purseOf(accountId) : this.#books.purseAt(accountId, now), isUnlimited)
  }

  /** Ends the hold. A part that the allowance of an earlier month gave expires instead of being given back. */
  #giveBack(reservation: Reservation, now: number): void {
    const purse = this.#books.purseOf(reservation.accountId)
    reservation.state = "void"
    this.#forgetRequest(reservation)
    this.#release(purse, reservation, reservation, now)
  }

  /** The hold becomes the actual cost, the allowance first as always. */
  #narrow(reservation: Reservation, { operation, price }: ActualCost, now: number): void {
    const held = reservation.isUnlimited ? reservation.ownUse : reservation.charge
    if (!Number.isSafeInteger(price) || price < 0 || price > held) {
      throw new RangeError(`${price} millionths are charged, ${held} are held`)
    }
    reservation.operation = operation
    if (reservation.isUnlimited) {
      reservation.ownUse = price
      return
    }
    const fromAllowance = Math.min(price, reservation.fromAllowance)
    const fromBalance = price - fromAllowance
    const rest = {
      fromAllowance: reservation.fromAllowance - fromAllowance,
      fromBalance: reservation.fromBalance - fromBalance
    }
    reservation.fromAllowance = fromAllowance
    reservation.fromBalance = fromBalance
    this.#release(this.#books.purseOf(reservation.accountId), reservation, rest, now)
  }

  /** Gives back a part of a hold, or all of it. */
  #release(purse: Purse, { accountId, id, month }: Reservation, part: Split, now: number): void {
    release(purse, part)
    if (part.fromAllowance === 0 || month === purse.month) return
    purse.allowance -= part.fromAllowance
    this.#books.queue.add({ transfers: allowanceExpired(accountId, month, part.fromAllowance, now, `:${id}`) })
  }

  #rememberRequest(reservation: Reservation): void {
    const request = reservation.durable?.request
    if (request !== undefined) this.#openRequests.set(request, reservation)
  }

  #forgetRequest(reservation: Reservation): void {
    const request = reservation.durable?.request
    if (request !== undefined) this.#openRequests.delete(request)
  }
}

/** Only a call with a request can be repeated, so only its row is kept. */
const endOf = ({ durable, id }: Reservation): Change =>
  durable?.request === undefined ? { drops: [id] } : { settles: id }

const chargesOf = (reservation: Reservation, at: number): ReadonlyArray<NewTransfer> => {
  const { accountId, durable, fromAllowance, fromBalance, id, namespace, operation, ownUse } = reservation
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
      namespace,
      // Charges of reads may share one transfer.
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
  new InsufficientStorage({
    code: "insufficient_storage",
    error: "the disk is full, so charges cannot be recorded; free space and retry"
  })
