/** The times that the listener gives to requests and connections, on a real port with a loop that stands still. */
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { connect, type Socket } from "node:net"
import { Effect, Fiber } from "effect"
import { afterEach, beforeEach, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { Gate } from "@muniment/server/admission/Gate"
import { PollClock } from "@muniment/server/admission/PollClock"
import { boundedServer } from "@muniment/server/http/Listener"

/** Seconds pass by this number, whatever the machine does. */
let nowMillis: number
let polls: PollClock
let watch: Fiber.Fiber<never>
let server: ReturnType<typeof boundedServer>
let port: number
let sockets: Array<Socket>

beforeEach(async () => {
  nowMillis = 0
  sockets = []
  polls = new PollClock(() => nowMillis)
  watch = Effect.runFork(polls.watch)
  const gate = new Gate({
    nowMillis: () => nowMillis,
    clientOf: () => "client",
    isExempt: () => true,
    identify: (_sender, done) => done(undefined),
    routeOf: ({ url }) => url ?? "",
    headersFor: () => ({})
  })
  server = boundedServer(gate, polls)
  server.on("request", (_request: IncomingMessage, response: ServerResponse) => void response.end("served"))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  port = typeof address === "object" && address !== null ? address.port : 0
})
afterEach(async () => {
  await Effect.runPromise(Fiber.interrupt(watch))
  for (const socket of sockets) socket.destroy()
  await new Promise((settle) => server.close(settle))
})

/** All that the server sends until it closes the connection, or until `isEnough`. */
const received = (socket: Socket, isEnough: (text: string) => boolean = () => false): Promise<string> =>
  new Promise((settle) => {
    let text = ""
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk
      if (isEnough(text)) settle(text)
    })
    socket.once("close", () => settle(text))
  })

const open = (): Socket => {
  const socket = connect(port, "127.0.0.1")
  sockets.push(socket)
  return socket
}

const blockLoop = (millis: number): void => {
  nowMillis += millis
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis)
}

it("a request that arrives while the loop stands still longer than headers may take is served", async () => {
  server.once("connection", () => blockLoop(Limits.headerTimeoutMillis + 1_000))
  const socket = open()
  const answer = received(socket, (text) => text.includes("served"))
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
  expect(await answer).toMatch(/^HTTP\/1\.1 200 /)
})

it("headers that do not come are answered with 408 once the loop runs again", async () => {
  const socket = open()
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n")
  await once(server, "connection")
  blockLoop(Limits.headerTimeoutMillis + 1_000)
  expect(await received(socket)).toMatch(/^HTTP\/1\.1 408 /)
})

it("an idle connection is announced to live as long as the limit says, and outlives that", async () => {
  const socket = open()
  const answer = received(socket, (text) => text.includes("served"))
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
  expect(await answer).toContain(`Keep-Alive: timeout=${Limits.connectionIdleMillis / 1_000}\r\n`)
  expect(server.keepAliveTimeoutBuffer).toBe(Limits.connectionIdleSpareMillis)
})

it("answers a request that came before its routes were attached", async () => {
  server.removeAllListeners("request")
  const socket = open()
  const answer = received(socket, (text) => text.includes("served"))
  const arrived = once(server, "arrival")
  socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
  await arrived
  server.on("request", (_request: IncomingMessage, response: ServerResponse) => void response.end("served"))
  expect(await answer).toContain("served")
})

it("answers a request that has come before it closes, and says that the connection ends", async () => {
  const socket = open()
  const answers: Array<string> = []
  socket.setEncoding("utf8").on("data", (text: string) => answers.push(text))
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
  await once(socket, "data")
  // Both in one turn of the loop: the request lies in the kernel.
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
  const closed = new Promise((settle) => server.close(settle))
  await once(socket, "close")
  expect(answers.join("").match(/HTTP\/1\.1 200 /g)).toHaveLength(2)
  expect(answers.at(-1)).toMatch(/\r\nConnection: close\r\n/i)
  await closed
})
