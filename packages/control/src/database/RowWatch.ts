/**
 * Tells of rows that are changed or removed, within the statement that does it and whoever runs it: a trigger of the
 * connection alone, which the file does not have. What is kept in memory of these rows is dropped then.
 *
 * Invariant: a transaction that changes a row tells it before it commits, and no statement of another one runs between the
 * two. So who remembers the count of notices, reads, and keeps what was read only if the count is the same, keeps nothing
 * that is not committed, and nothing that has changed since.
 */
import type { Database } from "@muniment/sqlite/Database"

export interface WatchedRows {
  readonly table: string
  /** An update of other columns is not told; default: of any. */
  readonly columns?: ReadonlyArray<string>
}

export class RowWatch {
  readonly #notify: () => void
  #count = 0

  constructor(database: Database, rows: ReadonlyArray<WatchedRows>, notify: () => void) {
    this.#notify = notify
    const name = `watched_${rows.map(({ table }) => table).join("_")}`
    database.handle.function(name, () => this.#tell())
    for (const { columns, table } of rows) {
      const events = [columns === undefined ? "UPDATE" : `UPDATE OF ${columns.join(", ")}`, "DELETE"]
      for (const [at, event] of events.entries())
        database.exec(`CREATE TEMP TRIGGER ${name}_${table}_${at} AFTER ${event} ON main.${table}
          BEGIN SELECT ${name}(); END`)
    }
  }

  /** How often it was told. */
  get count(): number {
    return this.#count
  }

  #tell(): null {
    this.#count++
    this.#notify()
    return null
  }
}
