/**
 * Records the changes of each transaction of a `Database`, as a patch set of SQLite's session extension, and applies
 * them to a copy.
 *
 * Every table needs a primary key: changes of others are not recorded. A patch set has what triggers changed as well, so
 * they are off while it is applied. What was undone is not in it, because it compares rows as they are at its end.
 */
import type { Session } from "node:sqlite"
import type { Database } from "./Database.ts"
import { classified, SqliteError } from "./SqliteError.ts"

export class ChangeRecorder {
  readonly #database: Database
  #session: Session

  /** Records from now on, until the database is closed. */
  constructor(database: Database) {
    this.#database = database
    this.#session = this.#opened
  }

  /** Changes since the last `begin`; undefined: none. */
  get changes(): Uint8Array | undefined {
    const changes = classified("patchset", () => this.#session.patchset())
    return changes.length === 0 ? undefined : changes
  }

  /** Forgets what has changed so far. */
  begin(): void {
    this.#session.close()
    this.#session = this.#opened
  }

  get #opened(): Session {
    return classified("session", () => this.#database.handle.createSession())
  }
}

/**
 * Applies patch sets in their order, within the open transaction, without what they say of the table `except`. Throws
 * `SqliteError` if one does not fit.
 */
export const applyChanges = (database: Database, changes: Iterable<Uint8Array>, except: string): void => {
  const triggers = database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all()
  for (const { name } of triggers) database.exec(`DROP TRIGGER "${String(name)}"`)
  for (const change of changes) {
    const isApplied = classified("apply", () =>
      database.handle.applyChangeset(change, { filter: (table) => table !== except })
    )
    if (!isApplied)
      throw new SqliteError({
        reason: "corrupt",
        operation: "apply",
        cause: new Error("the changes are not of this state of the database")
      })
  }
  for (const { sql } of triggers) database.exec(String(sql))
}
