/** Where callers reach a node, while the node that serves changes. */
import { connect, type Socket } from "node:net"
import { Agent, createServer, get, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { expect } from "vitest"
import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { ClusterFront } from "@muniment/server/cluster/ClusterFront"
import { freePort } from "../../../support/TestServer.ts"
import { it } from "../../../support/it.ts"

const secret = Redacted.make("a secret of these tests, known to all of their nodes")
const host = "127.0.0.1"

const open = Effect.gen(function* () {
  const address = { host, port: yield* Effect.promise(freePort) }
  const links = { host, port: yield* Effect.promise(freePort) }
  const front = yield* ClusterFront.open({ secret, address, links })
  const ask = Effect.callback<string>((answered) => {
    get({ ...address, agent: false }, (response) => {
      void text(response).then((body) => answered(Effect.succeed(`${response.statusCode} ${body.slice(0, 20)}`)))
    })
  })
  return { front, address, links, ask }
})

const service = (name: string): Server => createServer((_, response) => void response.end(name))
const refusal = expect.stringMatching(/^503/)

/** A connection of this machine has come as far as it can by then. */
const moment = Effect.promise(() => new Promise((resume) => setTimeout(resume, 300)))

/** Of this machine's sockets, whatever the test's clock says. */
const until = (isSo: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => (isSo() ? Effect.void : Effect.andThen(turn, until(isSo))))
const turn = Effect.promise(() => new Promise((resume) => setImmediate(resume)))

it.effect("connections wait while the service moves to another node, whichever node they reach", function* () {
  const [owner, next, third] = yield* Effect.all([open, open, open])
  owner.front.serveHere(service("the owner"))
  for (const { front } of [next, third]) front.follow(owner.links)
  const all = Effect.all([owner.ask, next.ask, third.ask], { concurrency: 3 })
  expect(yield* all).toEqual(Array(3).fill("200 the owner"))

  owner.front.leave()
  const before = yield* Effect.forkChild(all)
  yield* moment
  const look = Effect.sync(() => {
    for (const { front } of [owner, third]) front.follow(next.links)
    next.front.follow(undefined)
  })
  yield* look
  const meanwhile = yield* Effect.forkChild(all)
  yield* moment
  expect([before, meanwhile].map((asked) => asked.pollUnsafe())).toEqual([undefined, undefined])
  next.front.serveHere(service("the next one"))
  // As nodes do: a link that has waited too long is offered again.
  yield* Effect.forkChild(Effect.forever(Effect.andThen(moment, look)))
  for (const asked of [before, meanwhile]) expect(yield* Fiber.join(asked)).toEqual(Array(3).fill("200 the next one"))
})

it.effect("a wait in vain ends, and until a node serves again nobody waits", function* () {
  const { ask, front } = yield* open
  expect(yield* ask).toEqual(refusal)
  for (const name of ["the first", "the second"]) {
    front.serveHere(service(name))
    expect(yield* ask).toBe(`200 ${name}`)
    front.leave()
    const asked = yield* Effect.forkChild(ask)
    yield* moment
    expect(asked.pollUnsafe()).toBeUndefined()
    yield* TestClock.adjust("2 seconds")
    expect(yield* Fiber.join(asked)).toEqual(refusal)
    expect(yield* ask).toEqual(refusal)
  }
})

it.effect(
  "a node that leaves ends connections with their answers, and refuses none before it has said so",
  function* () {
    const [owner, leaver] = yield* Effect.all([open, open])
    const held: Array<ServerResponse> = []
    const hold = createServer((request, response) => {
      if (request.url === "/held") held.push(response)
      else response.end(request.url)
    })
    owner.front.serveHere(hold)
    leaver.front.follow(owner.links)
    const asked = (path: string, agent: Agent | false = false) =>
      Effect.callback<IncomingMessage, Error>((answered) => {
        get({ ...leaver.address, path, agent }, (response) => {
          response.resume().once("end", () => answered(Effect.succeed(response)))
        }).once("error", (cause) => answered(Effect.fail(cause)))
      })
    const [idle, busy] = [0, 1].map(() => new Agent({ keepAlive: true, maxSockets: 1 })) as [Agent, Agent]
    let isOpen = true
    idle.once("free", (socket: Socket) => socket.once("close", () => void (isOpen = false)))
    yield* asked("/idle", idle)
    const waiting = yield* Effect.forkChild(asked("/held", busy))
    yield* until(() => held.length === 1)

    const departed = yield* Effect.forkChild(leaver.front.depart, { startImmediately: true })
    yield* until(() => !isOpen)
    expect((yield* asked("/health/ready")).statusCode).toBe(503)
    const late = yield* asked("/late")
    expect([late.statusCode, late.headers.connection]).toEqual([200, "close"])
    held[0]!.end("at last")
    const answer = yield* Fiber.join(waiting)
    expect([answer.statusCode, answer.headers.connection]).toEqual([200, "close"])
    expect(departed.pollUnsafe()).toBeUndefined()

    yield* TestClock.adjust("2 seconds")
    yield* Fiber.join(departed)
    expect(yield* Effect.flip(asked("/refused"))).toMatchObject({ code: "ECONNREFUSED" })
    yield* leaver.front.answered
  }
)

/** Callers whose connections wait in the kernel when this returns. */
const calling = ({ port }: { readonly port: number }, count: number) =>
  Array.from({ length: count }, async () => {
    const socket = connect(port, host)
    socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    return (await text(socket)).split("\r\n\r\n")[1]
  })

it.effect.runIf(process.platform === "linux")("several connections are taken in a turn of the loop", function* () {
  const { address, front } = yield* open
  const server = service("served")
  let inTurn = 0
  let most = 0
  server.on("connection", () => {
    if (inTurn === 0) setImmediate(() => (inTurn = 0))
    inTurn += 1
    most = Math.max(most, inTurn)
  })
  front.serveHere(server)
  expect(yield* Effect.promise(() => Promise.all(calling(address, 64)))).toEqual(Array(64).fill("served"))
  expect(most).toBeGreaterThan(1)
})

it.effect("a node that leaves takes the connections that wait for it before it refuses others", function* () {
  const [owner, leaver] = yield* Effect.all([open, open])
  owner.front.serveHere(service("the owner"))
  leaver.front.follow(owner.links)
  expect(yield* leaver.ask).toBe("200 the owner")
  const departed = yield* Effect.forkChild(leaver.front.depart, { startImmediately: true })
  const last = calling(leaver.address, 16)
  yield* TestClock.adjust("2 seconds")
  expect(yield* Effect.promise(() => Promise.all(last))).toEqual(Array(16).fill("the owner"))
  yield* Fiber.join(departed)
  yield* Effect.promise(() => expect(calling(leaver.address, 1)[0]).rejects.toMatchObject({ code: "ECONNREFUSED" }))
})

it.effect("a node that leaves waits for the answers of its callers", function* () {
  const [owner, leaver] = yield* Effect.all([open, open])
  const held: Array<ServerResponse> = []
  owner.front.serveHere(createServer((_, response) => void held.push(response)))
  leaver.front.follow(owner.links)
  const waiting = yield* Effect.forkChild(leaver.ask)
  yield* until(() => held.length === 1)
  yield* Effect.forkChild(leaver.front.depart)
  const answered = yield* Effect.forkChild(leaver.front.answered, { startImmediately: true })
  yield* TestClock.adjust("4 seconds")
  expect(answered.pollUnsafe()).toBeUndefined()
  held[0]!.end("at last")
  expect(yield* Fiber.join(waiting)).toBe("200 at last")
  yield* TestClock.adjust("20 millis")
  yield* Fiber.join(answered)
})
