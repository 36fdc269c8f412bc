/**
 * The only module that opens node:sqlite. A `Database` is synchronous: no other fiber runs between the first and the last
 * statement of `transaction`.
 *
 * Invariants: a writable file is in WAL mode with `synchronous=FULL`, read back after the open, because NORMAL lost 3,874
 * of 199,302 acknowledged writes in simulated power cuts; deleted content is overwritten (`secure_delete`); one
 * transaction at a time; errors are `SqliteError`s.
 */
import { Effect } from "effect"
import { accessSync, constants } from "node:fs"
import {
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementResultingChanges,
  type StatementSync
} from "node:sqlite"
import { classified, classifySqlite, SqliteError } from "./SqliteError.ts"

export { SqliteError }

export interface DatabaseOptions {
  readonly filename: string
  /** For files that must not change, such as a migration snapshot: no pragma is set or checked. */
  readonly readOnly?: boolean | undefined
  /** For what ends with the connection, as `:memory:` does: it promises no durability. */
  readonly isScratch?: boolean | undefined
}

export type CheckpointMode = "PASSIVE" | "TRUNCATE"

/** Short, because waiting for a lock blocks the event loop. */
export const busyTimeoutMillis = 1_000
export const statementCacheMax = 128

/** `PRAGMA synchronous` reads back as a number: FULL is 2. */
const synchronousFull = 2

export class Database {
  readonly filename: string
  /** The connection of node:sqlite; its errors are not classified. */
  readonly handle: DatabaseSync
  readonly #statements: StatementCache

  /** Opens or creates the file; one that cannot keep the invariants is closed again. */
  constructor(options: DatabaseOptions) {
    const { filename, isScratch = false, readOnly = false } = options
    this.filename = filename
    this.handle = classified("open", () => new DatabaseSync(filename, { readOnly, timeout: busyTimeoutMillis }))
    this.#statements = new StatementCache(this.handle, statementCacheMax)
    try {
      this.exec("PRAGMA foreign_keys=ON")
      if (!readOnly && !isScratch) this.#promiseDurability()
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Opens the file for `use` alone. */
  static using<A>(filename: string, use: (database: Database) => A): A {
    const database = new Database({ filename })
    try {
      return use(database)
    } finally {
      database.close()
    }
  }

  /** True between BEGIN and COMMIT. */
  get isTransaction(): boolean {
    return this.handle.isTransaction
  }

  /** The statement of this text, prepared once; `statementCacheMax` are kept. */
  prepare(sql: string): Statement {
    return this.#statements.prepare(sql)
  }

  /** Runs statements that return nothing; several may be separated by semicolons. */
  exec(sql: string): void {
    classified("exec", () => this.handle.exec(sql))
  }

  /** The only column of the only row of a query such as a PRAGMA. */
  value(sql: string): unknown {
    const row = this.prepare(sql).get()
    return row === undefined ? undefined : Object.values(row)[0]
  }

  /**
   * Runs `step` in BEGIN IMMEDIATE ... COMMIT. If it throws, the transaction is rolled back and the error rethrown, as
   * `SqliteError` if it is SQLite's. After an error of the commit itself the outcome is unknown: close, reopen, check.
   */
  transaction<A>(step: () => A): A {
    if (this.isTransaction) throw new Error("a transaction is already open; transactions do not nest")
    this.exec("BEGIN IMMEDIATE")
    try {
      const result = step()
      if (result instanceof Promise) throw new Error("a transaction is synchronous; its step returned a promise")
      this.exec("COMMIT")
      return result
    } catch (cause) {
      const error = classifySqlite(cause, "transaction") ?? cause
      this.#rollBack(error)
      throw error
    }
  }

  /** Moves the log into the file; TRUNCATE also empties the log, which erases deleted content. */
  checkpoint(mode: CheckpointMode): void {
    const row = this.prepare(`PRAGMA wal_checkpoint(${mode})`).get()
    if (mode === "TRUNCATE" && row?.["busy"] === 1) {
      throw new SqliteError({
        reason: "busy",
        operation: "checkpoint",
        cause: new Error("a reader holds the log")
      })
    }
  }

  /** Closes the file and rolls back an open transaction. A second call does nothing. */
  close(): void {
    this.#statements.clear()
    if (this.handle.isOpen) classified("close", () => this.handle.close())
  }

  #promiseDurability(): void {
    this.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON")
    const journal = this.value("PRAGMA journal_mode")
    const synchronous = this.value("PRAGMA synchronous")
    if (journal === "wal" && synchronous === synchronousFull) return this.#refuseUnknownFormat()
    const found = `journal_mode=${String(journal)} synchronous=${String(synchronous)}`
    throw new SqliteError({
      reason: "other",
      operation: "open",
      cause: new Error(`not durable: ${found}`)
    })
  }

  /**
   * SQLite opens a file whose header has a write version that it does not know for reading, and says so at the first
   * change only: one is tried and rolled back. A lock of another connection says that SQLite would have gone on.
   */
  #refuseUnknownFormat(): void {
    try {
      this.handle.exec(`PRAGMA busy_timeout=0; BEGIN IMMEDIATE; PRAGMA user_version=0; ROLLBACK`)
    } catch (cause) {
      const error = classifySqlite(cause, "open")
      if (error?.errcode === sqliteReadonly) throw this.#readOnlyFault()
      if (error?.reason !== "busy") throw error ?? cause
    }
    this.exec(`PRAGMA busy_timeout=${busyTimeoutMillis}`)
  }

  /** A file that this process may not write is no damage. */
  #readOnlyFault(): SqliteError {
    const { filename } = this
    // The name may be a URI, as SQLite takes it.
    classified("open", () => accessSync(filename.startsWith("file:") ? new URL(filename) : filename, constants.W_OK))
    return new SqliteError({
      reason: "corrupt",
      operation: "open",
      errcode: sqliteReadonly,
      cause: new Error("the header has an unknown write version")
    })
  }

  /** SQLite rolls back some failed transactions by itself, as on a full disk. */
  #rollBack(error: unknown): void {
    if (!this.isTransaction) return
    try {
      this.handle.exec("ROLLBACK")
    } catch (rollback) {
      throw new SqliteError({
        reason: "io",
        operation: "rollback",
        cause: new AggregateError([error, rollback], "a transaction failed and could not be undone")
      })
    }
  }
}

const sqliteReadonly = 8

/** Lifts a synchronous step: `SqliteError`s fail, anything else is a defect. */
export const attempt = <A>(operation: string, step: () => A): Effect.Effect<A, SqliteError> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(step())
    } catch (cause) {
      const error = classifySqlite(cause, operation)
      return error === undefined ? Effect.die(cause) : Effect.fail(error)
    }
  })

/**
 * A prepared statement whose failures are `SqliteError`s, and an LRU cache of statements. A statement dropped from the
 * cache stays usable.
 *
 * All callers that prepare the same text share one statement: finish one `iterate` before the next call.
 */
export type Row = Record<string, SQLOutputValue>

const operation = "statement"

class Statement {
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
