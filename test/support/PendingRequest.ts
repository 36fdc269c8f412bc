/**
 * A request that the server has demonstrably accepted and that is not sent to its end: headers with
 * `Expect: 100-continue`, which the server answers at once, and the body when the test says so.
 */
import { connect, type Socket } from "node:net"

export interface PendingRequest {
  /** Sends the body; the status and the body of the answer, or undefined when the connection was cut. */
  readonly finish: () => Promise<{ readonly status: number; readonly text: string } | undefined>
  readonly socket: Socket
}

export const acceptedRequest = (url: string, key: string, path: string, body: string): Promise<PendingRequest> => {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  let received = ""
  let isClosed = false
  socket.on("close", () => {
    isClosed = true
  })
  // What broke shows as a missing answer.
  socket.on("error", () => socket.destroy())
  const headers = [
    `POST ${path} HTTP/1.1`,
    `host: ${hostname}`,
    `authorization: Bearer ${key}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "expect: 100-continue"
  ]
  socket.write(`${headers.join("\r\n")}\r\n\r\n`)
  const answerIn = (text: string) => {
    const [, status, rest] = /HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 (\d{3})([\s\S]*)/.exec(text) ?? []
    const length = Number(/content-length: (\d+)/i.exec(rest ?? "")?.[1] ?? Number.NaN)
    const content = rest?.slice(rest.indexOf("\r\n\r\n") + 4) ?? ""
    return content.length >= length ? { status: Number(status), text: content } : undefined
  }
  const finish: PendingRequest["finish"] = () =>
    new Promise((done) => {
      const look = () => {
        const answer = answerIn(received)
        if (answer === undefined && !isClosed) return
        socket.destroy()
        done(answer)
      }
      socket.on("data", look)
      socket.on("close", look)
      if (isClosed) look()
      else socket.write(body)
    })
  return new Promise((accepted, refuse) => {
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1")
      if (received.startsWith("HTTP/1.1 100")) accepted({ finish, socket })
    })
    socket.once("close", () => refuse(new Error(`not accepted: ${received}`)))
  })
}
