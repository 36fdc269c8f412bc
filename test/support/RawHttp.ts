/** Requests byte by byte, for what no HTTP client would send. */
import { connect } from "node:net"

export interface RawAnswer {
  /** Undefined when the server closed the connection without an answer. */
  readonly status: number | undefined
  readonly text: string
}

const answerMillisMax = 150_000

/** Sends `parts` one after the other and reads until the answer is whole, or the server closes. */
export const sendRaw = (url: string, parts: Iterable<string | Uint8Array>): Promise<RawAnswer> => {
  const { hostname, port } = new URL(url)
  return new Promise((answer, refuse) => {
    const socket = connect({ host: hostname, port: Number(port) })
    const chunks: Array<Buffer> = []
    const iterator = parts[Symbol.iterator]()
    const finish = (): void => {
      clearTimeout(deadline)
      socket.destroy()
      const text = Buffer.concat(chunks).toString("latin1")
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]
      answer({ status: status === undefined ? undefined : Number(status), text })
    }
    const deadline = setTimeout(() => {
      socket.destroy()
      refuse(new Error("no answer"))
    }, answerMillisMax)
    const more = (): void => {
      for (let next = iterator.next(); next.done !== true; next = iterator.next()) {
        if (socket.destroyed || !socket.writable) return
        if (!socket.write(next.value)) {
          socket.once("drain", more)
          return
        }
      }
    }
    socket.on("connect", more)
    socket.on("data", (chunk) => {
      chunks.push(chunk)
      if (isWhole(Buffer.concat(chunks).toString("latin1"))) finish()
    })
    // A server that refuses a body early closes while it is still being sent.
    socket.on("error", finish)
    socket.on("close", finish)
  })
}

const isWhole = (text: string): boolean => {
  const end = text.indexOf("\r\n\r\n")
  if (end < 0) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, end))?.[1]
  return length !== undefined && text.length >= end + 4 + Number(length)
}
