/**
 * A request as its bytes say it, for those who decide before Node's parser has read it. Only the plainest form is
 * understood, so that both always agree on where a request ends: HTTP/1.1, a body with its length or none, each header
 * once and in one line. Everything else is left to Node.
 */
import type { RequestHead } from "./Refusals.ts"

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
