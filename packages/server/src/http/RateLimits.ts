/**
 * How often a caller may ask (interface.md section 10.4): by account, wallets without a plan apart. The
 * headers tell where he stands on every answer, a refusal also when to come again.
 */
import { Clock, Effect, Layer } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"
import { Caller, RateLimiting } from "@muniment/domain/api/Middleware"
import { RateLimited } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { rateLimitOf } from "@muniment/domain/Plans"
import { TokenBuckets } from "./TokenBuckets.ts"

export const rateLimiting = (options: { readonly isOn: boolean }) =>
  Layer.sync(RateLimiting, () => {
    const buckets = new TokenBuckets(Limits.rateLimitedCallersMax)
    return (handler) => (options.isOn ? Effect.andThen(take(buckets), handler) : handler)
  })

const take = Effect.fnUntraced(function* (buckets: TokenBuckets) {
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

/** Headers of the answer to the current request, whatever it turns out to be. */
export const answerHeaders = (headers: Readonly<Record<string, string>>) =>
  HttpEffect.appendPreResponseHandler((_, response) => Effect.succeed(HttpServerResponse.setHeaders(response, headers)))
