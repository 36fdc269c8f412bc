/**
 * At the end of a server: what has arrived and lies in the kernel is taken first. The loop sees it in its next turns, one
 * connection of each listening socket in a turn.
 */
import type { Server } from "node:net"
import { Limits } from "@muniment/domain/Limits"
import type { PollClock } from "../admission/PollClock.ts"
import { afterPoll } from "../admission/Turnstile.ts"

/** Calls `run` once the requests are read that have come already: their connections do not count as idle. */
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
