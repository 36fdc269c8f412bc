/**
 * Turns at the model: so many calls at once, so many more that wait, the next one is refused. A call
 * waits no longer than its deadline.
 */
import { Clock, Effect, Semaphore } from "effect"

export interface SlotOptions<E> {
  readonly concurrency: number
  readonly waitingMax: number
  /** No place to wait, or no turn before the deadline. */
  readonly refuse: () => E
}

export type CallSlots<E> = <A>(deadlineMillis: number, call: Effect.Effect<A, E>) => Effect.Effect<A, E>

export const makeCallSlots = <E>({ concurrency, refuse, waitingMax }: SlotOptions<E>): CallSlots<E> => {
  const turns = Semaphore.makeUnsafe(concurrency)
  let inside = 0

  const takeTurn = (deadlineMillis: number) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.timeoutOrElse(turns.takeScoped(1), {
        duration: Math.max(0, deadlineMillis - now),
        orElse: () => Effect.fail(refuse())
      })
    )

  return (deadlineMillis, call) =>
    Effect.suspend(() => {
      if (inside >= concurrency + waitingMax) return Effect.fail(refuse())
      inside += 1
      return Effect.ensuring(
        Effect.scoped(Effect.andThen(takeTurn(deadlineMillis), call)),
        Effect.sync(() => {
          inside -= 1
        })
      )
    })
}
