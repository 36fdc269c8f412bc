/**
 * Calls back when rows are changed or removed, inside the statement that does it, by triggers of the connection that the
 * file does not have. What is kept in memory of these rows is dropped then (`KnownRows`).
 *
 * Invariant: a transaction that changes a row tells it before it commits, and no statement of another one runs between the
 * two. So who counts the notices before a read outside of transactions, and keeps what was read only if the count is the
 * same afterwards, keeps nothing that is not committed, and nothing that has changed since.
 */
import type { Database } from "@muniment/sqlite/Database"

export interface WatchedRows {
  readonly table: string
  /** An update of other columns is not told; default: of any. */
  readonly columns?: ReadonlyArray<string>
  /** Whether new rows are told too: what counts rows needs it, what was read of one row does not. */
  readonly countsRows?: boolean
}

export class RowWatch {
  readonly #database: Database
  readonly #notify: () => void
  #count = 0

  /** `name`: of the triggers, one for each watch of a connection. */
  constructor(database: Database, name: string, rows: ReadonlyArray<WatchedRows>, notify: () => void) {
    this.#database = database
    this.#notify = notify
    database.handle.function(name, () => this.#tell())
    for (const { columns, countsRows = false, table } of rows) {
      const update = columns === undefined ? "UPDATE" : `UPDATE OF ${columns.join(", ")}`
      for (const event of [update, "DELETE", ...(countsRows ? ["INSERT"] : [])])
        database.exec(`CREATE TEMP TRIGGER ${name}_${table}_${event.slice(0, "UPDATE".length)} AFTER ${event} ON main.${table}
          BEGIN SELECT ${name}(); END`)
    }
  }

  /** How often it was told; undefined inside a transaction, which may have changed rows and may be undone. */
  get count(): number | undefined {
    return this.#database.isTransaction ? undefined : this.#count
  }

  #tell(): null {
    this.#count++
    this.#notify()
    return null
  }
}
