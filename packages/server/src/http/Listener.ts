/**
 * The HTTP listener with its bounds: `Limits.headerBytesMax`, `Limits.headerTimeoutMillis`, `Limits.requestTimeoutMillis`
 * and `Limits.connectionsPerAddressMax`. With Node's defaults 1,500 of 1,500 silent sockets stayed open.
 *
 * The time of a request is the time in which the loop could read it. After a turn that took longer than the bound, Node
 * would end requests that wait in the kernel with an empty 408: a machine without processor time did so at each start.
 *
 * On shutdown every request that has arrived is answered, on a connection that then closes: first all connections are
 * accepted that wait for it (`Acceptors.ts`), then all requests are read; connections without one end. Node alone would
 * end idle connections unread, wait for silent ones, and keep serving kept-alive ones, until the time is up.
 */
import { type IncomingMessage, Server, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { layer as httpServerLayer } from "@effect/platform-node/NodeHttpServer"
import { Clock, Deferred, Effect, Layer, Option } from "effect"
import { HttpServer } from "effect/http"
import { Limits } from "@muniment/domain/Limits"
import { RoundBook } from "@muniment/worker/RoundBook"
import { Admission } from "../admission/Admission.ts"
import type { Gate } from "../admission/Gate.ts"
import { clientOf, trustedProxies } from "../identity/ClientAddress.ts"
import { PollClock } from "../admission/Turnstile.ts"
import { type AcceptOptions, acceptMore, reusePort, afterArrivals, afterQuiet } from "./Acceptors.ts"
import { requestContext } from "../apiGroup.ts"
import { answerUnread, refuseHosts } from "./UnreadRequests.ts"
import type { Address } from "./ListenAddress.ts"
import { PlainRequests, refusalText } from "../admission/Refusals.ts"
import { releaseBytes } from "../admission/RequestBody.ts"

/** How often Node looks for connections that are too slow. */
const connectionCheckMillis = 1_000

/** Time of the shutdown that is kept for closing files after the last answer. */
const closingMillis = 5_000

/** `adopt` gets the server, which also takes connections that were accepted elsewhere (its event `connection`). */
export const listener = (options: Address, adopt: (server: Server) => void = () => undefined) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const gate = yield* Admission
      const clock = yield* Clock.Clock
      const polls = new PollClock(() => Number(clock.monotonicTimeNanosUnsafe()) / 1e6)
      yield* polls.watch
      const server = boundedServer(gate, polls, { host: options.host, backlog: Limits.connectionBacklog })
      const { stopping } = yield* RoundBook.current
      server.once("stopping", () => Deferred.doneUnsafe(stopping, Effect.void))
      adopt(server)
      return smallRequests.pipe(
        Layer.provideMerge(
          httpServerLayer(() => server, {
            host: options.host,
            port: options.port,
            backlog: Limits.connectionBacklog,
            reusePort,
            gracefulShutdownTimeout: Limits.shutdownDrainMillis - closingMillis
          })
        )
      )
    })
  )

/** Requests begin with the small context of `apiGroup.ts`. */
const smallRequests = Layer.effect(
  HttpServer.HttpServer,
  Effect.map(HttpServer.HttpServer, (server) =>
    HttpServer.HttpServer.of({
      ...server,
      serve: ((...given: Parameters<typeof server.serve>) =>
        Effect.updateContext(server.serve(...given), requestContext)) as typeof server.serve
    })
  )
)

/**
 * Hands a request on when the gate lets it in. `arrival` comes before, for each. Of one connection, one request at a
 * time: a response closes only after those before it, so that a pipelined request which is worked on already would hold
 * its place for as long as those wait, and two connections could hold what the other waits for. Those that wait
 * take memory before admission sees them: a connection with more than `Limits.pipelinedRequestsMax` of them is ended.
 */
class GatedServer extends Server {
  readonly #gate: Gate
  /** Responses in the order of their requests; those that have closed go with the next request. */
  readonly #due = new WeakMap<Socket, ReadonlyArray<ServerResponse>>()
  readonly #waiting = new WeakMap<Socket, number>()
  readonly #broken = new WeakSet<Socket>()
  #held: Array<() => void> | undefined

  constructor(gate: Gate, polls: PollClock) {
    super({
      maxHeaderSize: Limits.headerBytesMax,
      // Without one it is refused here, as with several.
      requireHostHeader: false,
      headersTimeout: Limits.headerTimeoutMillis,
      requestTimeout: Limits.requestTimeoutMillis,
      keepAliveTimeout: Limits.connectionIdleMillis,
      keepAliveTimeoutBuffer: Limits.connectionIdleSpareMillis,
      connectionsCheckingInterval: connectionCheckMillis,
      // Nothing here speaks another protocol; an upgrade would go around the gate.
      shouldUpgradeCallback: () => false
    })
    this.#gate = gate
    answerUnread(this)
    // Node reads both at each look at its connections.
    allowUnpolled(this, "headersTimeout", Limits.headerTimeoutMillis, polls)
    allowUnpolled(this, "requestTimeout", Limits.requestTimeoutMillis, polls)
  }

  override emit(name: string, ...given: ReadonlyArray<unknown>): boolean {
    if (name === "clientError" && this.#breaksAfterAnswers(given[1] as Socket)) return true
    // Requests that wait for leave to send their body come by the second event; the gate gives leave.
    if (name !== "request" && name !== "checkContinue") return super.emit(name, ...given)
    const [request, response] = given as [IncomingMessage, ServerResponse<IncomingMessage>]
    super.emit("arrival", request, response)
    if (!hasOneHost(request)) {
      refuseHosts(response)
      return true
    }
    const due = this.#dueOn(request.socket)
    const before = due.at(-1)
    this.#due.set(request.socket, [...due, response])
    const enter = () => {
      if (this.#held === undefined) this.#gate.enter(request, response, () => this.#route(request, response))
      else this.#held.push(enter)
    }
    if (before === undefined) enter()
    else this.#enterAfter(before, request.socket, enter)
    return true
  }

  /** Requests are read, and wait. */
  hold(): void {
    this.#held ??= []
  }

  /** Lets them wait no longer. */
  proceed(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const enter of held) enter()
  }

  /** Node would end them at `close`, whatever has arrived on them; `drainsOnClose` reads it first. */
  override closeIdleConnections(): void {}

  /**
   * Ends a connection that cannot be read any further. Node would say so at once, in place of the answers that are due
   * before; so they come, and then the connection ends.
   */
  #breaksAfterAnswers(socket: Socket): boolean {
    const last = this.#dueOn(socket).findLast(({ req }) => req.complete)
    if (last === undefined || !socket.writable) return false
    // Node says it again of all that still comes.
    if (!this.#broken.has(socket)) last.once("close", () => socket.destroySoon())
    this.#broken.add(socket)
    return true
  }

  #dueOn(socket: Socket): ReadonlyArray<ServerResponse> {
    return (this.#due.get(socket) ?? []).filter(({ closed }) => !closed)
  }

  #enterAfter(before: ServerResponse, socket: Socket, enter: () => void): void {
    const waiting = (this.#waiting.get(socket) ?? 0) + 1
    if (waiting > Limits.pipelinedRequestsMax) return void socket.destroy()
    this.#waiting.set(socket, waiting)
    before.once("close", () => {
      this.#waiting.set(socket, (this.#waiting.get(socket) ?? 1) - 1)
      if (socket.writable) enter()
    })
  }

  /** The listener takes connections before the routes are there: a request of that moment waits for them. */
  #route(request: IncomingMessage, response: ServerResponse<IncomingMessage>): void {
    if (super.emit("request", request, response)) return
    const attached = (name: string | symbol): void => {
      if (name !== "request") return
      this.off("newListener", attached)
      // The listener is there once this event is over.
      queueMicrotask(() => this.#route(request, response))
    }
    this.on("newListener", attached)
  }
}

/** Node takes the first, a proxy before it perhaps the last (RFC 9112, 3.2: 400). */
const hasOneHost = ({ httpVersion, rawHeaders }: IncomingMessage): boolean => {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.length === 4 && name.toLowerCase() === "host")
  return hosts.length === 1 || (hosts.length === 0 && httpVersion === "1.0")
}

const allowUnpolled = (
  server: Server,
  name: "headersTimeout" | "requestTimeout",
  millis: number,
  polls: PollClock
): void => {
  Object.defineProperty(server, name, { get: () => millis + polls.unpolledMillis })
}

/** Connections are counted before anything is read of what they carry. */
const noProxies = trustedProxies([])

/** A server that does not listen yet. `accept`: at an address with more than its own socket. */
export const boundedServer = (gate: Gate, polls: PollClock, accept?: AcceptOptions): Server => {
  const server = new GatedServer(gate, polls)
  if (accept !== undefined) acceptMore(server, accept)
  const open = new Map<string, number>()
  server.on("connection", (socket) => {
    gate.connected()
    const address = clientOf({ remoteAddress: Option.fromNullishOr(socket.remoteAddress), headers: {} }, noProxies)
    const count = (open.get(address) ?? 0) + 1
    if (count > Limits.connectionsPerAddressMax) {
      socket.destroy()
      return
    }
    open.set(address, count)
    socket.once("close", () => {
      const left = (open.get(address) ?? 1) - 1
      if (left === 0) open.delete(address)
      else open.set(address, left)
    })
  })
  drainsOnClose(server, gate, polls)
  return server
}

/**
 * Makes `close` accept what waits in the kernel first, which resets it when a listening socket closes. Nothing is begun or
 * refused meanwhile: turns of the loop stay short, and who has been answered does not come again at once. Then connections
 * end, those without a request once all that arrived is read, the others with their answer.
 */
const drainsOnClose = (server: GatedServer, gate: Gate, polls: PollClock): void => {
  const requests = new PlainRequests()
  const answersDue = new Map<Socket, Set<ServerResponse>>()
  /** Connections whose first request has not come -> when they were accepted. */
  const unused = new Map<Socket, number>()
  let isStopping = false
  let isClosing = false
  server.on("connection", (socket) => {
    const due = new Set<ServerResponse>()
    answersDue.set(socket, due)
    unused.set(socket, polls.nowMillis())
    refuseEarly(socket, { gate, requests, isFree: () => !isStopping && due.size === 0 })
    socket.once("close", () => {
      answersDue.delete(socket)
      unused.delete(socket)
    })
  })
  const expectAnswer = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    const due = answersDue.get(socket)
    due?.add(response)
    unused.delete(socket)
    if (isClosing) socket.setTimeout(0)
    response.shouldKeepAlive &&= !isClosing
    response.once("close", () => {
      due?.delete(response)
      // It may have said that the connection stays, before the server closed.
      if (isClosing) afterArrivals(() => due?.size === 0 && socket.end())
    })
  }
  server.on("arrival", expectAnswer)
  const endSilent = (): void => {
    const nowMillis = polls.nowMillis()
    for (const [socket, due] of answersDue) {
      const leftMillis = (unused.get(socket) ?? Number.NEGATIVE_INFINITY) + Limits.lastArrivalsMillis - nowMillis
      // Its client may be about to send.
      if (leftMillis > 0) socket.setTimeout(leftMillis)
      // Clients of a stream come back with the id of their last event.
      else if ([...due].every((response) => gate.isStream(response))) socket.destroy()
    }
  }
  /** Node does not know connections that were accepted elsewhere, so a close waits for them here. */
  const closed = (callback: (error?: Error) => void) => (error?: Error) => {
    const left = [...answersDue.keys()]
    let open = left.length
    if (open === 0) return callback(error)
    for (const socket of left) socket.once("close", () => --open === 0 && callback(error))
    return undefined
  }
  const close = server.close.bind(server)
  server.close = (callback = () => undefined) => {
    isStopping = true
    server.emit("stopping")
    server.hold()
    afterQuiet(server, "connection", polls, () => {
      isClosing = true
      close(closed(callback))
      for (const due of answersDue.values()) for (const response of due) response.shouldKeepAlive = false
      server.proceed()
      afterQuiet(server, "arrival", polls, endSilent)
    })
    return server
  }
}

/** Fewer are left to the collector. */
const releasedBytesMin = 16_384

interface EarlyRefusalOptions {
  readonly gate: Gate
  readonly requests: PlainRequests
  /** No answer is due on the connection, and more requests may come. */
  readonly isFree: () => boolean
}

/**
 * Refuses a request on a connection that is kept alive before Node's parser has made objects of it: half of what a
 * refusal costs. Reads what arrives on the connection in front of the parser.
 *
 * Invariants:
 * - What is not refused reaches the parser unchanged, and in order.
 * - Nothing is refused here while an answer is due or unsent on the connection: answers keep the order of requests.
 * - Once something arrives that is not understood (`Refusals.ts`), the connection is Node's until its end.
 * - The first request of a connection is Node's: until it has read one, it takes the connection for a silent one.
 *
 * Of a connection that Node's server has taken over.
 */
const refuseEarly = (socket: Socket, { gate, isFree, requests }: EarlyRefusalOptions): void => {
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
