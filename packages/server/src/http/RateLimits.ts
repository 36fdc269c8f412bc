/**
 * Rate limits (contract: Rate limits): by account, wallets without a plan apart. A request takes one token; in a batch
 * of MCP each message does. The headers say on every answer how much is left.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { HttpServerRequest } from "effect/http"
import { Caller, RateLimiting } from "@muniment/domain/api/Middleware"
import { RateLimited } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { rateLimitOf } from "@muniment/domain/Plans"
import { answerHeaders } from "../answerHeaders.ts"
import { TokenBuckets } from "./TokenBuckets.ts"

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
        Effect.andThen(take, handler)
  )
)

const takeToken = Effect.fnUntraced(function* (buckets: TokenBuckets) {
  const caller = yield* Caller
  const rate = rateLimitOf(caller)
  if (rate === undefined) return
  const allowance = buckets.take(
    caller.keyId === undefined ? `wallet:${caller.account.id}` : caller.account.id,
    rate,
    yield* Clock.currentTimeMillis
  )
  yield* answerHeaders({
    "x-ratelimit-limit": String(allowance.limit),
    "x-ratelimit-remaining": String(allowance.remaining),
    "x-ratelimit-reset": String(allowance.resetSeconds),
    ...(!allowance.isAllowed && { "retry-after": String(allowance.retryAfterSeconds) })
  })
  if (allowance.isAllowed) return
  return yield* new RateLimited({
    code: "rate_limited",
    error: `more requests than the plan "${caller.account.plan}" allows; try again in ${allowance.retryAfterSeconds} s`
  })
})
