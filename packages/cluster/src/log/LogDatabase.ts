/**
 * Connections to the database of the log. Every statement has a deadline here and a shorter one there, and every
 * failure is a `LogFault`: what a statement changed is unknown then.
 */
import { layerFrom, make, type PgClient } from "@effect/sql-pg/PgClient"
import { Cause, Clock, Effect, type Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { LogFault } from "@muniment/engine/log/LogError"
import { connect, isIP, type Socket } from "node:net"
import { Duplex } from "node:stream"
import { connect as connectTls } from "node:tls"
import { encodeSslRequest, makeParser, type Parser } from "@effect/sql-pg/PgProtocol"

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

/** Reason of a failure; a connection that ended the client only says that it did. */
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

/** The function of PostgreSQL that gives the warning, whatever its language is. */
const waitForStandby = "SyncRepWaitForLSN"
const answers = { tls: 0x53, noTls: 0x4e }

interface Address {
  readonly host: string
  readonly port: number
  readonly tls: "never" | "if there" | "always"
}

/**
 * A connection to PostgreSQL that ends when a commit on it may not be on the standby. PostgreSQL answers such a commit,
 * whose wait somebody has cancelled, as if it were, after a warning that clients pass over. Here the connection ends
 * before that answer: its waiting callers learn that the outcome is unknown. So it does at bytes that are no message.
 */
class WatchedConnection extends Duplex {
  readonly #transport: Socket
  readonly #parser: Parser<null> = makeParser({ readField: () => null })
  /** The transport, or TLS on it; undefined until that is agreed. */
  #socket: Socket | undefined
  #whenOpen: (() => void) | undefined

  constructor(url: Redacted.Redacted) {
    super({ allowHalfOpen: false })
    const address = addressOf(url)
    const { host, port, tls } = address
    // A host that is a directory, as everywhere in PostgreSQL.
    this.#transport = this.#watched(
      host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect({ host, port, noDelay: true })
    )
    if (tls === "never") this.#open(this.#transport)
    else this.#agreeOnTls(address)
  }

  override _read(): void {
    this.#socket?.resume()
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const socket = this.#socket
    if (socket === undefined) this.#whenOpen = () => this._write(chunk, encoding, done)
    else if (socket.write(chunk)) done()
    else socket.once("drain", done)
  }

  override _final(done: () => void): void {
    if (this.#socket === undefined) done()
    else this.#socket.end(done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#transport.destroy()
    done(error)
  }

  #agreeOnTls({ host, tls }: Address): void {
    const transport = this.#transport
    transport.write(encodeSslRequest())
    transport.once("data", (answer: Buffer) => {
      const isOne = answer.length === 1
      if (isOne && answer[0] === answers.noTls && tls === "if there") return this.#open(transport)
      if (!isOne || answer[0] !== answers.tls) return void this.destroy(new Error("PostgreSQL does not offer TLS"))
      const secured = connectTls({ host, ...(isIP(host) === 0 && { servername: host }), socket: transport })
      this.#watched(secured).once("secureConnect", () => this.#open(secured))
    })
  }

  #open(socket: Socket): void {
    this.#socket = socket
    socket.on("data", (chunk: Buffer) => {
      const fault = this.#faultOf(chunk)
      if (fault !== undefined) this.destroy(fault)
      else if (!this.push(chunk)) socket.pause()
    })
    socket.once("end", () => this.push(null))
    this.#whenOpen?.()
  }

  /** Why nothing of this answer may be believed. */
  #faultOf(chunk: Buffer): Error | undefined {
    let isReplicated = true
    try {
      this.#parser.pushEach(chunk, (message) => {
        if (message._tag === "NoticeResponse" && message.fields.routine === waitForStandby) isReplicated = false
      })
    } catch (cause) {
      return new Error("what came is no answer of PostgreSQL's", { cause })
    }
    return isReplicated
      ? undefined
      : new Error("a commit may not be on the standby: its wait was cancelled, or the database is being stopped")
  }

  #watched<S extends Socket>(socket: S): S {
    return socket.on("error", (error) => this.destroy(error)).once("close", () => this.destroy())
  }
}

/** As the client of this stream reads its URL. */
const addressOf = (url: Redacted.Redacted): Address => {
  const { hostname, port, searchParams } = new URL(Redacted.value(url))
  const mode = searchParams.get("sslmode") ?? "disable"
  return {
    host: searchParams.get("host") ?? (decodeURIComponent(hostname.replace(/^\[|\]$/g, "")) || "localhost"),
    port: Number(searchParams.get("port") ?? (port || 5432)),
    tls: mode === "disable" ? "never" : mode === "prefer" || mode === "allow" ? "if there" : "always"
  }
}
