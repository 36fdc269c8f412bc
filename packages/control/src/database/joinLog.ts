/**
 * Joins `control.db` and the log at the start, before anything is read or written: lost changes are applied from the
 * log, and what the log does not have is noted, so that its changes are not taken for all.
 */
import { Effect } from "effect"
import { attempt, type Database, type SqliteError } from "@muniment/sqlite/Database"
import { type ChangeLog, type ChangeLogUnusable, ControlDatabaseBehind } from "./ChangeLog.ts"
import { changeNumberOf, emptyNumber, followIn, noteNumber } from "./followChanges.ts"

/** Without a log changes have no number: a log will need a base. */
export const leaveLog = (database: Database): void => {
  const newest = newestRecord(database)
  if (newest !== undefined && !newest.isBase) noteBase(database, newest.number + 1)
}

/** `isNew`: the database was made by this start. */
export const joinLog = Effect.fn("ControlDatabase.joinLog")(function* (
  database: Database,
  logs: ChangeLog,
  isNew: boolean
): Effect.fn.Return<void, ControlDatabaseBehind | ChangeLogUnusable | SqliteError> {
  const log = yield* logs.current
  const logged = (yield* log.newest)?.number ?? 0
  const found = changeNumberOf(database)
  if (logs.isShared !== true && log.syncedOrdinal() === 0 && newestRecord(database)?.isBase === false)
    yield* Effect.logError("the commit log is gone: what was acknowledged before and is not in the files yet is lost", {
      found
    })
  if (logged > found) {
    const missing = yield* log.behind(found)
    const isFromEmpty = isNew && missing[0]?.number === emptyNumber && missing[0].changes === "base"
    const number = yield* attempt("follow the commit log", () => {
      if (isFromEmpty) noteBase(database, emptyNumber)
      return found > 0 || isFromEmpty ? followIn(database, missing) : undefined
    })
    if (number !== logged) return yield* new ControlDatabaseBehind({ filename: database.filename, found, logged })
    if (logs.isShared !== true)
      yield* Effect.logError("control.db had lost changes that the commit log has; they are applied", {
        from: found + 1,
        to: number
      })
  }
  yield* attempt("note a base", () => {
    const newest = newestRecord(database)
    if (newest === undefined) noteBase(database, isNew ? emptyNumber : emptyNumber + 1)
    else if (newest.version !== Number(database.value("PRAGMA user_version"))) noteBase(database, newest.number + 1)
  })
})

interface NewestRecord {
  readonly number: number
  readonly version: number
  readonly isBase: boolean
}

const newestRecord = (database: Database): NewestRecord | undefined => {
  const row = database.prepare("SELECT * FROM change_record ORDER BY number DESC LIMIT 1").get()
  return row === undefined
    ? undefined
    : { number: Number(row["number"]), version: Number(row["version"]), isBase: row["changes"] === null }
}

/** In the file itself: what is lost with SQLite's own log can follow it. */
const noteBase = (database: Database, number: number): void => {
  database.transaction(() => noteNumber(database, number, null))
  database.checkpoint("TRUNCATE")
}
