/** Port of those who wait for changes: the actor of a namespace calls it after each commit, and waits for nothing. */
import { Context } from "effect"
import type { NamespaceKey } from "../store/NamespaceStore.ts"

/** Called after a commit; by default it does nothing. */
export const CommitSignal = Context.Reference<(key: NamespaceKey) => void>("muniment/engine/CommitSignal", {
  defaultValue: () => () => undefined
})
