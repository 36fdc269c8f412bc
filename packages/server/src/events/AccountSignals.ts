/**
 * Wakes those who follow an account when one of its agents has committed something. A signal carries no content and may
 * be late or repeated; what happened is read from the agent's file.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { CommitSignal } from "@muniment/engine/namespace/Namespace"

type Listener = (tag: NamespaceTag) => void

export class AccountSignals extends Context.Service<
  AccountSignals,
  {
    /** To one account, undefined: to all; until the scope ends. */
    readonly listen: (accountId: string | undefined, listener: Listener) => Effect.Effect<void, never, Scope.Scope>
  }
>()("muniment/server/AccountSignals") {
  static readonly layer: Layer.Layer<AccountSignals> = Layer.effectContext(
    Effect.sync(() => {
      const listeners = new Map<string | undefined, Set<Listener>>()
      const add = (accountId: string | undefined, listener: Listener) => {
        const own = listeners.get(accountId) ?? new Set()
        listeners.set(accountId, own.add(listener))
      }
      const remove = (accountId: string | undefined, listener: Listener) => {
        const own = listeners.get(accountId)
        own?.delete(listener)
        if (own?.size === 0) listeners.delete(accountId)
      }
      return Context.make(AccountSignals, {
        listen: (accountId, listener) =>
          Effect.acquireRelease(
            Effect.sync(() => add(accountId, listener)),
            () => Effect.sync(() => remove(accountId, listener))
          )
      }).pipe(
        Context.add(CommitSignal, ({ account, tag }) => {
          for (const concerned of [undefined, account])
            for (const listener of listeners.get(concerned) ?? []) listener(tag)
        })
      )
    })
  )
}
