/**
 * Rate limits (contract: Rate limits): by account, wallets without a plan apart. A request takes one token; in a batch
 * of MCP each message does. The headers say on every answer how much is left.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { HttpServerRequest } from "effect/http"
import { Caller, RateLimiting } from "@muniment/domain/api/Middleware"
import { RateLimited } from "@muniment/domain/Errors"
import type { Identity } from "@muniment/domain/Identity"
import { Limits } from "@muniment/domain/Limits"
import { type RateLimit, rateLimitOf } from "@muniment/domain/Plans"
import { boundMet } from "../boundMet.ts"
import { setAnswerHeaders } from "../headers.ts"

export class RateLimits extends Context.Service<
  RateLimits,
  {
    /** Takes a token of the caller. */
    readonly take: Effect.Effect<void, RateLimited, Caller | HttpServerRequest.HttpServerRequest>
  }
>()("muniment/server/RateLimits") {
  static readonly layer = (options: { readonly isOn: boolean }) =>
    Layer.sync(RateLimits, () => {
      const buckets = new TokenBuckets(Limits.rateLimitedCallersMax)
      return { take: options.isOn ? takeToken(buckets) : Effect.void }
    })
}

export const rateLimiting = Layer.effect(
  RateLimiting,
  Effect.map(
    RateLimits,
    ({ take }) =>
      (handler) =>
        take === Effect.void ? handler : Effect.andThen(take, handler)
  )
)

const takeToken = (buckets: TokenBuckets) =>
  Effect.withFiber<void, RateLimited, Caller | HttpServerRequest.HttpServerRequest>((fiber) => {
    const caller = Context.getUnsafe(fiber.context, Caller)
    const rate = rateLimitOf(caller)
    if (rate === undefined) return Effect.void
    const allowance = buckets.take(
      caller.keyId === undefined ? `wallet:${caller.account.id}` : caller.account.id,
      rate,
      fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
    )
    setAnswerHeaders(fiber.context, {
      "x-ratelimit-limit": String(allowance.limit),
      "x-ratelimit-remaining": String(allowance.remaining),
      "x-ratelimit-reset": String(allowance.resetSeconds),
      ...(!allowance.isAllowed && { "retry-after": String(allowance.retryAfterSeconds) })
    })
    return allowance.isAllowed ? Effect.void : rateLimited(caller, rate, allowance)
  })

const rateLimited = Effect.fnUntraced(function* (
  { account }: Identity,
  rate: RateLimit,
  { retryAfterSeconds, window }: Allowance
) {
  return yield* new RateLimited({
    code: "rate_limited",
    error: `more requests than the plan "${account.plan}" allows; try again in ${retryAfterSeconds} s`,
    details: yield* boundMet(window, `${rate[window]} requests a ${window}`, retryAfterSeconds)
  })
})

interface Allowance {
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

interface CallerBuckets {
  readonly buckets: ReadonlyArray<Bucket>
  updatedAt: number
}

/**
 * Token buckets of many callers, three for each: minute, hour, day (contract: Rate limits). A request takes one
 * token of all three or of none. Callers whose buckets are full again are removed; above `callersMax`, the
 * least recently used ones.
 */
export class TokenBuckets {
  readonly #callers = new Map<string, CallerBuckets>()
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
  #refilled(key: string, rate: RateLimit, nowMillis: number): CallerBuckets {
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
