/**
 * Refused requests: counted for `/metrics`, and kept for the request log until it takes them, a bounded number of
 * lines.
 */
import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http"
import { Limits } from "@muniment/domain/Limits"

/** Parts of a request that decide whether it is refused, beside its body. */
export interface RequestHead {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
}

/** A line of the request log. */
export interface RefusedLine {
  readonly method: string
  /** The contract's pattern, never the path. */
  readonly route: string
  readonly status: number
  /** From its arrival. */
  readonly millis: number
  /** Undefined for callers whose credentials have not been right yet. */
  readonly account: string | undefined
}

export interface RefusedCount {
  /** Kind of work. */
  readonly work: string
  readonly bound: RefusalBound
  readonly status: number
  readonly route: string
  readonly count: number
}

export interface RefusedLines {
  readonly lines: ReadonlyArray<RefusedLine>
  /** Refused requests beyond `Limits.refusalLinesMax`. */
  readonly unlisted: number
}

export class Refusals {
  readonly #counts = new Map<string, RefusedCount>()
  #lines: Array<RefusedLine> = []
  #unlisted = 0

  get counts(): ReadonlyArray<RefusedCount> {
    return [...this.#counts.values()]
  }

  add(work: string, bound: RefusalBound, line: RefusedLine): void {
    const { route, status } = line
    const key = `${work} ${bound} ${status} ${route}`
    this.#counts.set(key, { work, bound, status, route, count: (this.#counts.get(key)?.count ?? 0) + 1 })
    if (this.#lines.length < Limits.refusalLinesMax) this.#lines.push(line)
    else this.#unlisted += 1
  }

  /** Refusals since the last call. */
  takeLines(): RefusedLines {
    const taken = { lines: this.#lines, unlisted: this.#unlisted }
    this.#lines = []
    this.#unlisted = 0
    return taken
  }
}

/**
 * The answer to a request that is not let in (contract: Overload), written without the rest of the service, and without
 * its schemas: at five times the capacity four of five requests get it, on the thread that serves the fifth.
 */

/**
 * share: the account waits for more than its share. wait: the service is full. account_bytes, bytes: bodies under way,
 * of the account, of all. slow_body: others needed the room of a body that did not arrive. account_answers: the account
 * does not read its answers.
 */
export type RefusalBound = "share" | "wait" | "account_bytes" | "bytes" | "slow_body" | "account_answers"

export interface Refusal {
  readonly bound: RefusalBound
  /** Kind of work. */
  readonly work: string
  /** Until a request would be let in, as far as known. */
  readonly waitMillis: number
}

export interface WireRefusal {
  readonly status: 429 | 503
  readonly retryAfterSeconds: number
  readonly body: string
}

const explanations: Readonly<Record<RefusalBound, string>> = {
  share: "this account's share is used up while others wait",
  wait: "the service is full",
  account_bytes: `bodies of this account under way exceed ${Limits.accountBodiesBytesMax} bytes`,
  bytes: "bodies under way exceed what the service takes at once",
  slow_body: "the body did not arrive while others waited for its room",
  account_answers: `answers that this account has not read exceed ${Limits.accountAnswersBytesMax} bytes`
}

/** These are the account's own doing. */
const ofAccount: ReadonlySet<RefusalBound> = new Set(["share", "account_bytes", "account_answers"])

const retryAfterSecondsMax = 60

export const wireRefusal = ({ bound, waitMillis, work }: Refusal): WireRefusal => {
  const retryAfterSeconds = Math.min(retryAfterSecondsMax, Math.max(1, Math.ceil(waitMillis / 1_000)))
  const error = `${explanations[bound]}; try again in ${retryAfterSeconds} s`
  const details = [{ path: bound, message: `${work}: a wait of ${Math.round(waitMillis)} ms was expected` }]
  const [status, code] = ofAccount.has(bound) ? ([429, "rate_limited"] as const) : ([503, "overloaded"] as const)
  return { status, retryAfterSeconds, body: JSON.stringify({ success: false, error, code, details }) }
}

const headersOf = (
  { body, retryAfterSeconds }: WireRefusal,
  headers: Readonly<Record<string, string>>
): Readonly<Record<string, string>> => ({
  "content-type": "application/json",
  "content-length": String(Buffer.byteLength(body)),
  "retry-after": String(retryAfterSeconds),
  "x-content-type-options": "nosniff",
  ...headers
})

/** The whole answer, on a connection that stays open. `body` and headers are ASCII. */
export const refusalText = (refusal: WireRefusal, headers: Readonly<Record<string, string>>): string => {
  let head = `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n`
  const all = headersOf(refusal, headers)
  for (const name in all) head += `${name}: ${all[name]}\r\n`
  return `${head}\r\n${refusal.body}`
}

/** Sends it; what is left of the body is read and dropped, so that the caller gets to see the answer. */
export const sendRefusal = (
  response: ServerResponse<IncomingMessage>,
  refusal: WireRefusal,
  headers: Readonly<Record<string, string>>
): void => {
  if (response.headersSent || response.destroyed) return
  response.writeHead(refusal.status, headersOf(refusal, headers))
  response.end(refusal.body)
}

/**
 * A request as its bytes say it, for those who decide before Node's parser has read it. Only the plainest form is
 * understood, so that both always agree on where a request ends: HTTP/1.1, a body with its length or none, each header
 * once and in one line. Everything else is left to Node.
 */
export interface PlainRequest extends RequestHead {
  readonly headers: Readonly<Record<string, string>>
  /** Body as far as it has arrived. */
  readonly body: Buffer
  /** Bytes of the body that have not arrived. */
  readonly missing: number
}

const headEnd = "\r\n\r\n"
const requestLine = /^(GET|POST|PUT|PATCH|DELETE) (\/[!-~]*) HTTP\/1\.1$/
const headerName = /^[\w-]+$/
/** A line that Node may read as two, or refuse; a no-break space, which `trim` takes for a blank. */
const strayCharacter = /[^\t -~\x80-\x9f\xa1-\xff]/
/** Headers that change how the body is sent, or the fate of the connection. */
const unusual = ["transfer-encoding", "expect", "upgrade", "connection", "trailer"] as const

/** Characters; a longer head is not remembered. */
const knownHeadMax = 2_048
const knownHeadsMax = 512

/** Parsed heads of all connections: callers send the same head again and again, so each is taken apart once. */
export class PlainRequests {
  readonly #heads = new Map<string, Head>()

  /** `bytes`: a request from its first byte. Undefined: Node has to read it, and what follows on its connection. */
  read(bytes: Buffer): PlainRequest | undefined {
    const end = bytes.indexOf(headEnd)
    if (end < 0) return undefined
    const text = bytes.toString("latin1", 0, end)
    const head = this.#headOf(text)
    if (head === undefined) return undefined
    const { headers, length, method, url } = head
    const body = bytes.subarray(end + headEnd.length)
    const missing = length - body.length
    return missing < 0 ? undefined : { method, url, headers, body, missing }
  }

  #headOf(text: string): Head | undefined {
    const known = this.#heads.get(text)
    if (known !== undefined) return known
    const head = headIn(text)
    if (head === undefined || text.length > knownHeadMax) return head
    if (this.#heads.size === knownHeadsMax) this.#heads.clear()
    this.#heads.set(text, head)
    return head
  }
}

interface Head {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Length of the body in bytes. */
  readonly length: number
}

const headIn = (text: string): Head | undefined => {
  const [first = "", ...lines] = text.split("\r\n")
  const [, method, url] = requestLine.exec(first) ?? []
  const headers = headersIn(lines)
  // Node refuses a request without a host.
  if (method === undefined || url === undefined || headers?.["host"] === undefined) return undefined
  const length = headers["content-length"] ?? "0"
  return /^\d{1,9}$/.test(length) ? { method, url, headers, length: Number(length) } : undefined
}

const headersIn = (lines: ReadonlyArray<string>): Readonly<Record<string, string>> | undefined => {
  const headers: Record<string, string> = Object.create(null)
  for (const line of lines) {
    const colon = line.indexOf(":")
    const name = line.slice(0, Math.max(0, colon)).toLowerCase()
    if (!headerName.test(name) || strayCharacter.test(line) || headers[name] !== undefined) return undefined
    headers[name] = line.slice(colon + 1).trim()
  }
  if (headers["connection"]?.toLowerCase() === "keep-alive") delete headers["connection"]
  return unusual.some((name) => headers[name] !== undefined) ? undefined : headers
}
