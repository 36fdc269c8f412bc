/**
 * The HTTP listener with its bounds (reliability.md): headers within 5 s, a whole request within
 * 15 s, a cap on connections for each address. Node's defaults let 1,500 of 1,500 silent sockets stay.
 */
import { createServer, type Server } from "node:http"
import { NodeHttpServer } from "@effect/platform-node"
import { Limits } from "@muniment/domain/Limits"

/** How often Node looks for connections that are too slow. */
const connectionCheckMillis = 1_000

export const listener = (options: { readonly host: string; readonly port: number }) =>
  NodeHttpServer.layer(boundedServer, {
    host: options.host,
    port: options.port,
    gracefulShutdownTimeout: Limits.shutdownDrainMillis
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
  return server
}
