/**
 * Turns at the model: `concurrency` calls at once, `waitingMax` more wait, the next one is refused. Accounts take turns
 * fairly, and one account gets at most half of the waiting places. A call waits no longer than its deadline.
 */
import { Clock, Effect, Exit, PartitionedSemaphore } from "effect"

interface SlotOptions<E> {
  readonly concurrency: number
  readonly waitingMax: number
  /** No place to wait, or no turn before the deadline. */
  readonly refuse: () => E
  /** Shows how many calls are under way or waiting. */
  readonly show?: (calls: number) => Effect.Effect<void>
}

interface Turn {
  readonly account: string
  /** Milliseconds since the epoch. */
  readonly deadlineMillis: number
}

interface CallSlots<E> {
  readonly withTurn: <A>(turn: Turn, call: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** Until no call is under way or waiting. */
  readonly untilIdle: Effect.Effect<void>
}

/** Between two looks of one who lets all others go first. */
const idlePollMillis = 250

export const makeCallSlots = <E>({
  concurrency,
  refuse,
  show = () => Effect.void,
  waitingMax
}: SlotOptions<E>): CallSlots<E> => {
  const turns = PartitionedSemaphore.makeUnsafe<string>({ permits: concurrency })
  const insideOfAccountMax = concurrency + Math.ceil(waitingMax / 2)
  /** Calls under way or waiting, by account; accounts without any are not listed. */
  const insideOf = new Map<string, number>()
  let inside = 0

  const enter = (account: string): boolean => {
    const ofAccount = insideOf.get(account) ?? 0
    if (inside >= concurrency + waitingMax || ofAccount >= insideOfAccountMax) return false
    insideOf.set(account, ofAccount + 1)
    inside += 1
    return true
  }

  const leave = (account: string): void => {
    const ofAccount = (insideOf.get(account) ?? 1) - 1
    if (ofAccount === 0) insideOf.delete(account)
    else insideOf.set(account, ofAccount)
    inside -= 1
  }

  const inTurn = <A>({ account, deadlineMillis }: Turn, call: Effect.Effect<A, E>): Effect.Effect<A, E> => {
    let isStarted = false
    const started = Effect.suspend(() => {
      isStarted = true
      return call
    })
    const tooLate = Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.andThen(
        Effect.sleep(Math.max(0, deadlineMillis - now)),
        Effect.suspend(() => (isStarted ? Effect.never : Effect.fail(refuse())))
      )
    )
    // Racing only the wait could lose a turn that is granted at the moment of the deadline.
    return Effect.raceFirst(turns.withPermit(account)(started), tooLate)
  }

  const untilIdle: Effect.Effect<void> = Effect.suspend(() =>
    inside === 0 ? Effect.void : Effect.andThen(Effect.sleep(idlePollMillis), untilIdle)
  )

  return {
    untilIdle,
    withTurn: (turn, call) =>
      Effect.suspend(() =>
        enter(turn.account)
          ? Effect.ensuring(
              Effect.andThen(show(inside), inTurn(turn, call)),
              Effect.suspend(() => {
                leave(turn.account)
                return show(inside)
              })
            )
          : Effect.fail(refuse())
      )
  }
}

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

/**
 * Circuit breaker. Closed: calls pass, failures in a row are counted. Open: calls are refused at once. After the
 * cool-down one call probes (half-open); its result closes or reopens the circuit.
 *
 * Invariants: one probe at a time; a probe without a result, such as an interrupted one, lets the next call probe.
 */
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
