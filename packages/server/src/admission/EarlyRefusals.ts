/**
 * Refuses a request on a connection that is kept alive before Node's parser has made objects of it: half of what a
 * refusal costs. Reads what arrives on the connection in front of the parser.
 *
 * Invariants:
 * - What is not refused reaches the parser unchanged, and in order.
 * - Nothing is refused here while an answer is due or unsent on the connection: answers keep the order of requests.
 * - Once something arrives that is not understood (`PlainRequest.ts`), the connection is Node's until its end.
 * - The first request of a connection is Node's: until it has read one, it takes the connection for a silent one.
 */
import type { Socket } from "node:net"
import type { Gate } from "./Gate.ts"
import type { PlainRequests } from "./PlainRequest.ts"
import { refusalText } from "./Refusal.ts"
import { releaseBytes } from "./RequestBody.ts"

/** Fewer are left to the collector. */
const releasedBytesMin = 16_384

export interface EarlyRefusalOptions {
  readonly gate: Gate
  readonly requests: PlainRequests
  /** No answer is due on the connection, and more requests may come. */
  readonly isFree: () => boolean
}

/** Of a connection that Node's server has taken over. */
export const refuseEarly = (socket: Socket, { gate, isFree, requests }: EarlyRefusalOptions): void => {
  const [parse, ...others] = socket.listeners("data")
  if (parse === undefined || others.length > 0) return
  let isPlain = true
  let isFirst = true
  /** Bytes of a body that the parser waits for. */
  let missing = 0

  /** The answer; undefined: the bytes are for the parser. */
  const refusalOf = (bytes: Buffer): string | undefined => {
    if (missing > 0) {
      missing -= bytes.length
      isPlain = missing >= 0
      return undefined
    }
    const request = requests.read(bytes)
    isPlain = request !== undefined && isFree()
    if (request === undefined || !isPlain) return undefined
    missing = request.missing
    if (isFirst || missing > 0 || socket.writableLength > 0) {
      isFirst = false
      return undefined
    }
    const refusal = gate.refusalOf(request, socket.remoteAddress)
    return refusal === undefined ? undefined : refusalText(refusal.answer, refusal.headers)
  }

  socket.off("data", parse as (bytes: Buffer) => void)
  socket.on("data", (bytes: Buffer) => {
    const refusal = isPlain ? refusalOf(bytes) : undefined
    if (refusal !== undefined) return void socket.write(refusal, "latin1")
    parse.call(socket, bytes)
    // The parser has copied what it keeps, but for bytes behind an upgrade.
    if (isPlain && bytes.length >= releasedBytesMin) releaseBytes(bytes)
  })
}
