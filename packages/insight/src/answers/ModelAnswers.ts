/**
 * Answers by the configured language model, and by extraction when it gives none: a search in mode
 * `answer` never fails for want of a model.
 *
 * Invariant, whatever the model says: citations are ids of the evidence, each once, and an answer
 * without one is `nothingKnown`.
 */
import { Effect } from "effect"
import { StructuredModel } from "@muniment/models/llm/StructuredModel"
import { answerByModel } from "../prompts/AnswerByModel.ts"
import { extractiveAnswer } from "./ExtractiveAnswers.ts"
import { type AnswerRequest, type Evidence, unanswered, type WrittenAnswer } from "./WrittenAnswer.ts"

/** What stands behind `AnswerWriter.layerWithModel`. */
export const makeModelAnswers = Effect.gen(function* () {
  const model = yield* StructuredModel
  const write = Effect.fn("ModelAnswers.write")(function* (request: AnswerRequest) {
    return yield* answerByModel(request).pipe(
      Effect.provideService(StructuredModel, model),
      Effect.map((answer) => groundedIn(request.evidence, answer)),
      // By reason alone: a failure's message may come from a provider that quotes what it was sent.
      Effect.catchTag("ModelFailure", ({ reason }) =>
        Effect.logWarning("the language model gave no answer, the memories are quoted instead").pipe(
          Effect.annotateLogs({ reason }),
          Effect.as(extractiveAnswer(request.question, request.evidence))
        )
      )
    )
  })
  return { write } as const
})

/** The port's invariant, kept here too: what a model wrote is believed only with memories behind it. */
export const groundedIn = (evidence: ReadonlyArray<Evidence>, written: WrittenAnswer): WrittenAnswer => {
  const known = new Set(evidence.map(({ id }) => id))
  const citations = [...new Set(written.citations)].filter((id) => known.has(id))
  const isUsable = written.grounded && citations.length > 0 && written.answer.trim() !== ""
  return isUsable ? { ...written, citations } : unanswered(written.method)
}
