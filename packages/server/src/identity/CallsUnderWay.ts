/**
 * Calls of each account that have passed their credentials and are not answered yet, and what operators change in it.
 * Who takes an account away waits for them: new ones are refused already. An account has no more calls than its quota.
 */
import { Context, Effect, Layer } from "effect"
import type { Account } from "@muniment/domain/Account"
import type { Conflict, RateLimited } from "@muniment/domain/Errors"
import { tooManyOpen } from "@muniment/domain/Plans"
import { AccountErasures } from "@muniment/control/accounts/AccountErasures"
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
    /** Runs an operator's change, of which the account's quota counts none, unless an erasure has begun. */
    readonly acting: <A, E, R>(accountId: string, change: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Conflict, R>
    /** Of the account itself. */
    readonly count: (accountId: string) => number
    /** Succeeds once no call of the account and no change by an operator is under way. */
    readonly ended: (accountId: string) => Effect.Effect<void>
  }
>()("muniment/server/CallsUnderWay") {
  static readonly layer = Layer.effect(
    this,
    Effect.gen(function* () {
      return make(yield* Quotas, yield* AccountErasures)
    })
  )
}

const make = (quotas: Quotas["Service"], erasures: AccountErasures["Service"]): CallsUnderWay["Service"] => {
  const calls = new Counts()
  const changes = new Counts()
  const refuse = Effect.fnUntraced(function* (count: number, limit: number) {
    yield* retryAfter(retryAfterSeconds)
    const details = yield* boundMet("open_requests", `${limit} at once`, retryAfterSeconds)
    return yield* tooManyOpen(count, limit, details)
  })
  const ended = (accountId: string): Effect.Effect<void> =>
    Effect.suspend(() =>
      calls.of(accountId) + changes.of(accountId) > 0
        ? Effect.andThen(Effect.sleep(pollMillis), ended(accountId))
        : Effect.void
    )
  return {
    during: <A, E, R>(account: Account, call: Effect.Effect<A, E, R>) =>
      // No interruption comes between counting the call and its end.
      Effect.uninterruptibleMask((restore): Effect.Effect<A, E | RateLimited, R> => {
        const count = calls.of(account.id)
        const limit = quotas.of(account).openRequests
        return limit !== undefined && count >= limit ? refuse(count, limit) : calls.counting(account.id, restore(call))
      }),
    // Counted before it is asked for: an erasure that begins in between waits for the change.
    acting: (accountId, change) =>
      Effect.uninterruptibleMask((restore) =>
        changes.counting(accountId, restore(Effect.andThen(erasures.requireNone(accountId), change)))
      ),
    count: (accountId) => calls.of(accountId),
    ended
  }
}

class Counts {
  /** Accounts with some only. */
  readonly #byAccount = new Map<string, number>()

  of(accountId: string): number {
    return this.#byAccount.get(accountId) ?? 0
  }

  /** Counts `effect` from now to its end; not to be interrupted itself. */
  counting<A, E, R>(accountId: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    this.#add(accountId, 1)
    return Effect.ensuring(
      effect,
      Effect.sync(() => this.#add(accountId, -1))
    )
  }

  #add(accountId: string, difference: 1 | -1): void {
    const count = this.of(accountId) + difference
    if (count === 0) this.#byAccount.delete(accountId)
    else this.#byAccount.set(accountId, count)
  }
}
