/**
 * A request as its bytes say it, for those who decide before Node's parser has read it. Only the plainest form is
 * understood, so that both always agree on where a request ends: HTTP/1.1, a body with its length or none, each header
 * once and in one line. Everything else is left to Node.
 */
import type { RequestHead } from "./Refusals.ts"

export interface PlainRequest extends RequestHead {
  readonly headers: Readonly<Record<string, string>>
  /** As far as it has arrived. */
  readonly body: Buffer
  /** Bytes of the body that have not arrived. */
  readonly missing: number
}

const headEnd = "\r\n\r\n"
const requestLine = /^(GET|POST|PUT|PATCH|DELETE) (\/[!-~]*) HTTP\/1\.1$/
const headerName = /^[\w-]+$/
/** A line that Node may read as two, or refuse; a no-break space, which `trim` takes for a blank. */
const strayCharacter = /[^\t -~\x80-\x9f\xa1-\xff]/
/** They change how the body is sent, or what becomes of the connection. */
const unusual = ["transfer-encoding", "expect", "upgrade", "connection", "trailer"] as const

/** `bytes`: a request from its first byte. Undefined: Node has to read it, and what follows on its connection. */
export const plainRequest = (bytes: Buffer): PlainRequest | undefined => {
  const end = bytes.indexOf(headEnd)
  if (end < 0) return undefined
  const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n")
  const [, method, url] = requestLine.exec(first) ?? []
  const headers = headersIn(lines)
  // Node refuses a request without a host.
  if (method === undefined || url === undefined || headers?.["host"] === undefined) return undefined
  const length = headers["content-length"] ?? "0"
  if (!/^\d{1,9}$/.test(length)) return undefined
  const body = bytes.subarray(end + headEnd.length)
  const missing = Number(length) - body.length
  return missing < 0 ? undefined : { method, url, headers, body, missing }
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
