/**
 * Port of the playground's model (contract: Context): the turns of a chat and what is remembered in, its next turn out.
 */
import { Context, type Effect, Layer } from "effect"
import type { ModelFailure } from "@muniment/models/llm/ModelFailure"

export interface ChatTurns {
  /** Id of the account whose budget pays. */
  readonly account: string
  /** Text of a context; empty: nothing is known. */
  readonly remembered: string
  /** Oldest first; the last is the user's. */
  readonly turns: ReadonlyArray<{ readonly role: string; readonly content: string }>
}

export class ChatPartner extends Context.Service<
  ChatPartner,
  {
    /** Undefined: there is no language model. */
    readonly reply: ((chat: ChatTurns) => Effect.Effect<string, ModelFailure>) | undefined
    /** Name of the model, as configured. */
    readonly model: string
  }
>()("muniment/insight/ChatPartner") {
  static readonly layerNone = Layer.succeed(this, { reply: undefined, model: "none" })
}
