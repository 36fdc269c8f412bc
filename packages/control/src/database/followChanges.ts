/** Applies to a copy of `control.db` the changes that a log has. */
import { applyChanges } from "@muniment/sqlite/ChangeRecorder"
import { Database } from "@muniment/sqlite/Database"
import type { ControlChange } from "./ChangeLog.ts"

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
