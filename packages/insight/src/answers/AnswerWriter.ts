/**
 * Port of search mode `answer` (contract: Answers and maps). In: a question and the memories that a search found. Out:
 * a short answer that says nothing beyond them.
 */
import { Context, Effect, Layer } from "effect"
import { type AnswerRequest, askedAt, type WrittenAnswer } from "./WrittenAnswer.ts"

export class AnswerWriter extends Context.Service<
  AnswerWriter,
  {
    /** Never fails: without a model, or when it gives up, the answer is extractive. */
    readonly write: (request: AnswerRequest) => Effect.Effect<WrittenAnswer>
  }
>()("muniment/insight/AnswerWriter") {
  /** A tenth of the service's own code, which most starts do not need: loaded with the first answer. */
  static readonly layerExtractive = Layer.succeed(this, {
    write: (request: AnswerRequest) =>
      Effect.map(
        Effect.promise(() => import("./ExtractiveAnswers.ts")),
        ({ extractiveAnswer }) => extractiveAnswer(request.question, request.evidence, askedAt(request))
      )
  })
}
