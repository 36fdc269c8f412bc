/** What the listener allows requests and connections, on a real port: times with a loop that stands still, and its end. */
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { connect, Socket } from "node:net"
import { Effect, Fiber } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { Gate } from "@muniment/server/admission/Gate"
import { PollClock } from "@muniment/server/admission/Turnstile"
import { reusePort } from "@muniment/server/http/Acceptors"
import { boundedServer } from "@muniment/server/http/Listener"

/** Seconds pass by this number, whatever the machine does. */
let nowMillis: number
let polls: PollClock
let watch: Fiber.Fiber<void>
let server: ReturnType<typeof boundedServer>
let port: number
let sockets: Array<Socket>

beforeEach(async () => {
  nowMillis = 0
  sockets = []
  polls = new PollClock(() => nowMillis)
  watch = Effect.runFork(Effect.scoped(Effect.andThen(polls.watch, Effect.never)))
  await listen(1)
})
afterEach(async () => {
  await Effect.runPromise(Fiber.interrupt(watch))
  for (const socket of sockets) socket.destroy()
  await new Promise((settle) => server.close(settle))
})

const listen = async (listeningSockets: number): Promise<void> => {
  const gate = new Gate({
    nowMillis: () => nowMillis,
    clientOf: () => "client",
    isExempt: () => true,
    identify: (_sender, done) => done(undefined),
    routeOf: ({ url }) => url ?? "",
    headersFor: () => ({})
  })
  const host = "127.0.0.1"
  server = boundedServer(gate, polls, { host, backlog: Limits.connectionBacklog, sockets: listeningSockets })
  server.on("request", (_request: IncomingMessage, response: ServerResponse) => void response.end("served"))
  server.listen({ host, port: 0, reusePort })
  await once(server, "listening")
  const address = server.address()
  port = typeof address === "object" && address !== null ? address.port : 0
}

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
  // What is reset shows as a missing answer.
  socket.on("error", () => socket.destroy())
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

/** A connection that was accepted elsewhere. */
const acceptedFrom = (remoteAddress: string): Socket => {
  const connection = Object.defineProperty(new Socket(), "remoteAddress", { value: remoteAddress })
  sockets.push(connection)
  server.emit("connection", connection)
  return connection
}

it.each([
  ["is no request", "GET /c HTTP/1.1\r\nno header\r\n\r\n"],
  ["has a broken body", "POST /c HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nno length\r\n"]
])("answers what came before something that %s, and then ends the connection", async (_, broken) => {
  server.removeAllListeners("request")
  const due: Array<ServerResponse> = []
  server.on("request", (_request: IncomingMessage, response: ServerResponse) => void due.push(response))
  const socket = open()
  const answers = received(socket)
  const broke = once(server, "broke")
  const emit = server.emit.bind(server) as (name: string, ...given: ReadonlyArray<unknown>) => boolean
  server.emit = (name: string, ...given: ReadonlyArray<unknown>) => {
    const isHandled = emit(name, ...given)
    if (name === "clientError") emit("broke")
    return isHandled
  }
  socket.write(`GET /a HTTP/1.1\r\nhost: a\r\n\r\nGET /b HTTP/1.1\r\nhost: a\r\n\r\n${broken}`)
  await broke
  for (let times = 0; times < 20; times++) {
    const again = once(server, "broke")
    socket.write("more of it")
    await again
  }
  // Node's own, and one for the end.
  expect(due[0]!.listenerCount("close")).toBeLessThan(10)
  due[0]!.end("first")
  while (due.length < 2 && !socket.destroyed) await new Promise((turn) => setImmediate(turn))
  due[1]?.end("second")
  expect((await answers).match(/HTTP\/1\.1 \d+|first|second/g)).toEqual([
    "HTTP/1.1 200",
    "first",
    "HTTP/1.1 200",
    "second"
  ])
})

it("says of a broken request alone that it is one", async () => {
  const socket = open()
  const answers = received(socket)
  socket.write("GET / HTTP/1.1\r\nno header\r\n\r\n")
  expect(await answers).toMatch(/^HTTP\/1\.1 400 /)
})

it("counts connections of one IPv6 network, by its first 64 bits, as those of one address", async () => {
  const network = Array.from({ length: Limits.connectionsPerAddressMax }, (_, at) =>
    acceptedFrom(`2001:db8:1:2:${at.toString(16)}::1`)
  )
  expect(network.filter(({ destroyed }) => destroyed)).toEqual([])
  expect(acceptedFrom("2001:db8:1:2::9").destroyed).toBe(true)
  expect(acceptedFrom("2001:db8:1:3::9").destroyed).toBe(false)
  network[0]!.destroy()
  await once(network[0]!, "close")
  expect(acceptedFrom("2001:db8:1:2::9").destroyed).toBe(false)
})

describe("when it stops", () => {
  const requestText = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

  it.each([1, 8, 64])("answers connections that wait in the kernel, at %i sockets", async (listeningSockets) => {
    server.close()
    await listen(listeningSockets)
    const answers = Array.from({ length: 128 }, () => {
      const socket = open()
      socket.write(requestText)
      return received(socket)
    })
    // They are connected now, and the loop has not looked at its sockets since.
    await new Promise<void>((resume) => process.nextTick(resume))
    server.close()
    const unanswered = (await Promise.all(answers)).filter((text) => !text.endsWith("served"))
    expect(unanswered).toEqual([])
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

  it("answers the first request of a connection that it has just accepted", async () => {
    const socket = open()
    const answer = received(socket)
    socket.write(requestText)
    await once(server, "connection")
    server.close()
    expect(await answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*served$/)
  })

  it("gives a new connection a moment for its first request, and ends a silent one at once", async () => {
    const silent = open()
    await once(server, "connection")
    nowMillis += Limits.lastArrivalsMillis
    const young = open()
    await once(server, "connection")
    server.close()
    expect(await received(silent)).toBe("")
    const answer = received(young)
    young.write(requestText)
    expect(await answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*served$/)
  })

  it("ends a new connection that stays silent", async () => {
    const young = open()
    await once(server, "connection")
    server.close()
    expect(await received(young)).toBe("")
  })
})
