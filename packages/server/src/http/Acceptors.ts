/**
 * More sockets that listen at the address of a server. Node accepts one connection of a listening socket in a turn of its
 * loop, so that a crowd of new connections waits in the kernel for as many turns; of several sockets, among which the
 * kernel deals connections out (`SO_REUSEPORT`), it accepts as many.
 *
 * They belong to the server: they open once it listens, and close with it. Another process of the same user could listen
 * at the address too, so it has to be found free before (`demandFreeAddress`).
 */
import { createServer, type Server } from "node:net"
import { Limits } from "@muniment/domain/Limits"
import { afterPoll, type PollClock } from "../admission/Turnstile.ts"

/** Sockets that listen at one address, the server's own among them. */
const socketsMax = 64

/** Whether the system deals out connections; elsewhere a server has its one socket. */
export const reusePort = process.platform === "linux"

export interface AcceptOptions {
  readonly host: string
  readonly backlog: number
  /** With the server's own. */
  readonly sockets?: number
}

/** Adds sockets to a server that is not listening yet. */
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

/**
 * At the end of a server: what has arrived and lies in the kernel is taken first. The loop sees it in its next turns, one
 * connection of each listening socket in a turn.
 *
 * Calls `run` once the requests are read that have come already: their connections do not count as idle.
 */
export const afterArrivals = (run: () => void): void => afterPoll(() => afterPoll(run))

/** The first may have looked at the sockets before it was asked for. */
const quietTurns = 2

/**
 * Calls `proceed` once whole turns of the loop have brought no `event` of the server, after `Limits.lastArrivalsMillis` at
 * the latest.
 */
export const afterQuiet = (
  server: Server,
  event: "connection" | "arrival",
  { nowMillis }: Pick<PollClock, "nowMillis">,
  proceed: () => void
): void => {
  const endMillis = nowMillis() + Limits.lastArrivalsMillis
  let turns = 0
  const restart = (): void => void (turns = 0)
  server.on(event, restart)
  const look = (): void => {
    turns += 1
    if (turns < quietTurns && nowMillis() < endMillis) return afterPoll(look)
    server.off(event, restart)
    proceed()
  }
  afterPoll(look)
}
