/**
 * The HTTP listener with its bounds (reliability.md): headers within 5 s, a whole request within
 * 15 s, a cap on connections for each address. Node's defaults let 1,500 of 1,500 silent sockets stay.
 *
 * On shutdown every accepted request is answered, on a connection that then closes; a connection
 * without a request closes at once. Node alone would wait for silent connections, and go on serving
 * those that are kept alive, until the time is up.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { NodeHttpServer } from "@effect/platform-node"
import { Limits } from "@muniment/domain/Limits"

/** How often Node looks for connections that are too slow. */
const connectionCheckMillis = 1_000

/** What the shutdown of the process needs after the last answer: files close within 5 s. */
const closingMillis = 5_000

export const listener = (options: { readonly host: string; readonly port: number }) =>
  NodeHttpServer.layer(boundedServer, {
    host: options.host,
    port: options.port,
    gracefulShutdownTimeout: Limits.shutdownDrainMillis - closingMillis
  })

const boundedServer = (): Server => {
  const server = createServer({
    headersTimeout: Limits.headerTimeoutMillis,
    requestTimeout: Limits.requestTimeoutMillis,
    connectionsCheckingInterval: connectionCheckMillis
  })
  const open = new Map<string, number>()
  server.on("connection", (socket) => {
    const address = socket.remoteAddress ?? ""
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
  drainsOnClose(server)
  return server
}

/** Makes `close` end connections: those without a request now, the others with their answer. */
const drainsOnClose = (server: Server): void => {
  const answersDue = new Map<Socket, Set<ServerResponse>>()
  let isClosing = false
  server.on("connection", (socket) => {
    answersDue.set(socket, new Set())
    socket.once("close", () => answersDue.delete(socket))
  })
  const expectAnswer = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    const due = answersDue.get(socket)
    due?.add(response)
    response.shouldKeepAlive &&= !isClosing
    response.once("close", () => {
      due?.delete(response)
      if (isClosing && due?.size === 0) socket.end()
    })
  }
  server.on("request", expectAnswer)
  // Requests that wait for leave to send their body come by this event instead.
  server.on("checkContinue", expectAnswer)
  const close = server.close.bind(server)
  server.close = (callback) => {
    isClosing = true
    close(callback)
    for (const [socket, due] of answersDue) {
      for (const response of due) response.shouldKeepAlive = false
      if (due.size === 0) socket.destroy()
    }
    return server
  }
}
