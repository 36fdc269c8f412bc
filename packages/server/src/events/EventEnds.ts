/**
 * Ends of the events of agents, so that a follower who has read them all needs no look at the agent. Each is known until
 * the agent commits something, for `Limits.eventHeartbeatMillis` at most: a cluster hears nothing of expiries on other
 * nodes.
 */
import type { NamespaceTag } from "@muniment/domain/Ids"
import { Limits } from "@muniment/domain/Limits"
import type { EventPosition } from "./EventPositions.ts"

interface End {
  /** Undefined until it is read. */
  position: EventPosition | undefined
  readonly untilMillis: number
}

export class EventEnds {
  /** Oldest first. */
  readonly #ends = new Map<NamespaceTag, End>()

  of(tag: NamespaceTag, nowMillis: number): EventPosition | undefined {
    const end = this.#ends.get(tag)
    return end !== undefined && end.untilMillis > nowMillis ? end.position : undefined
  }

  /** Call it before the agent is read, and what it returns with the end: it counts unless the agent commits meanwhile. */
  reading(tag: NamespaceTag, nowMillis: number): (position: EventPosition) => void {
    for (const [oldest, { untilMillis }] of this.#ends) {
      if (untilMillis > nowMillis) break
      this.#ends.delete(oldest)
    }
    const end: End = { position: undefined, untilMillis: nowMillis + Limits.eventHeartbeatMillis }
    this.#ends.delete(tag)
    this.#ends.set(tag, end)
    return (position) => void (end.position = position)
  }

  /** The agent has committed something. */
  forget(tag: NamespaceTag): void {
    this.#ends.delete(tag)
  }
}
