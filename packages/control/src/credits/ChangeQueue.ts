/**
 * Write-behind queue of ledger changes for `control.db`: first in first out, many changes per transaction. Charges of
 * reads wait for the next interval; a durable change is committed together with everything before it, and concurrent
 * callers share one commit.
 *
 * Invariants: the file holds a prefix of the queue's history, so a kill never leaves a later change without an earlier
 * one; when a commit fails, its durable changes fail, and the others are kept and retried: as they were put together, and
 * only what is not found by its keys, because the outcome of a commit that failed may be unknown.
 */
import { type Cause, Deferred, Effect, Exit, Latch, type Scope, Semaphore } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { Rounds } from "@muniment/worker/Rounds"
import type { ControlDatabase } from "../database/ControlDatabase.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"
import { deleteReservations, insertReservations, markSettled, type ReservationRow } from "./Reservation.ts"
import { type NewTransfer, postedKeys, postTransfers, together } from "./Transfers.ts"

/** Atomic; applied in this order: drops, settles, opens, transfers. */
export interface Change {
  readonly transfers?: ReadonlyArray<NewTransfer> | undefined
  /** Ids of reservations. */
  readonly drops?: ReadonlyArray<string> | undefined
  readonly settles?: string | undefined
  readonly opens?: ReservationRow | undefined
}

/** Pause after a failed commit. */
const retryMillis = 1_000

interface Item {
  readonly change: Change
  /** Completed with the commit; undefined if no caller waits. */
  readonly done: Deferred.Deferred<void, ControlFailure> | undefined
  /** Transfers that a commit which failed may have posted. */
  readonly mayBePosted?: ReadonlyArray<NewTransfer>
}

export class ChangeQueue {
  /** Makes everything queued so far durable. */
  readonly flush: Effect.Effect<void, ControlFailure>
  readonly #database: ControlDatabase["Service"]
  readonly #pending: Array<Item> = []
  readonly #turn = Semaphore.makeUnsafe(1)
  /** Open while changes are pending. */
  readonly #filled = Latch.makeUnsafe(false)
  /** Open if the writer should not wait for the interval: a caller waits, or a batch is full. */
  readonly #crowded = Latch.makeUnsafe(false)

  constructor(database: ControlDatabase["Service"]) {
    this.#database = database
    this.flush = this.#turn
      .withPermit(Effect.suspend(() => (this.#pending.length === 0 ? Effect.void : this.#commitAll)))
      .pipe(Effect.uninterruptible)
  }

  get size(): number {
    return this.#pending.length
  }

  /** Calls that lead to changes should be refused. */
  get isFull(): boolean {
    return this.#pending.length >= Limits.ledgerPendingMax
  }

  /** Transfers that are not known to be in the file, put together as they would be posted. */
  get unwritten(): ReadonlyArray<NewTransfer> {
    return transfersOf(this.#pending)
  }

  /** Written within `Limits.ledgerFlushMillis`, unless the disk is full. */
  add(change: Change): void {
    this.#pending.push({ change, done: undefined })
    this.#filled.openUnsafe()
    if (this.#pending.length % Limits.ledgerFlushBatch === 0) this.#crowded.openUnsafe()
  }

  /**
   * Succeeds when the change is durable; if it fails, the change is dropped. The background writer commits, not the
   * caller: callers taking turns would make one commit each.
   */
  addDurable(change: Change): Effect.Effect<void, ControlFailure> {
    return Effect.suspend(() => {
      const done = Deferred.makeUnsafe<void, ControlFailure>()
      this.#pending.push({ change, done })
      this.#filled.openUnsafe()
      this.#crowded.openUnsafe()
      return Deferred.await(done)
    }).pipe(Effect.uninterruptible)
  }

  /** Writes in the background until the scope closes, then writes the rest, or hands it to `leave`. */
  readonly writeBehind = (
    leave: (unwritten: ReadonlyArray<NewTransfer>, cause: Cause.Cause<ControlFailure>) => Effect.Effect<void>
  ): Effect.Effect<void, never, Scope.Scope> => {
    const due = Effect.andThen(
      this.#filled.await,
      Effect.race(Effect.sleep(Limits.ledgerFlushMillis), this.#crowded.await)
    )
    const write = Effect.suspend(() => {
      this.#filled.closeUnsafe()
      this.#crowded.closeUnsafe()
      return this.flush
    })
    const again = Effect.race(Effect.sleep(retryMillis), this.#crowded.await)
    const last = Effect.catchCause(this.flush, (cause) => Effect.suspend(() => leave(this.unwritten, cause)))
    return Effect.andThen(
      Effect.addFinalizer(() => last),
      Rounds.whenWoken({ name: "writes of the ledger", until: due, work: write, again })
    )
  }

  get #commitAll(): Effect.Effect<void, ControlFailure> {
    return Effect.gen({ self: this }, function* () {
      // Lets fibers that are ready add their changes to this commit.
      yield* Effect.yieldNow
      // Callers that continue may queue more at once; that is for the next commit, otherwise this loop might not end.
      let left = this.#pending.length
      while (left > 0) {
        const batch = this.#pending.slice(0, Math.min(left, Limits.ledgerFlushBatch))
        yield* this.#database
          .write(carryOut(this.#database.sql, batch))
          .pipe(Effect.tapCause((cause) => Effect.sync(() => this.#keep(batch, cause))))
        this.#pending.splice(0, batch.length)
        left -= batch.length
        for (const { done } of batch) if (done !== undefined) Deferred.doneUnsafe(done, Exit.void)
      }
    })
  }

  /** After a failed commit of `batch`: its transfers stay what they were, whatever comes into the next one. */
  #keep(batch: ReadonlyArray<Item>, cause: Cause.Cause<ControlFailure>): void {
    let mayBePosted: ReadonlyArray<NewTransfer> | undefined = transfersOf(batch)
    const kept: Array<Item> = []
    for (const [at, item] of this.#pending.splice(0).entries()) {
      if (item.done !== undefined) Deferred.doneUnsafe(item.done, Exit.failCause(cause))
      else if (at >= batch.length) kept.push(item)
      else {
        kept.push({ change: { ...item.change, transfers: [] }, done: undefined, ...(mayBePosted && { mayBePosted }) })
        mayBePosted = undefined
      }
    }
    if (mayBePosted !== undefined && mayBePosted.length > 0) kept.unshift({ change: {}, done: undefined, mayBePosted })
    this.#pending.push(...kept)
  }
}

/** Items that are tried again keep their transfers: new keys would stand for other amounts. */
const transfersOf = (items: ReadonlyArray<Item>): ReadonlyArray<NewTransfer> => [
  ...items.flatMap(({ mayBePosted }) => mayBePosted ?? []),
  ...together(items.flatMap(({ change }) => change.transfers ?? []))
]

const carryOut = Effect.fnUntraced(function* (sql: ControlDatabase["Service"]["sql"], batch: ReadonlyArray<Item>) {
  const changes = batch.map(({ change }) => change)
  yield* deleteReservations(
    sql,
    changes.flatMap(({ drops }) => drops ?? [])
  )
  yield* markSettled(
    sql,
    changes.flatMap(({ settles }) => settles ?? [])
  )
  yield* insertReservations(
    sql,
    changes.flatMap(({ opens }) => opens ?? [])
  )
  const posted = yield* postedKeys(
    sql,
    batch.flatMap(({ mayBePosted }) => mayBePosted ?? [])
  )
  yield* postTransfers(
    sql,
    transfersOf(batch).filter(({ key }) => !posted.has(key))
  )
})
