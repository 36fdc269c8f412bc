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
import { setAnswerHeaders } from "../answerHeaders.ts"
import { type Allowance, TokenBuckets } from "./TokenBuckets.ts"

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
