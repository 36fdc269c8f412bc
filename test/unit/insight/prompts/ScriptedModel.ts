/**
 * The port `StructuredModel` answered by a function of the test. Replies are decoded with the schema of
 * the request as a real model's are; one that does not match is the failure `malformed`.
 */
import { Effect, Layer, Schema } from "effect"
import { StructuredModel } from "@muniment/models/llm/StructuredModel"
import { ModelFailure } from "@muniment/models/llm/ModelFailure"
import type { ModelPurpose, StructuredRequest } from "@muniment/models/llm/LanguageModelConfig"

export interface SeenRequest {
  readonly account: string
  readonly purpose: ModelPurpose
  readonly system: string
  readonly prompt: string
  readonly schema?: Schema.Constraint
}

export type Reply = (request: SeenRequest) => unknown

/** `seen` collects requests in the order of their arrival. A reply that is a `ModelFailure` fails. */
export const scriptedModel = (reply: Reply, seen: Array<SeenRequest> = []): Layer.Layer<StructuredModel> =>
  Layer.succeed(StructuredModel, {
    name: "scripted",
    problem: Effect.undefined,
    afford: () => Effect.void,
    generate: <A>(request: StructuredRequest<A>) => {
      seen.push(request)
      const value = reply(request)
      return value instanceof ModelFailure
        ? Effect.fail(value)
        : Schema.decodeUnknownEffect(request.schema)(value).pipe(
            Effect.mapError(() => new ModelFailure({ reason: "malformed", message: "no match" }))
          )
    }
  })
