/**
 * Front of a node: connections of callers go to the service of this node while it owns `control.db`, else to the node
 * that does, byte for byte. While none is known, or it does not answer, they wait for a moment: a planned move is over
 * by then. After that, or if the node is lost before its answer begins, this node answers 503 with `Retry-After`.
 *
 * A node that leaves (`depart`) answers `/health/ready` with 503. It ends idle connections at once, and the others with
 * their answers, which say `Connection: close`. It still takes new ones until the balancer has had time to ask for its
 * readiness.
 *
 * Invariant: a connection that was refused by another node, or has waited, has carried nothing there.
 */
import { createServer as createHttpServer, type Server as HttpServer } from "node:http"
import { createServer, type ListenOptions, type Server, type Socket } from "node:net"
import type { ConnectionOptions } from "node:tls"
import { Effect, Latch, type Redacted, type Scope } from "effect"
import { nodeConnection } from "@muniment/cluster/nodes/NodeSockets"
import { forward, type Forwarded, requestLinkServer } from "@muniment/cluster/nodes/RequestLinks"
import { Limits } from "@muniment/domain/Limits"
import { Rounds } from "@muniment/worker/Rounds"
import { acceptMore, reusePort, afterArrivals, afterQuiet } from "../http/Acceptors.ts"
import { AddressUnusable, type Address } from "../http/ListenAddress.ts"
import { answerUnread } from "../http/UnreadRequests.ts"

const retrySeconds = 1
/** For the next node that serves, from the first connection that waits for it. */
const waitMillis = 2_000
/** Connections that wait. */
const waitingMax = 4_096
/** A balancer has asked whether the node is ready by then. */
const noticeMillis = 2_000
/** For the answers that callers wait for, and for the next node that serves. */
const departMillis = 5_000
const departLookMillis = 20

/** Contract: Overload. */
const nobodyServes = JSON.stringify({
  success: false,
  error: `no node of the cluster serves at this moment; try again in ${retrySeconds} s`,
  code: "overloaded",
  details: [{ path: "cluster", message: "another node is taking over; nothing was done" }]
})

/** Contract: Agents. */
const lostText = JSON.stringify({
  success: false,
  error:
    "the node that served this request was lost; whether it was carried out is unknown: repeat a write with the same Idempotency-Key",
  code: "namespace_unavailable",
  details: [{ path: "cluster", message: "another node is taking over" }]
})

const lastAnswer = (body: string): string =>
  [
    "HTTP/1.1 503 Service Unavailable",
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `retry-after: ${retrySeconds}`,
    "connection: close",
    "",
    body
  ].join("\r\n")

const nodeLost = lastAnswer(lostText)

/** Answer to `/health/ready`. */
const nodeLeaves = lastAnswer(JSON.stringify({ status: "leaving" }))
const readinessStart = "GET /health/ready "

/** A node that waits for its turn is alive. */
const live = JSON.stringify({ status: "live" })

interface FrontOptions {
  readonly secret: Redacted.Redacted
  /** Address for callers. */
  readonly address: Address
  /** Address for connections from other nodes. */
  readonly links: Address
}

/** A connection that waits. */
interface Waiting {
  readonly take: () => void
  readonly refuse: () => void
}

export class ClusterFront {
  #serving: Address | undefined
  /** Connections that the serving node has, or is asked to take. */
  readonly #forwarded = new Map<Socket, Forwarded>()
  /** Connections that it is asked to take. */
  readonly #offered = new Set<Socket>()
  readonly #connection: ConnectionOptions
  readonly #absent = absentServer()
  #here: HttpServer | undefined
  #waiting: Array<Waiting> = []
  /** A node has served, or another one has been named, since the last waits were in vain. */
  #mayWait = false
  /** Open while connections wait. */
  readonly #gap = Latch.makeUnsafe(false)
  /** Open: the node that serves is not known, or took nothing. */
  readonly #doubt = Latch.makeUnsafe(true)
  readonly #callers = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#take(socket))
  #isDeparting = false

  private constructor(secret: Redacted.Redacted) {
    this.#connection = nodeConnection(secret)
  }

  /** Listens until the scope closes. */
  static readonly open = Effect.fnUntraced(function* ({
    address,
    links,
    secret
  }: FrontOptions): Effect.fn.Return<ClusterFront, AddressUnusable, Scope.Scope> {
    const front = new ClusterFront(secret)
    yield* Effect.addFinalizer(() => Effect.sync(() => front.#refuseWaiting()))
    yield* Rounds.whenWoken({
      name: "callers without a node",
      until: Effect.andThen(front.#gap.await, Effect.sleep(waitMillis)),
      work: Effect.sync(() => (front.#gap.isOpen() ? front.#endWaits() : undefined))
    })
    const linkServer = requestLinkServer(secret, (...link) => front.#takeLink(...link))
    yield* listening(linkServer, links)
    const backlog = Limits.connectionBacklog
    acceptMore(front.#callers, { host: address.host, backlog })
    yield* listening(front.#callers, address, { backlog, reusePort })
    return front
  })

  /** From now on requests are served here, until `leave`. */
  serveHere(server: HttpServer): void {
    this.#here = server
    this.#found()
  }

  leave(): void {
    this.#here = undefined
    this.#doubt.openUnsafe()
  }

  /** This node ends soon, and serves no more; waits until new connections may be refused, and refuses them. */
  get depart(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#isDeparting = true
      afterArrivals(() => this.#forwarded.forEach(({ finish }) => finish()))
      return Effect.andThen(Effect.sleep(noticeMillis), this.#stopListening)
    })
  }

  /** After what waits in the kernel, which resets it when a listening socket closes. */
  get #stopListening(): Effect.Effect<void> {
    return Effect.clockWith((clock) =>
      Effect.callback<void>((stopped) =>
        afterQuiet(this.#callers, "connection", { nowMillis: () => clock.currentTimeMillisUnsafe() }, () => {
          this.#callers.close()
          stopped(Effect.void)
        })
      )
    )
  }

  /** After `depart`: waits until callers have their answers, or have waited too long. */
  get answered(): Effect.Effect<void> {
    return Effect.asVoid(Effect.timeoutOption(this.#untilIdle(), departMillis))
  }

  #untilIdle(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const waiting = this.#waiting.length + this.#offered.size
      const isIdle = waiting === 0 && [...this.#forwarded.values()].every((one) => one.isIdle())
      return isIdle ? Effect.void : Effect.delay(this.#untilIdle(), departLookMillis)
    })
  }

  /** Waits until who serves is in doubt; afterwards it counts as known. */
  get inDoubt(): Effect.Effect<void> {
    return Effect.andThen(
      this.#doubt.await,
      Effect.sync(() => this.#doubt.closeUnsafe())
    )
  }

  /**
   * The node that serves, by where it takes connections; undefined: none is known, or this one. Connections that
   * another node has end: it may stand still, and its callers would wait for it. Those that wait are offered to it,
   * again each time.
   */
  follow(node: Address | undefined): void {
    const before = this.#serving
    const isKnown = before?.host === node?.host && before?.port === node?.port
    this.#serving = node
    if (!isKnown) {
      for (const { giveUp } of this.#forwarded.values()) giveUp()
      this.#mayWait ||= node !== undefined
    }
    if (node !== undefined) this.#takeWaiting()
  }

  #take(socket: Socket): void {
    // Until the connection is handed on, its failure concerns no request.
    socket.on("error", () => socket.destroy())
    if (this.#isDeparting) this.#takeLast(socket)
    else this.#hand(socket)
  }

  /** Takes connections until the balancer may have noticed that this node leaves. */
  #takeLast(socket: Socket): void {
    socket.once("readable", () => {
      const first = socket.read() as Buffer | null
      if (first === null) return void socket.destroy()
      if (first.toString("latin1").startsWith(readinessStart)) return void socket.end(nodeLeaves)
      socket.unshift(first)
      return this.#hand(socket)
    })
  }

  #hand(socket: Socket): void {
    if (socket.destroyed) return
    const serving = this.#serving
    if (this.#here !== undefined) return this.#answerHere(socket)
    if (serving === undefined) return this.#waitOrRefuse(socket)
    const forget = () => {
      this.#forwarded.delete(socket)
      this.#offered.delete(socket)
    }
    socket.once("close", forget)
    this.#offered.add(socket)
    const forwarded = forward(socket, {
      to: serving,
      connection: this.#connection,
      opened: () => {
        this.#offered.delete(socket)
        this.#found()
      },
      refused: () => {
        socket.off("close", forget)
        forget()
        this.#waitOrRefuse(socket)
      },
      lost: nodeLost
    })
    this.#forwarded.set(socket, forwarded)
    if (this.#isDeparting) forwarded.finish()
  }

  #waitOrRefuse(socket: Socket): void {
    this.#doubt.openUnsafe()
    const refuse = () => this.#answerHere(socket)
    if (!this.#wait({ take: () => this.#hand(socket), refuse })) refuse()
  }

  /** Takes a connection from another node; returns whether this node serves it, or may do so soon. */
  #takeLink(socket: Socket, caller: string, begin: () => void): boolean {
    const here = this.#here
    if (socket.destroyed) return true
    const refuse = () => socket.destroy()
    if (here === undefined) return this.#wait({ take: () => this.#takeLink(socket, caller, begin) || refuse(), refuse })
    // Connections are counted by the caller, not by the node in between.
    Object.defineProperty(socket, "remoteAddress", { value: caller })
    begin()
    return here.emit("connection", socket)
  }

  /** Whether it waits until a node serves, or until that takes too long. */
  #wait(one: Waiting): boolean {
    if (!this.#mayWait || this.#waiting.length >= waitingMax) return false
    this.#waiting.push(one)
    this.#gap.openUnsafe()
    return true
  }

  /** A node serves. */
  #found(): void {
    this.#mayWait = true
    this.#gap.closeUnsafe()
    this.#takeWaiting()
  }

  /** Ends all waits: a node serves again. */
  #endWaits(): void {
    this.#mayWait = false
    this.#gap.closeUnsafe()
    for (const { refuse } of this.#waiting.splice(0)) refuse()
  }

  #takeWaiting(): void {
    for (const { take } of this.#waiting.splice(0)) take()
  }

  /** At its end. What another node has taken goes on until the process ends. */
  #refuseWaiting(): void {
    this.#endWaits()
    for (const socket of this.#offered) this.#forwarded.get(socket)?.giveUp()
  }

  #answerHere(socket: Socket): void {
    const server = this.#here ?? this.#absent
    server.emit("connection", socket)
  }
}

const absentServer = (): HttpServer => {
  const server = createHttpServer(
    {
      maxHeaderSize: Limits.headerBytesMax,
      headersTimeout: Limits.headerTimeoutMillis,
      requestTimeout: Limits.requestTimeoutMillis
    },
    (request, response) => {
      const isLive = request.url === "/health/live" && request.method === "GET"
      response.writeHead(isLive ? 200 : 503, {
        "content-type": "application/json",
        // The next connection may find a node that serves.
        connection: "close",
        ...(!isLive && { "retry-after": String(retrySeconds) })
      })
      response.end(isLive ? live : nobodyServes)
      request.resume()
    }
  )
  answerUnread(server)
  return server
}

const listening = (
  server: Server,
  { host, port }: Address,
  options: ListenOptions = {}
): Effect.Effect<void, AddressUnusable, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.callback<void, AddressUnusable>((resume) => {
        server.once("error", (cause) => resume(Effect.fail(new AddressUnusable({ host, port, cause }))))
        server.listen({ ...options, host, port }, () => resume(Effect.void))
      }),
      // Connections end with those who serve them.
      () => Effect.sync(() => server.close())
    )
  )
