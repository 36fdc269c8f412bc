/** Several sockets that listen for one server. */
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import { connect, type AddressInfo, type Socket } from "node:net"
import { expect, it, onTestFinished } from "vitest"
import { acceptMore, reusePort } from "@muniment/server/http/Acceptors"

const backlog = 512
const callers = 64

const listening = async (server: Server): Promise<number> => {
  acceptMore(server, { host: "127.0.0.1", backlog })
  server.listen({ host: "127.0.0.1", port: 0, backlog, reusePort })
  await once(server, "listening")
  return (server.address() as AddressInfo).port
}

it.runIf(process.platform === "linux")(
  "accepts several connections in a turn of the loop, and serves them",
  async () => {
    const server = createServer((_request, response) => response.end("served"))
    const sockets: Array<Socket> = []
    onTestFinished(() => void (server.listening && server.close()))
    const port = await listening(server)
    let inTurn = 0
    let most = 0
    server.on("connection", () => {
      if (inTurn === 0) setImmediate(() => (inTurn = 0))
      inTurn += 1
      most = Math.max(most, inTurn)
    })
    const texts = await Promise.all(
      Array.from({ length: callers }, async () => {
        const socket = connect(port, "127.0.0.1")
        sockets.push(socket)
        socket.end("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        let text = ""
        for await (const chunk of socket) text += String(chunk)
        return text
      })
    )
    expect(most).toBeGreaterThan(1)
    expect(texts.filter((text) => text.endsWith("served"))).toHaveLength(callers)
  }
)

it("stops listening at all of them when the server closes, while an answer is still due", async () => {
  const server = createServer()
  const port = await listening(server)
  const asked = once(server, "request")
  const early = connect(port, "127.0.0.1")
  early.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
  const [, response] = await asked
  const closed = new Promise((settle) => server.close(settle))
  const outcomes = await Promise.all(
    Array.from(
      { length: callers },
      () =>
        new Promise((settle) => {
          const late = connect(port, "127.0.0.1")
          late.once("error", (error: NodeJS.ErrnoException) => settle(error.code))
          late.once("connect", () => {
            late.destroy()
            settle("connected")
          })
        })
    )
  )
  response.end()
  early.destroy()
  await closed
  expect(new Set(outcomes)).toEqual(new Set(["ECONNREFUSED"]))
})
