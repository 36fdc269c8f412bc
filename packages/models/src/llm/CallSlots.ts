/**
 * Turns at the model: `concurrency` calls at once, `waitingMax` more wait, the next one is refused. Accounts take turns
 * fairly, and one account gets at most half of the waiting places. A call waits no longer than its deadline.
 */
import { Clock, Effect, PartitionedSemaphore } from "effect"

export interface SlotOptions<E> {
  readonly concurrency: number
  readonly waitingMax: number
  /** No place to wait, or no turn before the deadline. */
  readonly refuse: () => E
  /** Shows how many calls are under way or waiting. */
  readonly show?: (calls: number) => Effect.Effect<void>
}

export interface Turn {
  readonly account: string
  /** Milliseconds since the epoch. */
  readonly deadlineMillis: number
}

export interface CallSlots<E> {
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
