/**
 * Answers to what Node does not hand on as a request, in the shape of the contract (contract: Errors): Node alone answers
 * without a body, or not at all. Each is the last answer of its connection: where the next request begins is not known.
 */
import { type Server, type ServerResponse, STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import type {
  ExpectationFailed,
  HeadersTooLarge,
  InvalidRequest,
  MethodNotAllowed,
  PayloadTooLarge,
  RequestTimeout
} from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"

type Failure =
  | ExpectationFailed
  | HeadersTooLarge
  | InvalidRequest
  | MethodNotAllowed
  | PayloadTooLarge
  | RequestTimeout

interface UnreadAnswer {
  readonly status: number
  readonly code: Failure["code"]
  readonly error: string
  readonly headers?: Readonly<Record<string, string>>
}

const oneHost: UnreadAnswer = { status: 400, code: "invalid_request", error: "send one Host header" }

const expectationFailed: UnreadAnswer = {
  status: 417,
  code: "expectation_failed",
  error: "of `Expect`, only `100-continue` is known"
}

const headersTooLarge: UnreadAnswer = {
  status: 431,
  code: "headers_too_large",
  error: `request line and headers are above ${Limits.headerBytesMax} bytes; a search may send its parameters in a body: POST /v1/memories/search`
}

const tooSlow: UnreadAnswer = {
  status: 408,
  code: "request_timeout",
  error: `the request did not arrive in time: headers within ${Limits.headerTimeoutMillis} ms, all of it within ${Limits.requestTimeoutMillis}`,
  // Nothing was done, and a client that was slow on a busy machine may be faster.
  headers: { "retry-after": "1" }
}

const chunksTooLarge: UnreadAnswer = {
  status: 413,
  code: "payload_too_large",
  error: "extensions of the body's chunks are too large"
}

const malformed: UnreadAnswer = { status: 400, code: "invalid_request", error: "this is no HTTP request" }

const noTunnel: UnreadAnswer = {
  status: 405,
  code: "method_not_allowed",
  error: "CONNECT is for proxies",
  headers: { allow: "GET, POST, PUT, PATCH, DELETE" }
}

/** Answers by the codes of Node's errors. */
const answers: Readonly<Record<string, UnreadAnswer>> = {
  HPE_HEADER_OVERFLOW: headersTooLarge,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: chunksTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: tooSlow
}

/** From now on the server answers so. */
export const answerUnread = (server: Server): void => {
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => refuseUnread(socket as Socket, error))
  server.on("checkExpectation", (_, response) => refuse(response, expectationFailed))
  server.on("connect", (_, socket) => endWith(socket as Socket, noTunnel))
}

/** Refuses a request with several hosts: the rest of the connection may be another's. */
export const refuseHosts = (response: ServerResponse): void => refuse(response, oneHost)

const refuse = (response: ServerResponse, answer: UnreadAnswer): void => {
  const { body, headers } = wire(answer)
  response.writeHead(answer.status, headers).end(body)
}

/** Refuses what is no request, or only a part of one; an answer that has begun is left as it is. */
const refuseUnread = (socket: Socket, { code = "" }: NodeJS.ErrnoException): void => {
  // The answer that is being sent, as Node keeps it.
  const { _httpMessage: sending } = socket as Socket & { readonly _httpMessage?: ServerResponse | null }
  if (!socket.writable || code === "ECONNRESET" || sending?.headersSent === true) return void socket.destroySoon()
  endWith(socket, answers[code] ?? malformed)
}

/**
 * Reads on for a moment: a connection that closes with bytes unread is reset, and its client may lose the answer.
 */
const endWith = (socket: Socket, answer: UnreadAnswer): void => {
  const { body, headers } = wire(answer)
  let head = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}\r\n`
  for (const name in headers) head += `${name}: ${headers[name]}\r\n`
  socket.removeAllListeners("data").removeAllListeners("end")
  let chunks = 0
  socket.on("data", () => ++chunks > unreadChunksMax && socket.destroy())
  socket.once("end", () => socket.destroy())
  socket.setTimeout(Limits.lastArrivalsMillis, () => socket.destroy())
  socket.end(`${head}\r\n${body}`)
  socket.resume()
}

const unreadChunksMax = 64

const wire = ({
  code,
  error,
  headers
}: UnreadAnswer): { readonly body: string; readonly headers: Readonly<Record<string, string>> } => {
  const body = JSON.stringify({ success: false, error, code })
  return {
    body,
    headers: {
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
      "x-content-type-options": "nosniff",
      ...headers,
      connection: "close"
    }
  }
}
