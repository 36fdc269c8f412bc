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
import { type OpenRound, RoundBook, type RoundOptions } from "./RoundBook.ts"

interface Named {
  /** Name in the log, the metric and the status: "housekeeping". */
  readonly name: string
}

interface Repeated<R> extends Named {
  /** Awaited after a failure instead of the pause that doubles: where callers wait, or an attempt costs others something. */
  readonly again?: Effect.Effect<unknown, never, R>
}

export interface Round<R> extends Repeated<R> {
  /** Pauses from the end of a round that succeeded to the next one. */
  readonly schedule: Schedule.Schedule<unknown, unknown, unknown>
  readonly work: Effect.Effect<unknown, unknown, R>
  /** The first round begins at once, and not after the first pause. */
  readonly isFirstNow?: boolean
  /** A stop does not wait for a round that runs. */
  readonly isCut?: boolean
}

export interface WokenRound<R> extends Repeated<R> {
  /** Ends when there may be something to do; awaited after a round that succeeded. */
  readonly until: Effect.Effect<unknown, never, R>
  readonly work: Effect.Effect<unknown, unknown, R>
  readonly isFirstNow?: boolean
}

export interface Consumer<A, R> extends Repeated<R> {
  readonly take: Effect.Effect<A, never, R>
  /** An item whose work fails is given up: what must not be lost is kept elsewhere until it is done. */
  readonly work: (item: A) => Effect.Effect<unknown, unknown, R>
}

export interface Task<R> extends Named {
  readonly work: Effect.Effect<unknown, unknown, R>
}

const doubling = Schedule.exponential(Limits.roundRetryMillisMin)
const backoff = Schedule.min([doubling, Schedule.spaced(Limits.roundRetryMillisMax)])

/** Tries until it succeeds; neither way of waiting has an end. */
const untilDone = <A, R>(
  attempt: Effect.Effect<A, "failed", R>,
  { again }: Partial<Repeated<R>> = {}
): Effect.Effect<A, never, R> =>
  Effect.orDie(
    again === undefined
      ? Effect.retry(attempt, backoff)
      : Effect.retry(attempt, { while: () => Effect.as(again, true) })
  )

/** Until the scope closes, or the schedule ends. */
const add = <R>({ isCut = false, isFirstNow = false, schedule, work, ...named }: Round<R>) =>
  opened({ name: named.name, isScheduled: true, isCut }, (round) => {
    const done = untilDone(round.attempt(work), named)
    const repeated = isFirstNow ? Effect.repeat(done, schedule) : Effect.schedule(done, schedule)
    return Effect.asVoid(Effect.orDie(repeated))
  })

const whenWoken = <R>({ isFirstNow = false, until, work, ...named }: WokenRound<R>) =>
  opened(serving(named), (round) => {
    const done = untilDone(round.attempt(work), named)
    const next = Effect.forever(Effect.andThen(untilDone(round.rest(until), named), done))
    return isFirstNow ? Effect.andThen(done, next) : next
  })

const each = <A, R>({ take, work, ...named }: Consumer<A, R>) =>
  opened(serving(named), (round) => {
    const one = Effect.flatMap(round.rest(take), (item) => round.attempt(work(item)))
    return Effect.forever(untilDone(one, named))
  })

/** Until it has succeeded once. */
const once = <R>({ name, work }: Task<R>) => opened(serving({ name }), (round) => untilDone(round.attempt(work)))

/** Work that callers may wait for ends with its scope. */
const serving = ({ name }: Named): RoundOptions => ({ name, isScheduled: false, isCut: true })

const opened = <R>(
  options: RoundOptions,
  forever: (round: OpenRound) => Effect.Effect<void, never, R>
): Effect.Effect<void, never, R | Scope.Scope> =>
  Effect.flatMap(RoundBook.current, (book) => book.open(options, forever))

/** Begins background work that plain code cannot wait for. */
export type Errands = (errand: Effect.Effect<unknown, unknown>) => void

/** Work under way is interrupted when the scope closes; a failure is noted, and nothing is tried again. */
const errands = ({ name }: Named): Effect.Effect<Errands, never, Scope.Scope> =>
  Effect.gen(function* () {
    const book = yield* RoundBook.current
    yield* book.introduce(name)
    const run = yield* FiberSet.makeRuntime<never>()
    return (errand) => void run(Effect.catchCause(errand, (cause) => book.noteFailure(name, cause)))
  })

export const Rounds = { add, whenWoken, each, once, errands } as const
