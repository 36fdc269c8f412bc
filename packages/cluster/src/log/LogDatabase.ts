/**
 * Connections to the database of the log. Every statement has a deadline here and a shorter one there, and every
 * failure is a `LogFault`: what a statement changed is unknown then.
 */
import { layerFrom, make, type PgClient } from "@effect/sql-pg/PgClient"
import { Cause, Clock, Effect, type Layer, type Redacted } from "effect"
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

/** How long a node that starts asks again, and how often. */
const startMillis = 120_000
const startAgainMillis = 1_000

/** For the start of a node: `step` again while the database is away or busy, for some time, with a line in the log each time. */
export const untilDatabaseAnswers = <A, E, R>(step: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Clock.currentTimeMillis, (begunMillis) => {
    const attempt: Effect.Effect<A, E, R> = Effect.catch(step, (error) =>
      Effect.flatMap(Clock.currentTimeMillis, (nowMillis) => {
        const leftMillis = begunMillis + startMillis - nowMillis
        if (leftMillis <= 0 || !mayPass(error)) return Effect.fail(error)
        return Effect.logWarning("the database does not let this node start yet; it tries again", {
          reason: rootOf(error).message,
          givesUpInSeconds: Math.ceil(leftMillis / 1_000)
        }).pipe(Effect.andThen(Effect.delay(attempt, startAgainMillis)))
      })
    )
    return attempt
  })

/** PostgreSQL's classes "insufficient resources" and "operator intervention": too many connections, starting up. */
const passingCodes = /^(53|57)/
const causesMax = 8

/** Whether an error of the database may be another one, or none, at the next attempt. */
const mayPass = (error: unknown): boolean =>
  causesOf(error).some(
    (cause) =>
      Cause.isTimeoutError(cause) ||
      (isSqlError(cause) && cause.isRetryable) ||
      passingCodes.test(String((cause as { readonly code?: unknown }).code)) ||
      (cause as { readonly syscall?: unknown }).syscall !== undefined
  )

/** The error that PostgreSQL, or the network, gave. */
export const rootOf = (error: unknown): Error => causesOf(error).at(-1) ?? new Error(String(error))

const causesOf = (error: unknown): ReadonlyArray<Error> => {
  const causes: Array<Error> = []
  for (let at = error; at instanceof Error && causes.length < causesMax; at = nextCause(at)) causes.push(at)
  return causes
}

const nextCause = (error: Error): unknown => (isSqlError(error) ? error.reason.cause : error.cause)

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
