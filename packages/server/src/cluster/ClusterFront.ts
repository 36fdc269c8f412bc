/**
 * Where callers reach a node: their connections go to the service of this node while it owns `control.db`, else to the
 * node that does, byte for byte. While none is known, or it does not answer, or it is lost before its answer begins, this
 * node answers 503 with `Retry-After`.
 *
 * Invariant: a connection that was refused by another node has carried nothing there.
 */
import { createServer as createHttpServer, type Server as HttpServer } from "node:http"
import { createServer, type Server, type Socket } from "node:net"
import type { ConnectionOptions } from "node:tls"
import { Effect, Latch, type Redacted, type Scope } from "effect"
import { nodeConnection } from "@muniment/cluster/nodes/NodeSockets"
import { forward, requestLinkServer } from "@muniment/cluster/nodes/RequestLinks"
import { Limits } from "@muniment/domain/Limits"
import { AddressUnusable, type Address } from "../http/ListenAddress.ts"

const retrySeconds = 1

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

const nodeLost = [
  "HTTP/1.1 503 Service Unavailable",
  "content-type: application/json",
  `content-length: ${Buffer.byteLength(lostText)}`,
  `retry-after: ${retrySeconds}`,
  "connection: close",
  "",
  lostText
].join("\r\n")

/** A node that waits for its turn is alive. */
const live = JSON.stringify({ status: "live" })

export interface FrontOptions {
  readonly secret: Redacted.Redacted
  /** Where callers come. */
  readonly address: Address
  /** Where connections from other nodes come. */
  readonly links: Address
}

export class ClusterFront {
  #serving: Address | undefined
  /** Connections that the serving node has. */
  readonly #forwarded = new Map<Socket, () => void>()
  readonly #connection: ConnectionOptions
  readonly #absent = absentServer()
  #here: HttpServer | undefined
  /** Open: the node that serves is not known, or took nothing. */
  readonly #doubt = Latch.makeUnsafe(true)

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
    const linkServer = requestLinkServer(secret, (socket, caller, begin) => {
      const here = front.#here
      if (here === undefined) return false
      // Whom it counts by is the caller, not the node in between.
      Object.defineProperty(socket, "remoteAddress", { value: caller })
      begin()
      return here.emit("connection", socket)
    })
    yield* listening(linkServer, links)
    const callers = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => front.#take(socket))
    yield* listening(callers, address, Limits.connectionBacklog)
    return front
  })

  /** From now on requests are served here, until `leave`. */
  serveHere(server: HttpServer): void {
    this.#here = server
  }

  leave(): void {
    this.#here = undefined
    this.#doubt.openUnsafe()
  }

  /** Waits until who serves is in doubt; afterwards it counts as known. */
  get inDoubt(): Effect.Effect<void> {
    return Effect.andThen(
      this.#doubt.await,
      Effect.sync(() => this.#doubt.closeUnsafe())
    )
  }

  /**
   * The node that serves, by where it takes connections; undefined: none is known, or this one. Connections that another
   * node has end: it may stand still, and its callers would wait for it.
   */
  follow(node: Address | undefined): void {
    const before = this.#serving
    if (before?.host === node?.host && before?.port === node?.port) return
    this.#serving = node
    for (const giveUp of this.#forwarded.values()) giveUp()
  }

  #take(socket: Socket): void {
    // What fails later has its own listener; until then there is nobody to tell.
    socket.on("error", () => socket.destroy())
    const serving = this.#serving
    if (this.#here !== undefined) return this.#answerHere(socket)
    if (serving === undefined) {
      this.#doubt.openUnsafe()
      return this.#answerHere(socket)
    }
    socket.once("close", () => this.#forwarded.delete(socket))
    const refused = () => {
      this.#forwarded.delete(socket)
      this.#doubt.openUnsafe()
      this.#answerHere(socket)
    }
    const giveUp = forward(socket, { to: serving, connection: this.#connection, refused, lost: nodeLost })
    this.#forwarded.set(socket, giveUp)
  }

  #answerHere(socket: Socket): void {
    const server = this.#here ?? this.#absent
    server.emit("connection", socket)
  }
}

const absentServer = (): HttpServer =>
  createHttpServer(
    { headersTimeout: Limits.headerTimeoutMillis, requestTimeout: Limits.requestTimeoutMillis },
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

const listening = (
  server: Server,
  { host, port }: Address,
  backlog?: number
): Effect.Effect<void, AddressUnusable, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.callback<void, AddressUnusable>((resume) => {
        server.once("error", (cause) => resume(Effect.fail(new AddressUnusable({ host, port, cause }))))
        server.listen({ host, port, backlog }, () => resume(Effect.void))
      }),
      // Connections end with those who serve them.
      () => Effect.sync(() => server.close())
    )
  )
