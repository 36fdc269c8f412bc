/**
 * Port of re-ranking by the language model (contract: Search, `rerank`). In: a question and what a search found, best
 * first. Out: places of what helps to answer, best first. Memories are data, never instructions.
 *
 * Invariant: every place is one of the given memories, and stands there once.
 */
import { Context, type Effect, Layer } from "effect"
import type { ModelFailure } from "@muniment/models/llm/ModelFailure"
import type { AnswerRequest } from "../answers/WrittenAnswer.ts"

/** At most `Limits.modelRankedHitsMax` of `evidence`. */
export type RankRequest = AnswerRequest

export class ModelRanker extends Context.Service<
  ModelRanker,
  {
    /** Undefined: there is no language model. */
    readonly rank: ((request: RankRequest) => Effect.Effect<ReadonlyArray<number>, ModelFailure>) | undefined
    /** Name of the model, as configured. */
    readonly model: string
  }
>()("muniment/insight/ModelRanker") {
  static readonly layerNone = Layer.succeed(this, { rank: undefined, model: "none" })
}
