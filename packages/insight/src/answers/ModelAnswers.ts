/**
 * Answers by the configured language model, and extractive ones when it fails. Where it replied that nothing is known, or
 * what it said does not stand, nothing is claimed: rules know less than it does.
 *
 * Invariant: whatever the model returns, citations are ids of the evidence, each once, and an answer without a citation
 * is `nothingKnown`.
 */
import { Effect, Layer } from "effect"
import { StructuredModel } from "@muniment/models/llm/StructuredModel"
import { answerByModel } from "./AnswerByModel.ts"
import { AnswerWriter } from "./AnswerWriter.ts"
import { extractiveAnswer } from "./ExtractiveAnswers.ts"
import { type AnswerRequest, askedAt, type Evidence, unanswered, type WrittenAnswer } from "./WrittenAnswer.ts"

const makeModelAnswers = Effect.gen(function* () {
  const model = yield* StructuredModel
  const write = Effect.fn("ModelAnswers.write")(function* (request: AnswerRequest) {
    return yield* answerByModel(request).pipe(
      Effect.provideService(StructuredModel, model),
      Effect.map((answer) => groundedIn(request.evidence, answer)),
      // The model's port logs it.
      Effect.catchTag("ModelFailure", () =>
        Effect.sync(() => extractiveAnswer(request.question, request.evidence, askedAt(request)))
      )
    )
  })
  return { write } as const
})

/** By the model; when it fails, the memories are quoted. */
export const layerOfModel = Layer.effect(AnswerWriter, makeModelAnswers)

/** Enforces the invariant: keeps valid citations; without one the answer is `nothingKnown`. */
export const groundedIn = (evidence: ReadonlyArray<Evidence>, written: WrittenAnswer): WrittenAnswer => {
  const known = new Set(evidence.map(({ id }) => id))
  const citations = [...new Set(written.citations)].filter((id) => known.has(id))
  const isUsable = written.grounded && citations.length > 0 && written.answer.trim() !== ""
  return isUsable ? { ...written, citations } : unanswered(written.method)
}
