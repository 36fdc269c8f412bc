/**
 * Port of search mode `answer` (contract: Answers and maps). In: a question and the memories that a search found. Out:
 * a short answer that says nothing beyond them.
 */
import { Context, Effect, Layer } from "effect"
import { extractiveAnswer } from "./ExtractiveAnswers.ts"
import type { AnswerRequest, WrittenAnswer } from "./WrittenAnswer.ts"

export class AnswerWriter extends Context.Service<
  AnswerWriter,
  {
    /** Never fails: without a model, or when it gives up, the answer is extractive. */
    readonly write: (request: AnswerRequest) => Effect.Effect<WrittenAnswer>
  }
>()("muniment/insight/AnswerWriter") {
  static readonly layerExtractive = Layer.succeed(this, {
    write: ({ question, evidence }: AnswerRequest) => Effect.sync(() => extractiveAnswer(question, evidence))
  })
}
