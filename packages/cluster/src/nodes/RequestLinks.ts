/**
 * Connections of callers on their way from the node that took them to the node that serves them, over the sockets of
 * the cluster (`NodeSockets.ts`).
 *
 * Wire: the caller's address in ASCII, a line feed; one byte back if this node serves now; then the caller's bytes and
 * the answers, unchanged. A link that ends before that byte has carried nothing. One that ends later may leave a request
 * without an answer, and whether it was carried out is not known.
 */
import type { Redacted } from "effect"
import type { Socket } from "node:net"
import { connect, type ConnectionOptions, createServer, type Server } from "node:tls"
import { nodeListener } from "./NodeSockets.ts"

const accepted = 0x06
const lineFeed = 0x0a
/** The longest address of IPv6 with a zone. */
const addressBytesMax = 80
/** For the handshake, and for the byte that says yes. */
const openMillis = 2_000

/**
 * Takes links of other nodes. `take` gets the connection with its caller's address, and calls `begin` once it is served;
 * or it returns false: this node does not serve now.
 */
export const requestLinkServer = (
  secret: Redacted.Redacted,
  take: (socket: Socket, address: string, begin: () => void) => boolean
): Server => {
  const server = createServer({ ...nodeListener(secret), allowHalfOpen: true, handshakeTimeout: openMillis })
  server.on("secureConnection", (socket) => {
    socket.setNoDelay(true)
    socket.on("error", () => socket.destroy())
    const late = () => socket.destroy()
    socket.setTimeout(openMillis, late)
    let said = Buffer.alloc(0)
    const read = () => {
      for (let chunk: Buffer | null; (chunk = socket.read(1) as Buffer | null) !== null;) {
        if (chunk[0] !== lineFeed) {
          said = Buffer.concat([said, chunk])
          if (said.byteLength > addressBytesMax) return void socket.destroy()
          continue
        }
        socket.off("readable", read)
        socket.off("timeout", late).setTimeout(0)
        const begin = () => void socket.write(Uint8Array.of(accepted))
        if (!take(socket, said.toString("latin1"), begin)) socket.destroy()
        return undefined
      }
      return undefined
    }
    socket.on("readable", read)
  })
  // A stranger's handshake fails; that is its end.
  server.on("tlsClientError", (_, socket) => socket.destroy())
  return server
}

interface ForwardOptions {
  readonly to: { readonly host: string; readonly port: number }
  /** Options of `nodeConnection`. */
  readonly connection: ConnectionOptions
  /** That node serves. */
  readonly opened: () => void
  /** That node takes nothing, and nothing was read of the caller. */
  readonly refused: () => void
  /** Answer to a request that the node has, and of whose answer nothing came before the node was lost. */
  readonly lost: string
}

/** A caller's connection that another node has, or is asked to take. */
export interface Forwarded {
  /** Ends it, whatever it carries. */
  readonly giveUp: () => void
  /** Ends it when it carries nothing: now, or with its next answer, which says so (`Connection: close`). */
  readonly finish: () => void
  /** No request is without its answer, as far as the framing says. */
  readonly isIdle: () => boolean
}

/** Carries a caller's connection to another node. */
export const forward = (caller: Socket, { connection, lost, opened, refused, to }: ForwardOptions): Forwarded => {
  // A caller may end its side and still wait for the answer.
  const options = { ...connection, host: to.host, port: to.port, allowHalfOpen: true }
  const link = connect(options)
  link.setNoDelay(true)
  let isOpen = false
  let isOver = false
  /** The connection ends with the next answer that begins. */
  let isLast = false
  /** That answer has begun. */
  let isClosing = false
  const boundary = new AnswerBoundary()
  const end = (answer = boundary.isUnanswered ? lost : undefined) => {
    if (isOver) return
    isOver = true
    link.destroy()
    if (isOpen) leave(caller, answer)
    else if (!caller.destroyed) {
      caller.off("close", ended)
      refused()
    }
  }
  const ended = () => end()
  // One that had begun before has said that the connection stays.
  const answered = (bytes: Buffer) => {
    const last = isLast && boundary.isUnanswered ? lastAnswer(bytes) : undefined
    boundary.answered(bytes)
    if (!caller.write(last ?? bytes)) link.pause()
    isClosing ||= last !== undefined
    if (isClosing && boundary.isIdle) end("")
  }
  link.setTimeout(openMillis, ended)
  caller.once("close", ended)
  link.on("error", ended)
  link.once("close", ended)
  link.once("secureConnect", () => link.write(`${caller.remoteAddress ?? ""}\n`))
  link.once("readable", () => {
    const answer = link.read(1) as Buffer | null
    if (answer?.[0] !== accepted) return end()
    link.off("timeout", ended).setTimeout(0)
    isOpen = true
    opened()
    caller.on("error", ended)
    caller.on("data", () => boundary.asked())
    caller.pipe(link)
    link.on("data", answered).resume()
    caller.on("drain", () => link.resume())
    // Its end may be that of its node.
    link.once("end", () => (boundary.isUnanswered ? end() : caller.end()))
    return undefined
  })
  return {
    giveUp: ended,
    finish: () => {
      isLast = true
      if (isOpen && boundary.isIdle) end("")
    },
    isIdle: () => boundary.isIdle
  }
}

/** The answer with `Connection: close`; undefined if not all of its head is there, or it is an interim one. */
const lastAnswer = (bytes: Buffer): Buffer | undefined => {
  const length = bytes.indexOf("\r\n\r\n")
  const head = bytes.toString("latin1", 0, Math.max(0, length))
  if (!/^HTTP\/1\.[01] [2-5]/.test(head)) return undefined
  const fields = head.replace(/\r\n(?:connection|keep-alive):[^\r]*/gi, "")
  return Buffer.concat([Buffer.from(`${fields}\r\nconnection: close`, "latin1"), bytes.subarray(length)])
}

/** With a last answer, if there is one; what the caller still sends is not read. */
const leave = (caller: Socket, answer: string | undefined): void => {
  if (answer === undefined || !caller.writable) return void caller.destroy()
  caller.unpipe().removeAllListeners("data").resume()
  caller.setTimeout(openMillis, () => caller.destroy())
  caller.end(answer)
  return undefined
}

/** Parts of an answer's framing. */
type Part = "head" | "body" | "size" | "chunk" | "trailer" | "unknown"

/** A head or a line that is longer says nothing. */
const textMax = 65_536
const chunkEnd = "\r\n".length
const firstFinal = 200
const withoutBody: ReadonlySet<number> = new Set([204, 304])

/**
 * Follows the framing of the answers on a forwarded connection (RFC 9112, sections 6 and 7), to tell whether its caller
 * waits for an answer of which nothing was sent yet. Only then can another answer be put in the place of one that does
 * not come.
 *
 * Invariant: where the framing is in doubt (pipelined requests, answers to HEAD, upgrades) the answer is no.
 */
export class AnswerBoundary {
  #part: Part = "head"
  /** Text of the head or line so far. */
  #text = ""
  /** Bytes of the body or chunk to come. */
  #left = 0
  #isAwaited = false

  /** The caller has sent something. */
  asked(): void {
    // A request while an answer is on its way: which bytes belong to which is not known from here.
    if (this.#part === "head" && this.#text === "") this.#isAwaited = true
    else this.#part = "unknown"
  }

  /** Takes further bytes that the node has answered. */
  answered(bytes: Buffer): void {
    for (let at = 0; at < bytes.byteLength && this.#part !== "unknown";) at = this.#take(bytes, at)
  }

  get isUnanswered(): boolean {
    return this.#isAwaited && this.#part === "head" && this.#text === ""
  }

  /** Between an answer and the next request. */
  get isIdle(): boolean {
    return !this.#isAwaited && this.#part === "head" && this.#text === ""
  }

  /** -> up to where `bytes` are taken. */
  #take(bytes: Buffer, at: number): number {
    if (this.#part === "body" || this.#part === "chunk") {
      const taken = Math.min(this.#left, bytes.byteLength - at)
      this.#left -= taken
      if (this.#left === 0) this.#part = this.#part === "body" ? "head" : "size"
      return at + taken
    }
    const end = this.#part === "head" ? "\r\n\r\n" : "\r\n"
    const before = this.#text.length
    this.#text += bytes.toString("latin1", at)
    const found = this.#text.indexOf(end, Math.max(0, before - end.length))
    if (found < 0) {
      if (this.#text.length > textMax) this.#part = "unknown"
      return bytes.byteLength
    }
    const text = this.#text.slice(0, found)
    this.#text = ""
    if (this.#part === "head") this.#begin(text)
    else this.#line(text)
    return at + found + end.length - before
  }

  #begin(head: string): void {
    const status = Number(/^HTTP\/1\.[01] (\d{3}) /.exec(head)?.[1])
    // An interim answer; the one that is waited for still comes.
    if (status >= 100 && status < firstFinal && status !== 101) return
    this.#isAwaited = false
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    if (withoutBody.has(status)) this.#part = "head"
    else if (/\r\ntransfer-encoding: *chunked/i.test(head)) this.#part = "size"
    else if (Number.isNaN(status) || length === undefined) this.#part = "unknown"
    else {
      this.#left = Number(length)
      this.#part = this.#left === 0 ? "head" : "body"
    }
  }

  /** The size of a chunk, or a line behind the last one. */
  #line(text: string): void {
    if (this.#part === "trailer") {
      if (text === "") this.#part = "head"
      return
    }
    const size = Number.parseInt(text, 16)
    if (size > 0) {
      this.#left = size + chunkEnd
      this.#part = "chunk"
    } else this.#part = size === 0 ? "trailer" : "unknown"
  }
}
