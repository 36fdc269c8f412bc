/**
 * Calls of each account that have passed their credentials and are not answered yet. Who takes an account away waits
 * for them: new ones are refused already. An account has no more of them than its quota.
 */
import { Context, Effect, Layer } from "effect"
import type { Account } from "@muniment/domain/Account"
import type { RateLimited } from "@muniment/domain/Errors"
import { tooManyOpen } from "@muniment/domain/Plans"
import { Quotas } from "@muniment/control/accounts/Accounts"
import { boundMet } from "../boundMet.ts"
import { retryAfter } from "../headers.ts"

const pollMillis = 20
const retryAfterSeconds = 1

export class CallsUnderWay extends Context.Service<
  CallsUnderWay,
  {
    /** Runs the call, unless as many are under way as the account may have. */
    readonly during: <A, E, R>(account: Account, call: Effect.Effect<A, E, R>) => Effect.Effect<A, E | RateLimited, R>
    readonly count: (accountId: string) => number
    /** Succeeds once no call of the account is under way. */
    readonly ended: (accountId: string) => Effect.Effect<void>
  }
>()("muniment/server/CallsUnderWay") {
  static readonly layer = Layer.effect(
    this,
    Effect.map(Quotas, (quotas) => make(quotas))
  )
}

const make = (quotas: Quotas["Service"]): CallsUnderWay["Service"] => {
  /** Accounts with calls only. */
  const counts = new Map<string, number>()
  const countOf = (accountId: string) => counts.get(accountId) ?? 0
  const leave = (accountId: string) =>
    Effect.sync(() => {
      const count = countOf(accountId) - 1
      if (count === 0) counts.delete(accountId)
      else counts.set(accountId, count)
    })
  const refuse = Effect.fnUntraced(function* (count: number, limit: number) {
    yield* retryAfter(retryAfterSeconds)
    const details = yield* boundMet("open_requests", `${limit} at once`, retryAfterSeconds)
    return yield* tooManyOpen(count, limit, details)
  })
  const ended = (accountId: string): Effect.Effect<void> =>
    Effect.suspend(() =>
      counts.has(accountId) ? Effect.andThen(Effect.sleep(pollMillis), ended(accountId)) : Effect.void
    )
  return {
    during: <A, E, R>(account: Account, call: Effect.Effect<A, E, R>) =>
      // No interruption comes between counting the call and `leave`.
      Effect.uninterruptibleMask((restore): Effect.Effect<A, E | RateLimited, R> => {
        const count = countOf(account.id)
        const limit = quotas.of(account).openRequests
        if (limit !== undefined && count >= limit) return refuse(count, limit)
        counts.set(account.id, count + 1)
        return Effect.ensuring(restore(call), leave(account.id))
      }),
    count: countOf,
    ended
  }
}
