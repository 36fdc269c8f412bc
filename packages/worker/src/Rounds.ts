/**
 * The one home of work that goes on beside the callers: rounds by a schedule, rounds that wait to be woken, work for each
 * item of a queue, and errands that plain code sends.
 *
 * Invariants: a failure or a defect ends one attempt and never the work: it is noted (`RoundBook.ts`), and the next
 * attempt comes after a pause that doubles from `Limits.roundRetryMillisMin` to `Limits.roundRetryMillisMax`. When the
 * scope closes no round begins any more, one that runs has `Limits.roundStopMillisMax` to end, and is then interrupted.
 */
import { Effect, FiberSet, Schedule, type Scope } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { type OpenRound, RoundBook } from "./RoundBook.ts"

interface Named {
  /** Of the log, the metric and the status: "housekeeping". */
  readonly name: string
}

export interface Round<R> extends Named {
  /** Pauses from the end of a round that succeeded to the next one. */
  readonly schedule: Schedule.Schedule<unknown>
  readonly work: Effect.Effect<unknown, unknown, R>
  /** The first round begins at once, and not after the first pause. */
  readonly isFirstNow?: boolean
  /** A stop does not wait for a round that runs. */
  readonly isCut?: boolean
}

export interface WokenRound<R> extends Named {
  /** Ends when there may be something to do; awaited after a round that succeeded. */
  readonly until: Effect.Effect<unknown, never, R>
  readonly work: Effect.Effect<unknown, unknown, R>
  readonly isFirstNow?: boolean
}

export interface Consumer<A, R> extends Named {
  readonly take: Effect.Effect<A, never, R>
  /** An item whose work fails is given up: what must not be lost is kept elsewhere until it is done. */
  readonly work: (item: A) => Effect.Effect<unknown, unknown, R>
}

const doubling = Schedule.exponential(Limits.roundRetryMillisMin)
const backoff = Schedule.min([doubling, Schedule.spaced(Limits.roundRetryMillisMax)])

/** Until it has succeeded: this schedule has no end. */
const untilDone = <A, R>(attempt: Effect.Effect<A, "failed", R>): Effect.Effect<A, never, R> =>
  Effect.orDie(Effect.retry(attempt, backoff))

/** Until the scope closes, or the schedule ends. */
const add = <R>({ isCut = false, isFirstNow = false, name, schedule, work }: Round<R>) =>
  opened({ name, isCut }, (round) => {
    const done = untilDone(round.attempt(work))
    return Effect.asVoid(isFirstNow ? Effect.repeat(done, schedule) : Effect.schedule(done, schedule))
  })

const whenWoken = <R>({ isFirstNow = false, name, until, work }: WokenRound<R>) =>
  opened({ name, isCut: true }, (round) => {
    const done = untilDone(round.attempt(work))
    const next = Effect.forever(Effect.andThen(untilDone(round.rest(until)), done))
    return isFirstNow ? Effect.andThen(done, next) : next
  })

const each = <A, R>({ name, take, work }: Consumer<A, R>) =>
  opened({ name, isCut: true }, (round) =>
    Effect.forever(untilDone(Effect.flatMap(round.rest(take), (item) => round.attempt(work(item)))))
  )

const opened = <R>(
  options: Parameters<RoundBook["open"]>[0],
  forever: (round: OpenRound) => Effect.Effect<void, never, R>
): Effect.Effect<void, never, R | Scope.Scope> =>
  Effect.flatMap(RoundBook.current, (book) => book.open(options, forever))

/** Begins background work that plain code cannot wait for. */
export type Errands = (errand: Effect.Effect<unknown, unknown>) => void

/** What is under way is interrupted when the scope closes; a failure is noted, and nothing is tried again. */
const errands = ({ name }: Named): Effect.Effect<Errands, never, Scope.Scope> =>
  Effect.gen(function* () {
    const book = yield* RoundBook.current
    const run = yield* FiberSet.makeRuntime<never>()
    return (errand) => void run(Effect.catchCause(errand, (cause) => book.noteFailure(name, cause)))
  })

export const Rounds = { add, whenWoken, each, errands } as const
