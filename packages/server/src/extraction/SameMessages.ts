/**
 * Requests with the same messages at once are read one after the other: the second finds them processed and
 * asks no model. Otherwise every copy of a request would make the model read, and only one would pay.
 *
 * Bounded: more copies than `waitingMax` are refused; a key that nobody uses is forgotten.
 */
import { Effect, Semaphore } from "effect"

/** Copies of one request that wait for its reading. */
export const waitingMax = 64

export class SameMessages {
  readonly #turns = new Map<string, { readonly turn: Semaphore.Semaphore; users: number }>()

  /** `refused` when too many wait. */
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
