/**
 * `<dataDirectory>/control.db`: opening, migrating, joining with the commit log, reading, writing and upkeep.
 *
 * Invariants: one connection and one process; every change is one durable transaction; a full disk (507), and a file,
 * disk or shared log that cannot be used (503), are typed failures of writes. A read that meets them has no way on: it
 * dies of the same error, which is its answer. What is wrong with a statement is a defect. After a change that a shared
 * log may not have, nothing more is read or written. Only the services of this package contain SQL for it.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { type SqlClient, SqlError } from "effect/sql"
import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { attempt, type CheckpointMode, Database, SqliteError } from "@muniment/sqlite/Database"
import { migrate, NewerDatabase } from "@muniment/sqlite/Migrate"
import { makeSqliteClient, sqliteErrorOf } from "@muniment/sqlite/SqliteClient"
import {
  type ChangeLog,
  type ChangeLogUnusable,
  changeNumberOf,
  ControlDatabaseBehind,
  emptyNumber,
  followIn,
  noteNumber
} from "./ChangeLog.ts"
import { ControlChanges } from "./ControlChanges.ts"
import { type ControlUnchecked, type ControlVerdict, openControlCheck } from "./check/ControlCheck.ts"
import { controlCopies, type ControlDatabaseDamaged, damageOf, isAbsent, mendControl } from "./check/ControlCopies.ts"
import { type ControlFailure, controlFailureOf, controlUnavailable } from "./ControlFailure.ts"
import { controlMigrations } from "./migrations/controlMigrations.ts"

/** The failures of `E` without SQLite's. */
export type WithoutSql<E> = Exclude<E, Extract<E, SqlError.SqlError>>

/** Why `control.db` cannot be opened. */
export type ControlUnusable =
  | SqliteError
  | NewerDatabase
  | ControlDatabaseBehind
  | ControlDatabaseDamaged
  | ChangeLogUnusable

/** Readable by its owner only: the directory contains key digests and schemas. */
const directoryMode = 0o700

export interface Comparison {
  readonly check: Effect.Effect<ControlVerdict, ControlUnchecked>
  /** The base is missing, or far behind. */
  readonly isDue: Effect.Effect<boolean>
  readonly status: Effect.Effect<{
    /** Changes that the log has not synced. */
    readonly behind: number
    /** Milliseconds of the last check that found nothing; null: none since the last erasure. */
    readonly checkedAt: number | null
  }>
  /** Whether damage that was found is still there; the next start makes the file again. */
  readonly isDamaged: Effect.Effect<boolean>
}

export class ControlDatabase extends Context.Service<
  ControlDatabase,
  {
    readonly sql: SqlClient.SqlClient
    /** Runs queries; dies of a `ControlFailure`. */
    readonly read: <A, E, R>(query: Effect.Effect<A, E, R>) => Effect.Effect<A, WithoutSql<E>, R>
    /** Runs `change` in one transaction, rolled back if it fails or is interrupted. */
    readonly write: <A, E, R>(change: Effect.Effect<A, E, R>) => Effect.Effect<A, WithoutSql<E> | ControlFailure, R>
    /** Calls `notify` within each change of such rows, as long as the file is open. */
    readonly watch: (rows: ReadonlyArray<WatchedRows>, notify: () => void) => Effect.Effect<RowWatch>
    /** Part of a `write` that removes or replaces text: the next `settle` erases it from the logs. */
    readonly noteErasure: Effect.Effect<void, SqlError.SqlError>
    /** Moves the write-ahead log into the file, and lets the commit log forget what the file has; every minute. */
    readonly settle: Effect.Effect<void, ControlFailure>
    /** Compares the file with its base and the commit log (`check/`). */
    readonly comparison: Comparison
  }
>()("muniment/control/ControlDatabase") {
  /**
   * Creates the directory and the file as needed, migrates the file to the last version, and applies what only the log
   * has; the log gets every change.
   */
  static readonly layer = (dataDirectory: string, logs: ChangeLog): Layer.Layer<ControlDatabase, ControlUnusable> =>
    Layer.effect(
      ControlDatabase,
      Effect.gen(function* () {
        yield* mendControl(dataDirectory, logs)
        const { changes, database } = yield* openJoined(dataDirectory, logs)
        const check = yield* openControlCheck(dataDirectory, logs)
        const sql = yield* makeSqliteClient(database, changes)
        let watches = 0
        return ControlDatabase.of({
          sql,
          ...transactionsOf(sql, database.filename, () => changes.over !== undefined),
          watch: (rows, notify) => Effect.sync(() => new RowWatch(database, `watch_${++watches}`, rows, notify)),
          noteErasure: Effect.asVoid(sql`INSERT INTO erasure_due DEFAULT VALUES`),
          settle: Effect.catch(settleControl(sql, changes, check.forget), (error) =>
            error._tag === "ChangeLogUnusable" ? Effect.fail(controlUnavailable()) : failed(database.filename, error)
          ),
          comparison: {
            check: check.check,
            status: Effect.sync(() => ({ behind: changes.behind, checkedAt: check.checkedAt ?? null })),
            isDue: Effect.sync(() => check.isDue(changes.number)),
            isDamaged: Effect.sync(() => existsSync(controlCopies(dataDirectory).damaged))
          }
        })
      })
    ).pipe(Layer.provide(Reactivity.layer))
}

const transactionsOf = (
  sql: SqlClient.SqlClient,
  filename: string,
  isOver: () => boolean
): Pick<ControlDatabase["Service"], "read" | "write"> => ({
  read: <A, E, R>(query: Effect.Effect<A, E, R>): Effect.Effect<A, WithoutSql<E>, R> =>
    Effect.suspend((): Effect.Effect<A, WithoutSql<E>, R> =>
      isOver()
        ? Effect.die(controlUnavailable())
        : Effect.catch(query, (error): Effect.Effect<never, WithoutSql<E>> =>
            error instanceof SqlError.SqlError
              ? Effect.catch(failed(filename, error), Effect.die)
              : Effect.fail(error as WithoutSql<E>)
          )
    ),
  write: <A, E, R>(change: Effect.Effect<A, E, R>): Effect.Effect<A, WithoutSql<E> | ControlFailure, R> =>
    Effect.suspend((): Effect.Effect<A, WithoutSql<E> | ControlFailure, R> =>
      isOver()
        ? Effect.fail(controlUnavailable())
        : Effect.catch(sql.withTransaction(change), (error): Effect.Effect<never, WithoutSql<E> | ControlFailure> =>
            error instanceof SqlError.SqlError ? failed(filename, error) : Effect.fail(error as WithoutSql<E>)
          )
    )
})

/** Open until the scope closes; it has all that the log has. */
const openJoined = Effect.fnUntraced(function* (
  dataDirectory: string,
  logs: ChangeLog
): Effect.fn.Return<{ readonly database: Database; readonly changes: ControlChanges }, ControlUnusable, Scope.Scope> {
  const filename = join(dataDirectory, "control.db")
  const isNew = yield* attempt("look", () => isAbsent(filename))
  const database = yield* Effect.acquireRelease(openMigrated(dataDirectory, filename), (opened) =>
    Effect.sync(() => opened.close())
  )
  // A copy that its node's next start throws away: what makes a change durable is the log that nodes share. The next
  // owner would wait for what closing it writes to the disk.
  if (logs.isShared === true) yield* attempt("open", () => database.exec("PRAGMA synchronous=OFF"))
  yield* joinLog(database, logs, isNew)
  const changes = yield* attempt("open", () => new ControlChanges(database, logs))
  yield* changes.catchUp
  return { database, changes }
})

const openMigrated = (dataDirectory: string, filename: string): Effect.Effect<Database, SqliteError | NewerDatabase> =>
  attempt("open", (): Database | NewerDatabase => {
    mkdirSync(dataDirectory, { recursive: true, mode: directoryMode })
    const database = new Database({ filename })
    try {
      migrate(database, controlMigrations, { snapshot: `${filename}.before-migration` })
      return database
    } catch (error) {
      database.close()
      if (error instanceof NewerDatabase) return error
      throw error
    }
  }).pipe(
    Effect.mapError((error) => inFile(filename, error)),
    Effect.flatMap((opened) => (opened instanceof NewerDatabase ? Effect.fail(opened) : Effect.succeed(opened)))
  )

/** The error with the name of the file. */
const inFile = (filename: string, error: SqliteError): SqliteError => {
  const { reason, operation, errcode, cause } = damageOf(error, error.operation) ?? error
  return new SqliteError({
    reason,
    operation: `${filename}: ${operation}`,
    ...(errcode !== undefined && { errcode }),
    cause
  })
}

/** An unexpected failure as a defect that names the file. */
const defectIn = (filename: string, error: unknown): Effect.Effect<never> => {
  const sqlite = error instanceof SqlError.SqlError ? sqliteErrorOf(error) : undefined
  return Effect.die(sqlite === undefined ? error : inFile(filename, sqlite))
}

const failed = (filename: string, error: SqlError.SqlError): Effect.Effect<never, ControlFailure> => {
  const failure = controlFailureOf(error)
  if (failure === undefined) return defectIn(filename, error)
  if (failure._tag === "InsufficientStorage") return Effect.fail(failure)
  return Effect.andThen(
    Effect.logError("control.db cannot be used", { filename, error: messageOf(error) }),
    Effect.fail(failure)
  )
}

const messageOf = ({ reason }: SqlError.SqlError): string =>
  reason.cause instanceof Error ? reason.cause.message : reason.message

/**
 * Joins `control.db` and the log before anything is read or written: lost changes are applied from the log, and what
 * the log does not have is noted, so that its changes are not taken for all. `isNew`: the database was made by this start.
 */
const joinLog = Effect.fn("ControlDatabase.joinLog")(function* (
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

/**
 * Copies the write-ahead log into the file, and tells the commit log, so that it need not keep the changes; text that was
 * removed leaves both logs. An erasure stays due until both are without the text, also over a kill. `forget` removes
 * copies that may have what is to be erased.
 */
const settleControl = Effect.fn("ControlDatabase.settle")(function* (
  sql: SqlClient.SqlClient,
  changes: ControlChanges,
  forget: () => void
): Effect.fn.Return<void, SqlError.SqlError | ChangeLogUnusable> {
  const [due] = yield* sql<{ readonly last: number | null }>`SELECT max(id) AS last FROM erasure_due`
  if (due!.last !== null) {
    forget()
    yield* erase(sql, changes, due!.last)
  }
  yield* changes.settle(checkpoint(sql, "PASSIVE"))
})

const erase = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, changes: ControlChanges, last: number) {
  // Kept changes have the text too.
  yield* sql.withTransaction(sql`DELETE FROM change_record`)
  if (!(yield* checkpoint(sql, "TRUNCATE"))) return
  const isErased = yield* changes.eraseLogged.pipe(
    Effect.as(true),
    Effect.catch((error) =>
      Effect.as(
        Effect.logWarning("removed text is not erased from the commit log yet", { error: error.message }),
        false
      )
    )
  )
  if (isErased) yield* sql.withTransaction(sql`DELETE FROM erasure_due WHERE id <= ${last}`)
})

/** Whether the file has everything; false while it is being read. */
const checkpoint = (sql: SqlClient.SqlClient, mode: CheckpointMode): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.map(
    sql<CheckpointRow>`PRAGMA wal_checkpoint(${sql.literal(mode)})`,
    ([row]) => row!.busy === 0 && row!.log === row!.checkpointed
  )

interface CheckpointRow {
  readonly busy: number
  /** Pages in the write-ahead log, and how many of them are in the file. */
  readonly log: number
  readonly checkpointed: number
}

/**
 * Calls back when rows are changed or removed, inside the statement that does it, by triggers of the connection that the
 * file does not have. What is kept in memory of these rows is dropped then (`KnownRows`).
 *
 * Invariant: a transaction that changes a row tells it before it commits, and no statement of another one runs between the
 * two. So who counts the notices before a read outside of transactions, and keeps what was read only if the count is the
 * same afterwards, keeps nothing that is not committed, and nothing that has changed since.
 */
export interface WatchedRows {
  readonly table: string
  /** An update of other columns is not told; default: of any. */
  readonly columns?: ReadonlyArray<string>
  /** Whether new rows are told too: what counts rows needs it, what was read of one row does not. */
  readonly countsRows?: boolean
}

class RowWatch {
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
