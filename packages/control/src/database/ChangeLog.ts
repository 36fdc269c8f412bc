/**
 * Port of the log that takes the changes of `control.db` among the commits of all namespaces (engine: `CommitLog`), so
 * that an ordinal is one moment of the whole directory.
 */
import { Data, type Effect } from "effect"
import { applyChanges } from "@muniment/sqlite/ChangeRecorder"
import { Database } from "@muniment/sqlite/Database"

/** One transaction of `control.db`. */
export interface ControlChange {
  /** The number that `control.db` has after it: from 1 on, without gaps. */
  readonly number: number
  /** Version of the tables. */
  readonly version: number
  /**
   * Patch set of SQLite's session extension. `base`: what changed before is not here, and only a copy at this number can
   * follow; number 1 is always the empty database. `erased`: it was here.
   */
  readonly changes: Uint8Array | "base" | "erased"
}

export type NewControlChange = ControlChange & { readonly changes: Uint8Array | "base" }

/** The log as long as it is open; after a fault it stays ended. */
export interface OpenChangeLog {
  /** Undefined: it has none. */
  readonly newest: Effect.Effect<ControlChange | undefined, ChangeLogUnusable>
  /** Changes behind a number, in their order. */
  readonly behind: (number: number) => Effect.Effect<ReadonlyArray<ControlChange>, ChangeLogUnusable>
  /** Returns the ordinal; durable when `syncedOrdinal` has reached it. */
  readonly append: (change: NewControlChange, atMillis: number) => Effect.Effect<number, ChangeLogUnusable>
  readonly syncedOrdinal: () => number
  /** Overwrites the bodies of changes up to an ordinal with zeros. */
  readonly erase: (throughOrdinal: number, atMillis: number) => Effect.Effect<void, ChangeLogUnusable>
  /** `control.db` holds what is up to this ordinal also without the log, which need not keep it. */
  readonly settled: (ordinal: number) => Effect.Effect<void>
}

export interface ChangeLog {
  /**
   * Changes count once they are in the log, which other nodes read: a change that it does not take ends the caller, and
   * the file begins behind it. Default: `control.db` is durable by itself, and gives the log later what it lacks.
   */
  readonly isShared?: boolean
  readonly current: Effect.Effect<OpenChangeLog, ChangeLogUnusable>
}

/** The log has ended, has no room, or cannot be read. */
export class ChangeLogUnusable extends Data.TaggedError("ChangeLogUnusable")<{ readonly cause: unknown }> {
  override get message(): string {
    return `changes of control.db cannot be logged: ${this.cause instanceof Error ? this.cause.message : String(this.cause)}`
  }
}

/** `control.db` lacks changes that were acknowledged, and the log does not have all of them. */
export class ControlDatabaseBehind extends Data.TaggedError("ControlDatabaseBehind")<{
  readonly filename: string
  /** Number of the database; 0: it was missing. */
  readonly found: number
  /** The newest number of the log. */
  readonly logged: number
}> {
  override get message(): string {
    const lacks =
      this.found === 0
        ? `is missing or has no number, and the commit log has changes of it up to ${this.logged}, not from its beginning`
        : `ends with change ${this.found}, and the commit log has changes up to ${this.logged}, not all of those between`
    return `${this.filename} ${lacks}; restore it from a backup`
  }
}

/** Number of the empty database: its changes can make it again from nothing. */
export const emptyNumber = 1

/** The number of a database; 0: it has none. */
export const changeNumberOf = (database: Database): number =>
  Number(database.value("SELECT coalesce(max(number), 0) FROM change_record"))

/**
 * Applies `changes`, in their order, to the copy of `control.db` in a file, in one transaction; those that it has are
 * skipped. Returns its number. Undefined, and nothing changed: one that it needs is missing, erased, or of other tables.
 */
export const followChanges = (filename: string, changes: Iterable<ControlChange>): number | undefined => {
  const database = new Database({ filename })
  try {
    return followIn(database, changes)
  } finally {
    database.close()
  }
}

/** The same in an open database. */
export const followIn = (database: Database, changes: Iterable<ControlChange>): number | undefined => {
  const version = Number(database.value("PRAGMA user_version"))
  let number = changeNumberOf(database)
  const needed: Array<Uint8Array> = []
  for (const change of changes) {
    if (change.number <= number) continue
    if (change.number !== number + 1 || change.version !== version || typeof change.changes === "string")
      return undefined
    needed.push(change.changes)
    number = change.number
  }
  if (needed.length > 0)
    database.transaction(() => {
      applyChanges(database, needed, "change_record")
      noteNumber(database, number, new Uint8Array())
    })
  return number
}

/** The database is at this number. `changes` null: the log needs a base; empty: it has the change. Within a transaction. */
export const noteNumber = (database: Database, number: number, changes: Uint8Array | null): void => {
  database.prepare("DELETE FROM change_record").run()
  database
    .prepare("INSERT INTO change_record (number, version, changes) VALUES (?, ?, ?)")
    .run(number, Number(database.value("PRAGMA user_version")), changes)
}
