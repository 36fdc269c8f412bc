/**
 * Changes of the ledger on their way to `control.db`: one queue, first in first out, many changes per
 * transaction. Charges for reads wait for the next turn of the clock; a change that must be durable
 * before its caller goes on takes everything before it along, and callers that come together share one
 * commit.
 *
 * Invariants: the file holds a prefix of the queue's history, so a kill never leaves a later change
 * without an earlier one; a full disk refuses those who wait and keeps the rest for later.
 */
import { type Cause, Deferred, Effect, Exit, Latch, type Scope, Semaphore } from "effect"
import type { InsufficientStorage } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { ControlDatabase } from "./ControlDatabase.ts"
import { deleteReservations, insertReservations, markSettled, type ReservationRow } from "./ReservationRows.ts"
import { type NewTransfer, postTransfers, together } from "./Transfers.ts"

/** Carried out together or not at all: first drops, then settles, opens and transfers. */
export interface Change {
  readonly transfers?: ReadonlyArray<NewTransfer> | undefined
  /** Ids of reservations. */
  readonly drops?: ReadonlyArray<string> | undefined
  readonly settles?: string | undefined
  readonly opens?: ReservationRow | undefined
}

/** Pause after a commit that failed. */
export const retryMillis = 1_000

interface Item {
  readonly change: Change
  /** Who waits for the commit. */
  readonly done: Deferred.Deferred<void, InsufficientStorage> | undefined
}

export class ChangeQueue {
  /** Everything queued so far becomes durable. */
  readonly flush: Effect.Effect<void, InsufficientStorage>
  readonly #database: ControlDatabase["Service"]
  readonly #pending: Array<Item> = []
  readonly #turn = Semaphore.makeUnsafe(1)
  /** Open while there is something to write. */
  readonly #filled = Latch.makeUnsafe(false)
  /** Open when it should not wait for the clock: somebody waits, or a batch is full. */
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

  /** New work that leads to changes should be refused. */
  get isFull(): boolean {
    return this.#pending.length >= Limits.ledgerPendingMax
  }

  /** Written within `Limits.ledgerFlushMillis`, unless the disk is full. */
  add(change: Change): void {
    this.#pending.push({ change, done: undefined })
    this.#filled.openUnsafe()
    if (this.#pending.length % Limits.ledgerFlushBatch === 0) this.#crowded.openUnsafe()
  }

  /**
   * Done when the change is on the disk; when it fails, the change is as if never made. The writer behind
   * commits, not the caller: callers that took turns would each commit for one other.
   */
  addDurable(change: Change): Effect.Effect<void, InsufficientStorage> {
    return Effect.suspend(() => {
      const done = Deferred.makeUnsafe<void, InsufficientStorage>()
      this.#pending.push({ change, done })
      this.#filled.openUnsafe()
      this.#crowded.openUnsafe()
      return Deferred.await(done)
    }).pipe(Effect.uninterruptible)
  }

  /** Writes in the background while the scope lives, and what is left at its end. */
  readonly writeBehind: Effect.Effect<void, never, Scope.Scope> = Effect.suspend(() => {
    let isFailing = false
    const turn = Effect.gen({ self: this }, function* () {
      yield* this.#filled.await
      yield* Effect.race(Effect.sleep(Limits.ledgerFlushMillis), this.#crowded.await)
      this.#filled.closeUnsafe()
      this.#crowded.closeUnsafe()
      const exit = yield* Effect.exit(this.flush)
      if (Exit.isSuccess(exit)) {
        isFailing = false
        return
      }
      if (!isFailing) yield* Effect.logError("charges cannot be written; they are kept and tried again", exit.cause)
      isFailing = true
      if (this.#pending.length === 0) return
      yield* Effect.race(Effect.sleep(retryMillis), this.#crowded.await)
      this.#filled.openUnsafe()
    })
    const last = Effect.catchCause(this.flush, (cause) =>
      Effect.logError(`${this.#pending.length} changes of the ledger could not be written and are lost`, cause)
    )
    return Effect.addFinalizer(() => last).pipe(Effect.andThen(Effect.forkScoped(Effect.forever(turn))), Effect.asVoid)
  })

  get #commitAll(): Effect.Effect<void, InsufficientStorage> {
    return Effect.gen({ self: this }, function* () {
      // Lets the fibers that are ready add theirs to this commit.
      yield* Effect.yieldNow
      // Who waited may go on at once and queue more: that is for the next commit, or this had no end.
      let left = this.#pending.length
      while (left > 0) {
        const batch = this.#pending.slice(0, Math.min(left, Limits.ledgerFlushBatch))
        yield* this.#database.write(carryOut(this.#database.sql, batch))
        this.#pending.splice(0, batch.length)
        left -= batch.length
        for (const { done } of batch) if (done !== undefined) Deferred.doneUnsafe(done, Exit.void)
      }
    }).pipe(Effect.tapCause((cause) => Effect.sync(() => this.#refuseWaiting(cause))))
  }

  #refuseWaiting(cause: Cause.Cause<InsufficientStorage>): void {
    const kept: Array<Item> = []
    for (const item of this.#pending.splice(0)) {
      if (item.done === undefined) kept.push(item)
      else Deferred.doneUnsafe(item.done, Exit.failCause(cause))
    }
    this.#pending.push(...kept)
  }
}

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
  yield* postTransfers(sql, together(changes.flatMap(({ transfers }) => transfers ?? [])))
})
