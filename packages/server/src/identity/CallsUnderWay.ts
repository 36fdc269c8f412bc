/**
 * Calls of each account that have passed their credentials and are not answered yet. Who takes an account away waits
 * for them: new ones are refused already.
 */
import { Context, Effect, Layer } from "effect"

const pollMillis = 20

export class CallsUnderWay extends Context.Service<
  CallsUnderWay,
  {
    readonly during: <A, E, R>(accountId: string, call: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Succeeds once no call of the account is under way. */
    readonly ended: (accountId: string) => Effect.Effect<void>
  }
>()("muniment/server/CallsUnderWay") {
  static readonly layer = Layer.sync(this, () => {
    /** Accounts with calls only. */
    const counts = new Map<string, number>()
    const add = (accountId: string, change: 1 | -1) =>
      Effect.sync(() => {
        const count = (counts.get(accountId) ?? 0) + change
        if (count === 0) counts.delete(accountId)
        else counts.set(accountId, count)
      })
    const ended = (accountId: string): Effect.Effect<void> =>
      Effect.suspend(() =>
        counts.has(accountId) ? Effect.andThen(Effect.sleep(pollMillis), ended(accountId)) : Effect.void
      )
    return CallsUnderWay.of({
      during: (accountId, call) =>
        Effect.acquireUseRelease(
          add(accountId, 1),
          () => call,
          () => add(accountId, -1)
        ),
      ended
    })
  })
}
