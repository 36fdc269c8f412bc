/**
 * A prepared statement whose failures are `SqliteError`s, and an LRU cache of statements. A statement dropped from the
 * cache stays usable.
 *
 * All callers that prepare the same text share one statement: finish one `iterate` before the next call.
 */
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementResultingChanges, StatementSync } from "node:sqlite"
import { classified } from "./SqliteError.ts"

export type Row = Record<string, SQLOutputValue>

const operation = "statement"

export class Statement {
  /** The statement of node:sqlite, for modes that this class does not support. */
  readonly handle: StatementSync

  constructor(handle: StatementSync) {
    this.handle = handle
  }

  run(...values: ReadonlyArray<SQLInputValue>): StatementResultingChanges {
    return classified(operation, () => this.handle.run(...values))
  }

  get(...values: ReadonlyArray<SQLInputValue>): Row | undefined {
    return classified(operation, () => this.handle.get(...values))
  }

  all(...values: ReadonlyArray<SQLInputValue>): Array<Row> {
    return classified(operation, () => this.handle.all(...values))
  }

  /** Rows as arrays in the order of the columns: naming the columns of a wide row takes a third of reading it. */
  allArrays(...values: ReadonlyArray<SQLInputValue>): ReadonlyArray<ReadonlyArray<SQLOutputValue>> {
    return classified(operation, () => {
      this.handle.setReturnArrays(true)
      try {
        const rows: ReadonlyArray<object> = this.handle.all(...values)
        return rows as ReadonlyArray<ReadonlyArray<SQLOutputValue>>
      } finally {
        this.handle.setReturnArrays(false)
      }
    })
  }

  /** Rows one by one; the statement is reset when the loop ends or is left. */
  *iterate(...values: ReadonlyArray<SQLInputValue>): Generator<Row> {
    const rows = classified(operation, () => this.handle.iterate(...values))
    try {
      for (
        let next = classified(operation, () => rows.next());
        !next.done;
        next = classified(operation, () => rows.next())
      ) {
        yield next.value
      }
    } finally {
      rows.return?.()
    }
  }
}

export class StatementCache {
  readonly #handle: DatabaseSync
  readonly #capacity: number
  /** Least recently used first: a hit moves to the end. */
  readonly #statements = new Map<string, Statement>()

  constructor(handle: DatabaseSync, capacity: number) {
    this.#handle = handle
    this.#capacity = capacity
  }

  get size(): number {
    return this.#statements.size
  }

  prepare(sql: string): Statement {
    const known = this.#statements.get(sql)
    if (known !== undefined) {
      this.#statements.delete(sql)
      this.#statements.set(sql, known)
      return known
    }
    const prepared = new Statement(classified("prepare", () => this.#handle.prepare(sql)))
    if (this.#statements.size >= this.#capacity) {
      for (const oldest of this.#statements.keys()) {
        this.#statements.delete(oldest)
        break
      }
    }
    this.#statements.set(sql, prepared)
    return prepared
  }

  clear(): void {
    this.#statements.clear()
  }
}
