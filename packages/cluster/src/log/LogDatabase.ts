/**
 * Connections to the database of the log. Every statement has a deadline here and a shorter one there, and every
 * failure is a `LogFault`: what a statement changed is unknown then.
 */
import { layerFrom, make, type PgClient } from "@effect/sql-pg/PgClient"
import { Effect, type Layer, type Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { LogFault } from "@muniment/engine/log/LogError"
import { WatchedConnection } from "./WatchedConnection.ts"

/** For an answer, with the wait for a connection. */
const answerMillis = 5_000
/** Below the above, so that a statement that is given up here has ended there, or never begins. */
const statementMillis = 4_000

export const logDatabase = (
  url: Redacted.Redacted,
  maxConnections: number
): Layer.Layer<PgClient | SqlClient, SqlError> =>
  layerFrom(
    make({
      url,
      // Which speaks TLS itself, if the URL asks for it.
      stream: () => new WatchedConnection(url),
      ssl: false,
      maxConnections,
      minConnections: 0,
      connectTimeout: answerMillis,
      applicationName: "muniment",
      startupParameters: {
        // Whatever the role's default is: acknowledged is durable, on the standbys too.
        synchronous_commit: "on",
        statement_timeout: String(statementMillis),
        idle_in_transaction_session_timeout: String(answerMillis)
      }
    })
  )

export const asked = <A, E>(answer: Effect.Effect<A, E>): Effect.Effect<A, LogFault> =>
  answer.pipe(
    Effect.timeout(answerMillis),
    Effect.mapError((cause) => new LogFault({ cause: reasonOf(cause) }))
  )

/** Of a connection that ended the client only says that it did. */
const reasonOf = (cause: unknown): unknown =>
  isSqlError(cause) && cause.reason._tag === "ConnectionError" ? (cause.reason.cause ?? cause) : cause

/** Whether this release's tables are there: a command may ask a database that no node of it has opened. */
export const hasTable = (name: string): Effect.Effect<boolean, LogFault, SqlClient> =>
  SqlClient.use((sql) =>
    Effect.map(
      asked(sql<{ there: boolean }>`SELECT to_regclass(${`muniment_log.${name}`}) IS NOT NULL AS there`),
      ([table]) => table?.there === true
    )
  )
