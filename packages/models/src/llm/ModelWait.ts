/**
 * Runs when a call begins to wait for the language model: the server gives the place of the request up, since turns at
 * the model have bounds of their own (`CallSlots.ts`).
 */
import { Context, Effect } from "effect"

export const ModelWait = Context.Reference<Effect.Effect<void>>("muniment/models/ModelWait", {
  defaultValue: () => Effect.void
})
