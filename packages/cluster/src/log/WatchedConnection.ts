/**
 * A connection to PostgreSQL that ends when a commit on it may not be on the standby. PostgreSQL answers such a commit,
 * whose wait somebody has cancelled, as if it were, after a warning that clients pass over. Here the connection ends
 * before that answer: its waiting callers learn that the outcome is unknown. So it does at bytes that are no message.
 */
import { connect, isIP, type Socket } from "node:net"
import { Duplex } from "node:stream"
import { connect as connectTls } from "node:tls"
import { encodeSslRequest, makeParser, type Parser } from "@effect/sql-pg/PgProtocol"
import { Redacted } from "effect"

/** The function of PostgreSQL that gives the warning, whatever its language is. */
const waitForStandby = "SyncRepWaitForLSN"
const answers = { tls: 0x53, noTls: 0x4e }

interface Address {
  readonly host: string
  readonly port: number
  readonly tls: "never" | "if there" | "always"
}

export class WatchedConnection extends Duplex {
  readonly #transport: Socket
  readonly #parser: Parser<null> = makeParser({ readField: () => null })
  /** The transport, or TLS on it; undefined until that is agreed. */
  #socket: Socket | undefined
  #whenOpen: (() => void) | undefined

  constructor(url: Redacted.Redacted) {
    super({ allowHalfOpen: false })
    const address = addressOf(url)
    const { host, port, tls } = address
    // Of a directory, as everywhere in PostgreSQL.
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
