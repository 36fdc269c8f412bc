/**
 * Re-ranking by the configured language model, in one call. Numbers that it makes up, or repeats, are left out: whatever a
 * memory makes it reply, it can only change the order.
 */
import { Effect, Layer } from "effect"
import { ModelFailure, StructuredModel } from "@muniment/models/llm/StructuredModel"
import { drawFence } from "../prompts/Fence.ts"
import { ModelRanker, type RankRequest } from "./ModelRanker.ts"
import { rankPrompt, rankPromptVersion, rankSystem, rankTokensMax, WireRanking } from "./RankPrompt.ts"

export const LlmRanker = {
  layer: Layer.effect(
    ModelRanker,
    Effect.map(StructuredModel, (model) => ({
      model: model.name,
      rank: Effect.fn("LlmRanker.rank")(function* (request: RankRequest) {
        yield* Effect.annotateCurrentSpan({ promptVersion: rankPromptVersion })
        const { order } = yield* model.generate({
          account: request.account,
          purpose: "ranking",
          system: rankSystem,
          prompt: rankPrompt(yield* drawFence, request),
          schema: WireRanking,
          schemaName: "ranking",
          outputTokensMax: rankTokensMax
        })
        const places = [...new Set(order)].flatMap((number) => (number - 1 in request.evidence ? [number - 1] : []))
        return places.length === 0 && order.length > 0 ? yield* unknownOnly : places
      })
    }))
  )
}

const unknownOnly = new ModelFailure({
  reason: "malformed",
  message: "the language model named none of the memories that it was shown"
})
