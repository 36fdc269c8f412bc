/**
 * Token buckets of many callers, three for each: minute, hour, day (contract: Rate limits). A request takes one
 * token of all three or of none. Callers whose buckets are full again are removed; above `callersMax`, the
 * least recently used ones.
 */
import type { RateLimit } from "@muniment/domain/Plans"

export interface Allowance {
  readonly isAllowed: boolean
  /** Size and content of the emptiest bucket. */
  readonly limit: number
  readonly remaining: number
  /** Until that bucket is full again. */
  readonly resetSeconds: number
  /** Until the next request may come; 0 when this one may. */
  readonly retryAfterSeconds: number
  /** The one that it waits for. */
  readonly window: keyof RateLimit
}

const windowMillis: Readonly<Record<keyof RateLimit, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 }
const windows = ["minute", "hour", "day"] as const

interface Bucket {
  readonly window: keyof RateLimit
  readonly limit: number
  readonly perMillis: number
  tokens: number
}

/** Until there is a token; below zero: there is more than one. */
const waitMillis = ({ perMillis, tokens }: Bucket): number => (1 - tokens) / perMillis

interface Caller {
  readonly buckets: ReadonlyArray<Bucket>
  updatedAt: number
}

export class TokenBuckets {
  readonly #callers = new Map<string, Caller>()
  readonly #callersMax: number

  constructor(callersMax: number) {
    this.#callersMax = callersMax
  }

  /** Number of callers that are remembered. */
  get size(): number {
    return this.#callers.size
  }

  /** Takes a token of every bucket of `key`, or says how long to wait. */
  take(key: string, rate: RateLimit, nowMillis: number): Allowance {
    const caller = this.#refilled(key, rate, nowMillis)
    const isAllowed = caller.buckets.every(({ tokens }) => tokens >= 1)
    if (isAllowed) for (const bucket of caller.buckets) bucket.tokens -= 1
    const emptiest = caller.buckets.reduce((least, bucket) =>
      bucket.tokens / bucket.limit < least.tokens / least.limit ? bucket : least
    )
    const slowest = caller.buckets.reduce((one, other) => (waitMillis(other) > waitMillis(one) ? other : one))
    return {
      isAllowed,
      limit: emptiest.limit,
      remaining: Math.max(0, Math.floor(emptiest.tokens)),
      resetSeconds: Math.ceil((emptiest.limit - emptiest.tokens) / emptiest.perMillis / 1_000),
      retryAfterSeconds: isAllowed ? 0 : Math.max(1, Math.ceil(waitMillis(slowest) / 1_000)),
      window: slowest.window
    }
  }

  /** The caller as of now, moved to the end of the map: the map is in the order of last use. */
  #refilled(key: string, rate: RateLimit, nowMillis: number): Caller {
    const known = this.#callers.get(key)
    this.#callers.delete(key)
    // A new plan starts with full buckets.
    const isSameRate = known?.buckets.every((bucket, at) => bucket.limit === rate[windows[at]!]) === true
    const caller =
      known !== undefined && isSameRate
        ? known
        : {
            buckets: windows.map((window) => ({
              window,
              limit: rate[window],
              perMillis: rate[window] / windowMillis[window],
              tokens: rate[window]
            })),
            updatedAt: nowMillis
          }
    const elapsedMillis = Math.max(0, nowMillis - caller.updatedAt)
    for (const bucket of caller.buckets) {
      bucket.tokens = Math.min(bucket.limit, bucket.tokens + elapsedMillis * bucket.perMillis)
    }
    caller.updatedAt = nowMillis
    this.#callers.set(key, caller)
    this.#forget(nowMillis)
    return caller
  }

  /** Looks at the two least recently used: above the bound at least one is removed for each new caller. */
  #forget(nowMillis: number): void {
    let looked = 0
    for (const [key, { updatedAt }] of this.#callers) {
      const isOver = this.#callers.size > this.#callersMax
      if (looked === 2 || (!isOver && nowMillis - updatedAt < windowMillis.day)) return
      this.#callers.delete(key)
      looked += 1
    }
  }
}
