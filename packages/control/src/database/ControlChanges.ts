/**
 * Hands what each transaction of `control.db` changes to the log, with a number that the same transaction writes.
 *
 * Invariants: the log gets the changes in the order of the commits, each behind its commit and before the caller goes
 * on, so that its ordinal lies between those of what the caller saw and what the caller does next; no caller waits for
 * its sync, because `control.db` is durable by itself; where the log is shared it is durable when `append` returns, and
 * the change that it does not take, or takes without an answer, is the last one: its caller fails, and whoever comes
 * later, because this file may have what the log has not. Until the log has synced a change, `control.db` keeps it: a
 * kill loses none, and a log that fails or is full gets them later.
 */
import { Clock, Effect, Semaphore } from "effect"
import { ChangeRecorder } from "@muniment/sqlite/ChangeRecorder"
import type { Database } from "@muniment/sqlite/Database"
import type { CommitHooks } from "@muniment/sqlite/SqliteClient"
import {
  type ChangeLog,
  type ChangeLogUnusable,
  changeNumberOf,
  type NewControlChange,
  type OpenChangeLog
} from "./ChangeLog.ts"

/** A larger patch set is not logged: then the log needs a base. */
const changesBytesMax = 4_194_304
/** More changes are not kept for a log that cannot be used: then it needs a base. */
const keptMax = 4_096

interface Appended {
  readonly number: number
  readonly ordinal: number
}

export class ControlChanges implements CommitHooks {
  readonly #database: Database
  readonly #logs: ChangeLog
  readonly #recorder: ChangeRecorder
  readonly #version: number
  readonly #turn = Semaphore.makeUnsafe(1)
  #number: number
  /** Number of the transaction that is committing; undefined: it changes nothing. */
  #sealed: number | undefined
  /** The log in use, its last change, and that one's ordinal or a later one. */
  #log: OpenChangeLog | undefined
  #inLog = 0
  #ordinal = 0
  /** Changes that are not known to be synced, in their order. */
  #unsynced: Array<Appended> = []
  #synced = 0
  /** The log in use knows that the file holds this change. */
  #settled = 0
  #isFailing = false
  #over: ChangeLogUnusable | undefined

  constructor(database: Database, logs: ChangeLog) {
    this.#database = database
    this.#logs = logs
    this.#recorder = new ChangeRecorder(database)
    this.#version = Number(database.value("PRAGMA user_version"))
    this.#number = changeNumberOf(database)
  }

  /** Why nothing of this file counts any more, where the log is shared: another one may go on without it. */
  get over(): ChangeLogUnusable | undefined {
    return this.#over
  }

  /** Number of the last commit. */
  get number(): number {
    return this.#number
  }

  /** How many of them the log has not synced. */
  get behind(): number {
    this.#noteSynced()
    return this.#number - this.#synced
  }

  /** Last step of a transaction: numbers what it has changed. */
  readonly seal = (): void => {
    this.#sealed = undefined
    if (this.#over !== undefined) throw this.#over
    const { changes } = this.#recorder
    if (changes === undefined) return
    const number = this.#number + 1
    this.#noteSynced()
    const isBase = changes.length > changesBytesMax || number - this.#synced > keptMax
    this.#database.prepare("DELETE FROM change_record WHERE number <= ?").run(isBase ? number : this.#synced)
    this.#database
      .prepare("INSERT INTO change_record (number, version, changes) VALUES (?, ?, ?)")
      .run(number, this.#version, isBase ? null : changes)
    this.#sealed = number
  }

  readonly undone = (): void => {
    if (this.#sealed !== undefined) this.#recorder.begin()
  }

  readonly committed: Effect.Effect<void, ChangeLogUnusable> = Effect.suspend(() => {
    if (this.#sealed === undefined) return Effect.void
    this.#recorder.begin()
    this.#number = this.#sealed
    return this.catchUp
  })

  /** Gives the log what it lacks; a log of this machine that cannot be used gets it later. */
  readonly catchUp: Effect.Effect<void, ChangeLogUnusable> = Effect.suspend(() =>
    this.#turn.withPermit(this.#appendMissing)
  ).pipe(
    Effect.matchEffect({
      onSuccess: () => {
        this.#isFailing = false
        return Effect.void
      },
      onFailure: (error) => {
        if (this.#logs.isShared === true) {
          this.#over = error
          return Effect.fail(error)
        }
        const wasFailing = this.#isFailing
        this.#isFailing = true
        return wasFailing
          ? Effect.void
          : Effect.logWarning("changes of control.db are kept until the commit log takes them", {
              error: error.message
            })
      }
    }),
    Effect.uninterruptible
  )

  /** Overwrites what the log has up to now; the file of `control.db` must hold it durably. */
  readonly eraseLogged: Effect.Effect<void, ChangeLogUnusable> = Effect.suspend(() =>
    this.#turn.withPermit(
      Effect.flatMap(this.#entered, (log) =>
        Effect.flatMap(Clock.currentTimeMillis, (nowMillis) => log.erase(this.#ordinal, nowMillis))
      )
    )
  )

  /** The log need not keep what `checkpoint` makes durable in the file of `control.db`, if it succeeds with true. */
  readonly settle = <E>(checkpoint: Effect.Effect<boolean, E>): Effect.Effect<void, E | ChangeLogUnusable> =>
    Effect.gen({ self: this }, function* () {
      yield* this.catchUp
      const [log, number, ordinal] = [this.#log, this.#inLog, this.#ordinal]
      if (log === undefined || number === this.#settled || !(yield* checkpoint)) return
      yield* log.settled(ordinal)
      if (log === this.#log) this.#settled = number
    })

  get #appendMissing(): Effect.Effect<void, ChangeLogUnusable> {
    return Effect.gen({ self: this }, function* () {
      const log = yield* this.#entered
      while (this.#inLog < this.#number) {
        const change = this.#next
        this.#ordinal = yield* log.append(change, yield* Clock.currentTimeMillis)
        this.#inLog = change.number
        this.#unsynced.push({ number: this.#inLog, ordinal: this.#ordinal })
      }
    })
  }

  get #entered(): Effect.Effect<OpenChangeLog, ChangeLogUnusable> {
    return Effect.gen({ self: this }, function* () {
      const log = yield* this.#logs.current
      if (log === this.#log) return log
      const newest = yield* log.newest
      this.#log = log
      this.#inLog = newest?.number ?? 0
      this.#ordinal = log.syncedOrdinal()
      this.#unsynced = []
      this.#synced = this.#inLog
      this.#settled = 0
      return log
    })
  }

  /** The first change that the log lacks; a base if it is not here. */
  get #next(): NewControlChange {
    const row = this.#database
      .prepare("SELECT * FROM change_record WHERE number > ? ORDER BY number LIMIT 1")
      .get(this.#inLog)
    const [number, changes] = [Number(row?.["number"]), row?.["changes"]]
    return number === this.#inLog + 1 && changes instanceof Uint8Array && changes.length > 0
      ? { number, version: Number(row?.["version"]), changes }
      : { number: this.#number, version: this.#version, changes: "base" }
  }

  #noteSynced(): void {
    const through = this.#log?.syncedOrdinal() ?? 0
    while (this.#unsynced[0] !== undefined && this.#unsynced[0].ordinal <= through) {
      this.#synced = this.#unsynced[0].number
      this.#unsynced.shift()
    }
  }
}
