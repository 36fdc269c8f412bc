/**
 * Begins work after the event loop has looked at its sockets: work that never waits, such as a search with a known
 * vector, would otherwise run to its end before the next request's bytes are read, and requests queue in the kernel,
 * where they can be neither counted nor refused. In each turn Node accepts one connection of a listening socket, so turns
 * without work follow each other until one has brought none; what calm accounts ask goes ahead of both.
 *
 * Invariant: work has at least half of the time while turns take less than `sliceMillisMax`. Turns that have much to
 * read, for a crowd or on a busy machine, are followed by as much work, and few go by without.
 */
import { Effect, Schedule, type Scope } from "effect"
import { LRUCache } from "lru-cache"
import { Rounds } from "@muniment/worker/Rounds"
import { Limits } from "@muniment/domain/Limits"

/** Runs a function once the loop has looked at its sockets: `setImmediate`. */
export type AfterPoll = (run: () => void) => void
export const afterPoll: AfterPoll = setImmediate

/** Time in which work begins before the loop looks at its sockets again: least and most. */
const sliceMillis = 4
const sliceMillisMax = 50
/** Turns without work between two slices, and their time: a crowd that opens connections all the time takes half. */
const emptyTurnsMax = 32
const emptyMillisMax = 8

/** `ahead`: whether or not a slice runs. `first`: before what others have due. */
export type Precedence = "ahead" | "first" | "none"

export class Turnstile {
  readonly #nowMillis: () => number
  readonly #afterPoll: AfterPoll
  readonly #ahead: Array<() => void> = []
  readonly #first: Array<() => void> = []
  readonly #due: Array<() => void> = []
  #isScheduled = false
  /** Since when something is due that no slice has begun. */
  #sinceMillis = 0
  /** End of the slice that runs. */
  #endMillis = 0
  #hasNewConnection = false
  #emptyTurns = 0

  constructor(nowMillis: () => number, afterwards: AfterPoll = afterPoll) {
    this.#nowMillis = nowMillis
    this.#afterPoll = afterwards
  }

  /** A connection was accepted. */
  connected(): void {
    this.#hasNewConnection = true
  }

  /** Calls `begin` in a later turn of the loop, once it has looked at its sockets. */
  pass(begin: () => void, precedence: Precedence = "none"): void {
    if (precedence === "ahead") {
      this.#ahead.push(begin)
      return this.#afterPoll(() => this.#ahead.shift()?.())
    }
    if (this.#size === 0) this.#sinceMillis = this.#nowMillis()
    const queue = precedence === "first" ? this.#first : this.#due
    queue.push(begin)
    this.#schedule()
  }

  get #size(): number {
    return this.#first.length + this.#due.length
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#afterPoll(() => this.#run())
  }

  #run(): void {
    this.#isScheduled = false
    if (this.#mayAcceptMore()) return this.#schedule()
    this.#endMillis = Number.POSITIVE_INFINITY
    for (let due = this.#size; due > 0; due -= 1) this.#afterPoll(() => this.#beginNext())
    this.#afterPoll(() => this.#endSlice())
  }

  /**
   * Each in a callback of its own: what it has put off, such as the reading of a body, runs right after it and counts as
   * time of the slice.
   */
  #beginNext(): void {
    const nowMillis = this.#nowMillis()
    if (this.#endMillis === Number.POSITIVE_INFINITY) this.#endMillis = nowMillis + this.#lengthMillis(nowMillis)
    if (nowMillis < this.#endMillis) (this.#ahead.shift() ?? this.#first.shift() ?? this.#due.shift())?.()
  }

  #endSlice(): void {
    this.#sinceMillis = this.#nowMillis()
    if (this.#size > 0) this.#schedule()
  }

  #lengthMillis(nowMillis: number): number {
    return Math.min(Math.max(sliceMillis, nowMillis - this.#sinceMillis), sliceMillisMax)
  }

  #mayAcceptMore(): boolean {
    const isTime = this.#nowMillis() - this.#sinceMillis < emptyMillisMax && this.#emptyTurns < emptyTurnsMax
    const mayAccept = this.#hasNewConnection && isTime
    this.#hasNewConnection = false
    this.#emptyTurns = mayAccept ? this.#emptyTurns + 1 : 0
    return mayAccept
  }
}

/**
 * Time at which the event loop last looked at its sockets. A turn that takes long, or a machine without processor time,
 * keeps bytes in the kernel that have arrived in time: what is late must not be judged before the next look.
 */
const roundMillis = 250

export class PollClock {
  readonly nowMillis: () => number
  #polledMillis: number

  constructor(nowMillis: () => number) {
    this.nowMillis = nowMillis
    this.#polledMillis = nowMillis()
  }

  /**
   * Whole milliseconds since the loop was last seen to look at its sockets; in a free loop up to a quarter of a second.
   */
  get unpolledMillis(): number {
    return Math.ceil(this.nowMillis() - this.#polledMillis)
  }

  /** Looks until the scope closes. */
  readonly watch: Effect.Effect<void, never, Scope.Scope> = Rounds.add({
    name: "looks at sockets",
    schedule: Schedule.spaced(roundMillis),
    work: Effect.andThen(
      Effect.callback<void>((resume) => afterPoll(() => resume(Effect.void))),
      Effect.sync(() => void (this.#polledMillis = this.nowMillis()))
    ),
    isCut: true
  })
}

/**
 * Which accounts ask only now and then: a leaky bucket for each. What a calm account asks is begun before the work of a
 * crowd (`Lane.ts`, `Turnstile.ts`); it is so little that the crowd hardly notices.
 */

/** Units of work that a calm account may ask for on average: this many a second, or this share of what is served. */
const calmPerSecond = 100
const calmShare = 0.25
/** In the bucket of a calm account, at most: what it may ask for in that time. */
const calmSeconds = 0.1
/** In any bucket: an account is calm again a tenth of a second after its crowd has ended. */
const secondsMax = 0.2

interface Bucket {
  readonly units: number
  readonly atMillis: number
}

export class CalmAccounts {
  readonly #buckets = new LRUCache<string, Bucket>({ max: Limits.rateLimitedCallersMax })

  /** Notes a request, and says whether its account is calm with it. `servedPerSecond`: units of its kind, under full load. */
  add(account: string, cost: number, nowMillis: number, servedPerSecond: number): boolean {
    const perSecond = Math.max(calmPerSecond, servedPerSecond * calmShare)
    const { atMillis, units } = this.#buckets.get(account) ?? { atMillis: nowMillis, units: 0 }
    const left = Math.max(0, units - ((nowMillis - atMillis) * perSecond) / 1_000) + cost
    this.#buckets.set(account, { atMillis: nowMillis, units: Math.min(perSecond * secondsMax, left) })
    return left <= perSecond * calmSeconds
  }
}
