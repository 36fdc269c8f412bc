/**
 * Follows the framing of the answers on a forwarded connection (RFC 9112, sections 6 and 7), to tell whether its caller
 * waits for an answer of which nothing was sent yet. Only then can another answer be put in the place of one that does
 * not come.
 *
 * Invariant: where the framing is in doubt (pipelined requests, answers to HEAD, upgrades) the answer is no.
 */

/** What an answer is made of, and what comes next of it. */
type Part = "head" | "body" | "size" | "chunk" | "trailer" | "unknown"

/** A head or a line that is longer says nothing. */
const textMax = 65_536
const chunkEnd = "\r\n".length
const firstFinal = 200
const withoutBody: ReadonlySet<number> = new Set([204, 304])

export class AnswerBoundary {
  #part: Part = "head"
  /** Of the head or line so far. */
  #text = ""
  /** Of the body or chunk: bytes to come. */
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
