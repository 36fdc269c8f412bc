/**
 * What is known of the background work of one service: which rounds there are, how often each has failed and why. The
 * status, the metric `rounds_failed_total` and the log say the same.
 *
 * Invariant: a reason names classes and codes of errors, never their messages, which may quote what a caller stored.
 */
import { Cause, Clock, Context, Deferred, Effect, Fiber, Layer, Metric, type Scope } from "effect"
import { Limits } from "@muniment/domain/Limits"

/** Rounds of one name: one, or as many as there are open namespaces or threads. */
export interface RoundState {
  readonly name: string
  readonly open: number
  /** How many work at this moment; the others wait. */
  readonly running: number
  /** Since the start. */
  readonly failures: number
  /** The last attempt failed; of several of a name, that of any. */
  readonly isFailing: boolean
  readonly lastFailure: RoundFailure | undefined
}

export interface RoundFailure {
  /** Milliseconds. */
  readonly at: number
  readonly reason: string
}

const failed = Metric.counter("rounds_failed_total", {
  description: "Failures of background work, which goes on, by its name.",
  incremental: true
})

const countFailures = (round: string, count: number): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(failed, { round }), count)

/** A failure that repeats itself is a line of the log this often; the metric counts each. */
const toldEachMillis = 60_000

interface Tally {
  failures: number
  lastFailure: RoundFailure | undefined
  /** When the log said so. */
  toldAt: number
}

export class RoundBook {
  readonly #above: RoundBook | undefined
  readonly #open = new Set<OpenRound>()
  readonly #tallies = new Map<string, Tally>()
  /** Done when the service begins to stop: nobody need wait for what goes on after the next start. */
  readonly stopping = Deferred.makeUnsafe<void>()

  /** `above` has the rounds of what outlives the service, such as those of a node of a cluster. */
  constructor(above?: RoundBook) {
    this.#above = above
  }

  /** Book of the service around; code that stands alone, as in a command, has one of the process. */
  static readonly current = Context.Reference<RoundBook>("muniment/worker/RoundBook", {
    defaultValue: () => new RoundBook()
  })

  /** A book for one service. */
  static readonly layer = (): Layer.Layer<never> =>
    Layer.effect(
      RoundBook.current,
      Effect.map(RoundBook.current, (above) => new RoundBook(above))
    )

  get states(): ReadonlyArray<RoundState> {
    const open = Map.groupBy(this.#open, ({ name }) => name)
    const hasFailed = [...this.#tallies].filter(([, { failures }]) => failures > 0).map(([name]) => name)
    const names = new Set([...open.keys(), ...hasFailed])
    const own = [...names].map((name): RoundState => {
      const rounds = open.get(name) ?? []
      const { failures = 0, lastFailure } = this.#tallies.get(name) ?? {}
      return {
        name,
        open: rounds.length,
        running: rounds.filter(({ isRunning }) => isRunning).length,
        failures,
        isFailing: rounds.some(({ isFailing }) => isFailing),
        lastFailure
      }
    })
    return [...own, ...(this.#above?.states ?? [])].toSorted((one, other) => (one.name < other.name ? -1 : 1))
  }

  /** Ends what works by a schedule: no round begins any more, and those that run have one bound together. */
  get stop(): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach(
        [...this.#open].filter(({ isScheduled }) => isScheduled),
        (round) => round.stop,
        {
          concurrency: "unbounded",
          discard: true
        }
      )
    )
  }

  #tallyOf(name: string): Tally {
    const known = this.#tallies.get(name)
    if (known !== undefined) return known
    const tally: Tally = { failures: 0, lastFailure: undefined, toldAt: -Infinity }
    this.#tallies.set(name, tally)
    return tally
  }

  /** Runs `forever` until the scope closes. */
  open<R>(
    options: RoundOptions,
    forever: (round: OpenRound) => Effect.Effect<void, never, R>
  ): Effect.Effect<void, never, R | Scope.Scope> {
    const round = new OpenRound(this, options)
    const forked = Effect.forkDetach(
      Effect.ensuring(
        forever(round),
        Effect.sync(() => this.#open.delete(round))
      )
    )
    return Effect.acquireRelease(
      Effect.suspend(() => {
        this.#open.add(round)
        return Effect.map(Effect.andThen(this.introduce(round.name), forked), (fiber) => void (round.fiber = fiber))
      }),
      () => round.stop
    )
  }

  /** A series that begins at one never seems to grow. */
  introduce(name: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#tallies.has(name)) return Effect.void
      this.#tallyOf(name)
      return countFailures(name, 0)
    })
  }

  noteFailure(name: string, cause: Cause.Cause<unknown>): Effect.Effect<void> {
    return Effect.flatMap(Clock.currentTimeMillis, (at) => {
      const tally = this.#tallyOf(name)
      const reason = reasonOf(cause)
      const isNews = reason !== tally.lastFailure?.reason || at - tally.toldAt >= toldEachMillis
      tally.failures++
      tally.lastFailure = { at, reason }
      if (isNews) tally.toldAt = at
      return Effect.andThen(
        isNews
          ? Effect.logError("background work failed; it goes on", { round: name, reason, failures: tally.failures })
          : Effect.void,
        countFailures(name, 1)
      )
    })
  }
}

export interface RoundOptions {
  readonly name: string
  /** It serves nobody: the service's stop ends it first. */
  readonly isScheduled: boolean
  /** May end in the middle of its work: what it had begun is not waited for. */
  readonly isCut: boolean
}

/** One fiber of background work. */
export class OpenRound {
  readonly name: string
  readonly isScheduled: boolean
  readonly #isCut: boolean
  readonly #book: RoundBook
  isRunning = false
  isFailing = false
  #isStopping = false
  fiber: Fiber.Fiber<void> | undefined

  constructor(book: RoundBook, { isCut, isScheduled, name }: RoundOptions) {
    this.#book = book
    this.name = name
    this.isScheduled = isScheduled
    this.#isCut = isCut
  }

  /** One piece of work; fails once its own failure, or its defect, is noted. */
  attempt<R>(work: Effect.Effect<unknown, unknown, R>): Effect.Effect<void, "failed", R> {
    return Effect.suspend(() => {
      if (this.#isStopping) return Effect.interrupt
      this.isRunning = true
      return Effect.ensuring(
        work,
        Effect.sync(() => void (this.isRunning = false))
      )
    }).pipe(
      Effect.matchCauseEffect({
        onSuccess: () => Effect.sync(() => void (this.isFailing = false)),
        onFailure: (cause) => this.#noteFailure(cause)
      }),
      Effect.andThen(Effect.suspend(() => (this.#isStopping ? Effect.interrupt : Effect.void)))
    )
  }

  /** The pause between two pieces of work; likewise. */
  rest<A, R>(until: Effect.Effect<A, never, R>): Effect.Effect<A, "failed", R> {
    return Effect.suspend(() => {
      this.isFailing = false
      return until
    }).pipe(Effect.catchCause((cause) => this.#noteFailure(cause)))
  }

  #noteFailure(cause: Cause.Cause<unknown>): Effect.Effect<never, "failed"> {
    if (this.#isStopping) return Effect.interrupt
    this.isFailing = true
    return Effect.andThen(this.#book.noteFailure(this.name, cause), Effect.fail("failed" as const))
  }

  get stop(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { fiber } = this
      this.#isStopping = true
      if (fiber === undefined) return Effect.void
      const finished =
        this.isRunning && !this.#isCut
          ? Effect.timeoutOption(Fiber.await(fiber), Limits.roundStopMillisMax)
          : Effect.void
      return Effect.andThen(finished, Fiber.interrupt(fiber))
    })
  }
}

/** Causes of causes that are named. */
const namesMax = 4

/** Classes and codes, and the line of the code: `StoreFault, SqliteError(busy) at ControlChanges.ts:71`. */
export const reasonOf = (cause: Cause.Cause<unknown>): string => {
  if (Cause.hasInterruptsOnly(cause)) return "interrupted from within"
  const names: Array<string> = []
  let place = ""
  for (let error: unknown = Cause.squash(cause); names.length < namesMax; error = error.cause) {
    names.push(nameOf(error))
    if (!(error instanceof Error)) break
    place ||= placeOf(error)
    if (error.cause === undefined) break
  }
  return `${names.join(", ")}${place}`
}

const nameOf = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return typeof error
  const name = "_tag" in error ? error._tag : error instanceof Error ? error.name : "object"
  const codes = ["code", "reason", "errcode"].flatMap((field) => wordOf((error as Record<string, unknown>)[field]))
  return `${String(name)}${codes.length === 0 ? "" : `(${codes[0]})`}`
}

/** A single word cannot be a text that somebody wrote. */
const wordOf = (value: unknown): ReadonlyArray<string> =>
  typeof value === "number" || (typeof value === "string" && /^[A-Za-z_]{1,40}$/.test(value)) ? [String(value)] : []

/** The first line of the stack that is not of the runtime or of Effect. */
const placeOf = ({ stack = "" }: Error): string => {
  const frame = stack.split("\n").find((line) => /^\s+at /.test(line) && !/node:|node_modules\/effect\//.test(line))
  const place = /[\w.-]+:\d+(?=:\d+\)?$)/.exec(frame ?? "")?.[0]
  return place === undefined ? "" : ` at ${place}`
}
