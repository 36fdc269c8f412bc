/**
 * `<dataDirectory>/control.db`: opening, migrating, reading and writing.
 *
 * Invariants: one connection and one process; every change is one durable transaction; a full disk is a typed failure of
 * writes (507), any other failure of SQLite is a defect. Only the services of this package contain SQL for it.
 */
import { Context, Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlError, type SqlClient } from "effect/sql"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { InsufficientStorage } from "@muniment/domain/Errors"
import { attempt, Database, SqliteError } from "@muniment/sqlite/Database"
import { migrate, NewerDatabase } from "@muniment/sqlite/Migrate"
import { makeSqliteClient, sqliteErrorOf } from "@muniment/sqlite/SqliteClient"
import { controlMigrations } from "./migrations/controlMigrations.ts"

/** The failures of `E` without SQLite's. */
export type WithoutSql<E> = Exclude<E, Extract<E, SqlError.SqlError>>

/** Readable by its owner only: the directory contains key digests and schemas. */
const directoryMode = 0o700

export class ControlDatabase extends Context.Service<
  ControlDatabase,
  {
    readonly sql: SqlClient.SqlClient
    /** Runs queries; a failure of SQLite is a defect. */
    readonly read: <A, E, R>(query: Effect.Effect<A, E, R>) => Effect.Effect<A, WithoutSql<E>, R>
    /** Runs `change` in one transaction, rolled back if it fails or is interrupted. */
    readonly write: <A, E, R>(
      change: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, WithoutSql<E> | InsufficientStorage, R>
  }
>()("muniment/control/ControlDatabase") {
  /** Creates the directory and the file as needed, and migrates the file to the last version. */
  static readonly layer = (dataDirectory: string): Layer.Layer<ControlDatabase, SqliteError | NewerDatabase> =>
    Layer.effect(
      ControlDatabase,
      Effect.gen(function* () {
        const database = yield* Effect.acquireRelease(openMigrated(dataDirectory), (opened) =>
          Effect.sync(() => opened.close())
        )
        const sql = yield* makeSqliteClient(database)
        return ControlDatabase.of({
          sql,
          read: (query) =>
            Effect.catch(query, (error) => (isOther(error) ? Effect.fail(error) : defectIn(database.filename, error))),
          write: <A, E, R>(change: Effect.Effect<A, E, R>) =>
            Effect.catch(
              sql.withTransaction(change),
              (error): Effect.Effect<never, WithoutSql<E> | InsufficientStorage> =>
                isOther<E>(error) ? Effect.fail(error) : fullOrDefect(database.filename, error)
            )
        })
      })
    ).pipe(Layer.provide(Reactivity.layer))
}

const openMigrated = (dataDirectory: string): Effect.Effect<Database, SqliteError | NewerDatabase> => {
  const filename = join(dataDirectory, "control.db")
  return attempt("open", (): Database | NewerDatabase => {
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
}

/** The error with the name of the file. */
const inFile = (filename: string, { reason, operation, errcode, cause }: SqliteError): SqliteError =>
  new SqliteError({ reason, operation: `${filename}: ${operation}`, ...(errcode !== undefined && { errcode }), cause })

/** An unexpected failure as a defect that names the file. */
const defectIn = (filename: string, error: unknown): Effect.Effect<never> => {
  const sqlite = error instanceof SqlError.SqlError ? sqliteErrorOf(error) : undefined
  return Effect.die(sqlite === undefined ? error : inFile(filename, sqlite))
}

const isOther = <E>(error: E | SqlError.SqlError): error is E & WithoutSql<E> => !(error instanceof SqlError.SqlError)

const fullOrDefect = (filename: string, error: unknown): Effect.Effect<never, InsufficientStorage> =>
  error instanceof SqlError.SqlError && sqliteErrorOf(error)?.reason === "full"
    ? Effect.fail(
        new InsufficientStorage({ code: "insufficient_storage", error: "the disk is full; free space and retry" })
      )
    : defectIn(filename, error)
