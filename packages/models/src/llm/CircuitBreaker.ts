/**
 * Circuit breaker. Closed: calls pass, failures in a row are counted. Open: calls are refused at once. After the
 * cool-down one call probes (half-open); its result closes or reopens the circuit.
 *
 * Invariants: one probe at a time; a probe without a result, such as an interrupted one, lets the next call probe.
 */
import { Clock, Effect, Exit } from "effect"

/** Sign of a failed call about the server; `nothing` if no request was sent. */
export type ServerSign = "alive" | "down" | "nothing"

export type CircuitState = "closed" | "half-open" | "open"

export interface CircuitOptions<E> {
  readonly failuresMax: number
  readonly coolDownMillis: number
  readonly signOf: (failure: E) => ServerSign
  /** `cause`: the last failure by which it opened. */
  readonly refuse: (retryAfterMillis: number, cause: E) => E
  readonly onChange: (state: CircuitState) => Effect.Effect<void>
}

export interface CircuitBreaker<E> {
  readonly through: <A>(call: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** Fails where `through` would refuse now, so that a call does not wait for its turn first. */
  readonly check: Effect.Effect<void, E>
}

export const makeCircuitBreaker = <E>(options: CircuitOptions<E>): CircuitBreaker<E> => {
  const { coolDownMillis, failuresMax, onChange, refuse, signOf } = options
  let state: CircuitState = "closed"
  let failuresInRow = 0
  let openUntilMillis = 0
  let cause: E | undefined

  const change = (next: CircuitState): Effect.Effect<void> => {
    if (state === next) return Effect.void
    state = next
    return onChange(next)
  }

  const down = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    failuresInRow += 1
    // Calls under way when the circuit opened do not count, or they would keep it open.
    if (state === "open" || (state === "closed" && failuresInRow < failuresMax)) return Effect.void
    openUntilMillis = now + coolDownMillis
    return change("open")
  })

  const alive = Effect.suspend(() => {
    failuresInRow = 0
    return change("closed")
  })

  const after = <A>(exit: Exit.Exit<A, E>, isProbe: boolean): Effect.Effect<void> => {
    const failure = Exit.isSuccess(exit) ? undefined : failureOf(exit)
    const sign = Exit.isSuccess(exit) ? "alive" : failure === undefined ? "nothing" : signOf(failure)
    if (sign === "down") cause = failure
    if (sign !== "nothing") return sign === "alive" ? alive : down
    // The cool-down is over already, so the next call probes.
    return isProbe ? change("open") : Effect.void
  }

  const failureOf = (exit: Exit.Failure<unknown, E>): E | undefined =>
    exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error

  const refusalAt = (nowMillis: number): E | undefined => {
    // Before the first failure it is closed.
    if (cause === undefined) return undefined
    if (state === "half-open") return refuse(coolDownMillis, cause)
    return state === "open" && nowMillis < openUntilMillis ? refuse(openUntilMillis - nowMillis, cause) : undefined
  }

  return {
    check: Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const refusal = refusalAt(now)
      return refusal === undefined ? Effect.void : Effect.fail(refusal)
    }),
    through: (call) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const refusal = refusalAt(now)
          if (refusal !== undefined) return Effect.fail(refusal)
          const isProbe = state === "open"
          return (isProbe ? change("half-open") : Effect.void).pipe(
            Effect.andThen(restore(call)),
            Effect.onExit((exit) => after(exit, isProbe))
          )
        })
      )
  }
}
