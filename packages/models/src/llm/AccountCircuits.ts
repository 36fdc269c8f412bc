/**
 * A circuit for each account, beside the shared one of the server: calls that time out may be the fault of what they ask,
 * so they suspend the calls of their own account only. Accounts whose last call was answered are not kept.
 */
import { Effect, Exit } from "effect"
import { LRUCache } from "lru-cache"
import { type CircuitBreaker, type CircuitOptions, makeCircuitBreaker } from "./CircuitBreaker.ts"

/** Of accounts whose last call failed; beyond it the least recently used are forgotten. */
const circuitsMax = 4_096

export interface AccountCircuits<E> {
  readonly of: (account: string) => CircuitBreaker<E>
}

export const makeAccountCircuits = <E>(options: CircuitOptions<E>): AccountCircuits<E> => {
  const circuits = new LRUCache<string, CircuitBreaker<E>>({ max: circuitsMax })

  const circuitOf = (account: string): CircuitBreaker<E> => {
    const known = circuits.get(account)
    if (known !== undefined) return known
    const made = makeCircuitBreaker(options)
    circuits.set(account, made)
    return made
  }

  /** A call that waits at a circuit which is dropped here finishes there; the next one starts with a new circuit. */
  const dropIfAnswered = (account: string) => (exit: Exit.Exit<unknown, E>) =>
    Effect.sync(() => {
      if (Exit.isSuccess(exit)) circuits.delete(account)
    })

  return {
    of: (account) => ({
      check: Effect.suspend(() => circuits.get(account)?.check ?? Effect.void),
      through: (call) => Effect.suspend(() => Effect.onExit(circuitOf(account).through(call), dropIfAnswered(account)))
    })
  }
}
