/**
 * Port of the configured language model: a prompt and a JSON Schema in, a value that matches out. What
 * stands behind it retries, repairs once, keeps to its budget and gives up in time; a caller sees a
 * value or one failure, never half an answer. Where no model is configured nobody asks for one: other
 * layers stand behind the ports that would.
 */
import { Context, type Effect, Layer, type Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import type { LanguageModelConfig } from "./LanguageModelConfig.ts"
import { makeModelCalls } from "./ModelCalls.ts"
import type { ModelBudget } from "./ModelBudget.ts"
import { ModelFailure, type ModelFailureReason } from "./ModelFailure.ts"

export { ModelFailure, type ModelFailureReason }

export interface StructuredRequest<A> {
  /** Whose budget it spends. */
  readonly account: string
  readonly purpose: "extraction" | "answer"
  /** Instructions: ours, never with text of users in it. */
  readonly system: string
  /** Data, fenced by its author. */
  readonly prompt: string
  /** What the answer must match, an object at its root; its JSON Schema travels with the request. */
  readonly schema: Schema.Codec<A, unknown>
  /** Name of the answer on the wire: letters, digits, `_`. */
  readonly schemaName: string
  readonly outputTokensMax: number
}

export class StructuredModel extends Context.Service<
  StructuredModel,
  {
    /** Name of the model as configured. */
    readonly name: string
    readonly generate: <A>(request: StructuredRequest<A>) => Effect.Effect<A, ModelFailure>
  }
>()("muniment/models/StructuredModel") {
  /** Builds at once and asks nobody; the first call finds out whether the server is there. */
  static readonly layer = (config: LanguageModelConfig): Layer.Layer<StructuredModel, never, ModelBudget> =>
    Layer.effect(StructuredModel, makeModelCalls(config)).pipe(Layer.provide(FetchHttpClient.layer))
}
