/**
 * Port of the configured language model: a prompt and a JSON Schema in, a value that matches out. The implementation
 * (`ModelCalls.ts`) retries, repairs once, keeps to its budget and gives up in time; a caller sees a value or one
 * failure, never part of an answer. Without a configured model this service is absent.
 */
import { Context, type Effect, Layer } from "effect"
import { layerNodeHttp } from "@effect/platform-node/NodeHttpClient"
import type { LanguageModelConfig, StructuredRequest } from "./LanguageModelConfig.ts"
import { makeModelCalls } from "./ModelCalls.ts"
import type { ModelBudget } from "./ModelBudget.ts"
import { ModelFailure, type ModelFailureReason, type ModelProblem } from "./ModelFailure.ts"

export { ModelFailure, type ModelFailureReason, type ModelProblem }

export class StructuredModel extends Context.Service<
  StructuredModel,
  {
    /** Name of the model as configured. */
    readonly name: string
    /** Fails as `unpaid` where an account's credits do not cover these requests together; asks nothing. */
    readonly afford: (requests: ReadonlyArray<StructuredRequest<unknown>>) => Effect.Effect<void, ModelFailure>
    /** Undefined: its last call was answered, or none was made. */
    readonly problem: Effect.Effect<ModelProblem | undefined>
    readonly generate: <A>(request: StructuredRequest<A>) => Effect.Effect<A, ModelFailure>
  }
>()("muniment/models/StructuredModel") {
  /**
   * Builds without a request; the first call finds out whether the server answers. Node's `fetch` would end an exchange
   * after 300 s, whatever its time-out.
   */
  static readonly layer = (config: LanguageModelConfig): Layer.Layer<StructuredModel, never, ModelBudget> =>
    Layer.effect(StructuredModel, makeModelCalls(config)).pipe(Layer.provide(layerNodeHttp))
}
