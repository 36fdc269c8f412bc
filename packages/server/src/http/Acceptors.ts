/**
 * More sockets that listen at the address of a server. Node accepts one connection of a listening socket in a turn of its
 * loop, so that a crowd of new connections waits in the kernel for as many turns; of several sockets, among which the
 * kernel deals connections out (`SO_REUSEPORT`), it accepts as many.
 *
 * They belong to the server: they open once it listens, and close with it. Another process of the same user could listen
 * at the address too, so it has to be found free before (`demandFreeAddress`).
 */
import { createServer, type Server } from "node:net"

/** Of one address, with the server's own. */
const socketsMax = 64

/** Where the system deals out connections; elsewhere a server has its one socket. */
export const reusePort = process.platform === "linux"

export interface AcceptOptions {
  readonly host: string
  readonly backlog: number
  /** With the server's own. */
  readonly sockets?: number
}

/** Of a server that is not listening yet. */
export const acceptMore = (server: Server, options: AcceptOptions): void => {
  const { backlog, host, sockets = socketsMax } = options
  // As Node's HTTP server sets its own socket up.
  const settings = { allowHalfOpen: true, noDelay: true }
  const more = Array.from({ length: reusePort ? sockets - 1 : 0 }, () =>
    createServer(settings, (socket) => void server.emit("connection", socket))
  )
  server.once("listening", () => {
    const address = server.address()
    if (address === null || typeof address === "string") return
    for (const acceptor of more) {
      // The server's own socket serves where one more cannot be had.
      acceptor.once("error", () => acceptor.close())
      acceptor.listen({ host, port: address.port, backlog, reusePort })
    }
  })
  const close = server.close.bind(server)
  server.close = (callback) => {
    for (const acceptor of more) acceptor.close()
    return close(callback)
  }
}
