/**
 * Serialises concurrent requests with the same messages: the second one finds them processed and asks no model.
 * Otherwise every copy of a request would cost a call of the model, and only one would be charged.
 *
 * Bounded: more than `waitingMax` waiting copies are refused; a key without requests is removed.
 */
import { Effect, Semaphore } from "effect"

/** Copies of one request that may wait for the first. */
export const waitingMax = 64

export class SameMessages {
  readonly #turns = new Map<string, { readonly turn: Semaphore.Semaphore; users: number }>()

  /** Runs `act` after those with the same key; `refused` when too many wait. */
  inTurn<A, E, R, E2>(
    key: string,
    act: Effect.Effect<A, E, R>,
    refused: Effect.Effect<never, E2>
  ): Effect.Effect<A, E | E2, R> {
    return Effect.suspend((): Effect.Effect<A, E | E2, R> => {
      const known = this.#turns.get(key) ?? { turn: Semaphore.makeUnsafe(1), users: 0 }
      if (known.users > waitingMax) return refused
      known.users++
      this.#turns.set(key, known)
      return Effect.ensuring(
        known.turn.withPermit(act),
        Effect.sync(() => {
          if (--known.users === 0) this.#turns.delete(key)
        })
      )
    })
  }
}
