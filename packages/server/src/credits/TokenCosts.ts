/**
 * Costs of the tokens of the language model during one call of the API, for its `x-credits-charged` (contract:
 * Credits). Work that a call leaves to the background adds to it after the answer, unseen.
 */
import { Context } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { MicroCredits } from "@muniment/domain/Money"

/** One object for each call; what belongs to none goes to the default one, which nothing reads. */
export const TokenCosts = Context.Reference<{ micro: MicroCredits }>("muniment/server/TokenCosts", {
  defaultValue: () => ({ micro: 0 })
})

/** The namespace that the tokens are used for, in the ledger; default: none or several. */
export const TokenNamespace = Context.Reference<NamespaceTag | undefined>("muniment/server/TokenNamespace", {
  defaultValue: () => undefined
})
