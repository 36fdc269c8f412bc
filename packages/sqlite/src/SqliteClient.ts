/**
 * `SqlClient` of `effect/sql` over one `Database`. Replaces `@effect/sql-sqlite-node`, which has no release for Effect 4.1
 * (README, Decisions).
 *
 * Invariants: one connection, so statements and transactions take turns behind a semaphore; the client prepares its own
 * statements, because it changes their modes; the cause of every `SqlError` is a `SqliteError`, which distinguishes a
 * full disk. Streaming is a defect.
 */
import { Context, Effect, Semaphore, Stream } from "effect"
import { SqlClient, SqlError, Statement as SqlStatement } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import type { SQLInputValue } from "node:sqlite"
import { type Database, type Row, StatementCache } from "./Database.ts"
import { classifySqlite, SqliteError } from "./SqliteError.ts"

/** More than the number of statements of any package. */
const clientStatementsMax = 256

/** Takes part in every transaction. */
export interface CommitHooks {
  /** Runs before COMMIT, in the same turn of the loop; if it throws, the transaction is undone. */
  readonly seal: () => void
  /** Runs when COMMIT has failed, before another transaction begins. */
  readonly undone: () => void
  /** Runs behind COMMIT, before another transaction begins; its failure is that of the transaction, which stays. */
  readonly committed: Effect.Effect<void, Error>
}

type Mode = "rows" | "arrays"

/** Takes over `database`: no other code may open transactions on it while the client lives. */
export const makeSqliteClient = Effect.fnUntraced(function* (database: Database, hooks?: CommitHooks) {
  const connection = makeConnection(database)
  return yield* SqlClient.make({
    ...SqlClient.makeSqliteAcquirers({
      connection: Effect.succeed(connection),
      semaphore: yield* Semaphore.make(1),
      isTransaction: () => database.isTransaction
    }),
    driver: "sqlite-node",
    compiler: SqlStatement.makeCompilerSqlite(),
    beginTransaction: "BEGIN IMMEDIATE",
    commit: hooks === undefined ? "COMMIT" : () => committing(database, hooks),
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    prepareTransactionControls: true,
    spanAttributes: [["db.system.name", "sqlite"]]
  })
})

/** The `SqliteError` inside an error of the client; undefined if SQLite was not reached. */
export const sqliteErrorOf = (error: SqlError.SqlError): SqliteError | undefined => {
  const { cause } = error.reason
  return cause instanceof SqliteError ? cause : undefined
}

const committing = (
  database: Database,
  { committed, seal, undone }: CommitHooks
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.try({
    try: () => {
      seal()
      database.exec("COMMIT")
    },
    catch: toSqlError
  }).pipe(
    Effect.tapCause(() => Effect.sync(undone)),
    Effect.andThen(Effect.mapError(committed, toSqlError))
  )

const makeConnection = (database: Database): SqlConnection.Connection => {
  const statements = new StatementCache(database.handle, clientStatementsMax)
  const execute = (sql: string, values: ReadonlyArray<unknown>, mode: Mode) =>
    Effect.withFiber<ReadonlyArray<Row>, SqlError.SqlError>((fiber) =>
      Effect.try({
        try: () => {
          const { handle } = statements.prepare(sql)
          handle.setReadBigInts(Context.get(fiber.context, SqlClient.SafeIntegers))
          handle.setReturnArrays(mode === "arrays")
          return handle.all(...values.map(bound))
        },
        catch: toSqlError
      })
    )
  const rows: SqlConnection.Connection["execute"] = (sql, values, transform) => {
    const found = execute(sql, values, "rows")
    return transform === undefined ? found : Effect.map(found, transform)
  }
  // In this mode node:sqlite's rows are arrays, which their type does not say.
  const arrays = (sql: string, values: ReadonlyArray<unknown>) =>
    Effect.map(execute(sql, values, "arrays"), (found) => found.map((row) => Object.values(row)))
  return {
    execute: rows,
    executeUnprepared: rows,
    executeRaw: (sql, values) => execute(sql, values, "rows"),
    executeValues: arrays,
    executeValuesUnprepared: arrays,
    executeStream: () => Stream.die("this driver does not stream")
  }
}

/** `Statement` builds parameters of these types only; SQLite has neither booleans nor dates. */
const bound = (value: unknown): SQLInputValue => {
  if (typeof value === "boolean") return value ? 1 : 0
  if (value instanceof Date) return value.toISOString()
  return value as SQLInputValue
}

const toSqlError = (thrown: unknown): SqlError.SqlError => {
  const cause = classifySqlite(thrown, "statement") ?? thrown
  const message = cause instanceof Error ? cause.message : "statement failed"
  return new SqlError.SqlError({
    reason: SqlError.classifySqliteError(cause, { message, operation: "execute" })
  })
}
