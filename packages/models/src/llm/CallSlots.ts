/**
 * Turns at the model: `concurrency` calls at once, `waitingMax` more wait, the next one is refused. Accounts take turns
 * fairly, and one account gets at most half of the waiting places. A call waits no longer than its deadline.
 */
import { Cause, Clock, Duration, Effect, Exit, Option, PartitionedSemaphore } from "effect"
import { CircuitBreaker } from "effect/persistence"

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

interface CircuitOptions<E> {
  readonly failuresMax: number
  readonly coolDownMillis: number
  /** What a failed call says about the server; `ignored` if no request was sent. */
  readonly signOf: (failure: E) => CircuitBreaker.Outcome
  /** `cause`: the last failure that counted. */
  readonly refuse: (retryAfterMillis: number, cause: E) => E
  readonly onChange: (state: CircuitState) => Effect.Effect<void>
}

export type CircuitState = CircuitBreaker.State["_tag"]

/**
 * A circuit breaker for each key. Closed: calls pass, failures in a row are counted. Open: calls are refused at once.
 * After the cool-down one call probes (half-open); its result closes or reopens the circuit.
 */
export const makeCircuits = Effect.fnUntraced(function* <E>({
  coolDownMillis,
  failuresMax,
  onChange,
  refuse,
  signOf
}: CircuitOptions<E>) {
  const { admit, record, state } = yield* CircuitBreaker.CircuitBreakerStore
  const told = (transition: CircuitBreaker.Transition | undefined) =>
    transition === undefined ? Effect.void : onChange(transition.to)
  const breaker = yield* Effect.provideService(
    CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(failuresMax), openDuration: coolDownMillis }),
    CircuitBreaker.CircuitBreakerStore,
    {
      admit: (key) => Effect.tap(admit(key), ({ transition }) => told(transition)),
      record: (outcome) => Effect.tap(record(outcome), told),
      state
    }
  )
  let cause: Option.Option<E> = Option.none()
  /** A circuit is open after a failure that counted. */
  const refusal = (retryAfterMillis: number) =>
    Effect.flatMap(Effect.orDie(Effect.fromOption(cause)), (failure) => Effect.fail(refuse(retryAfterMillis, failure)))
  const classify = (exit: Exit.Exit<unknown, E>): CircuitBreaker.Outcome => {
    if (Exit.isSuccess(exit)) return CircuitBreaker.success
    const failure = Cause.findErrorOption(exit.cause)
    if (Option.isNone(failure)) return CircuitBreaker.ignored
    const sign = signOf(failure.value)
    if (sign._tag === "Failure") cause = failure
    return sign
  }
  return {
    /** Fails where `through` would refuse now, so that a call does not wait for its turn first. */
    check: (key: string) =>
      Effect.flatMap(Effect.orDie(breaker.state(key)), (now) => {
        if (now._tag === "HalfOpen" && now.probing) return refusal(coolDownMillis)
        const restMillis = now._tag === "Open" ? Duration.toMillis(now.retryAfter) : 0
        return restMillis > 0 ? refusal(restMillis) : Effect.void
      }),
    through:
      (key: string) =>
      <A>(call: Effect.Effect<A, E>) =>
        breaker
          .execute(call, { key, classify })
          .pipe(
            Effect.catchIf(isRefused, ({ reason }) =>
              refusal(reason._tag === "CircuitOpen" ? Duration.toMillis(reason.retryAfter) : coolDownMillis)
            )
          )
  }
}, Effect.provide(CircuitBreaker.layerStoreMemory()))

const isRefused = (failure: unknown): failure is CircuitBreaker.CircuitBreakerError =>
  failure instanceof CircuitBreaker.CircuitBreakerError
