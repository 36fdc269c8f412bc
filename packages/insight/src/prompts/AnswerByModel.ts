/**
 * Answers written by the language model: question and memories go in fenced, an answer with the numbers
 * of its memories comes out, and is believed only as far as those memories carry it.
 *
 * Invariants: citations are ids of the given evidence; without a valid one the answer is `nothingKnown`.
 * A failure of the model is left to the caller.
 */
import { Effect } from "effect"
import { type ModelFailure, StructuredModel } from "@muniment/models/llm/StructuredModel"
import { type Evidence, nothingKnown, type WrittenAnswer } from "../answers/AnswerWriter.ts"
import { answerLengthMax, answerPrompt, answerSystem, answerTokensMax, WireAnswer } from "./AnswerPrompt.ts"
import { clippedText } from "./ClippedJson.ts"
import { drawFence } from "./Fence.ts"
import { visibleLine } from "./VisibleText.ts"

export interface AnswerRequest {
  /** Whose budget the model spends. */
  readonly account: string
  readonly question: string
  /** Best first. */
  readonly evidence: ReadonlyArray<Evidence>
}

const notGrounded: WrittenAnswer = { answer: nothingKnown, citations: [], grounded: false, method: "model" }

export const answerByModel: (request: AnswerRequest) => Effect.Effect<WrittenAnswer, ModelFailure, StructuredModel> =
  Effect.fn("AnswerByModel.answer")(function* (request) {
    // Without evidence there is nothing that a model could add: it is not asked.
    if (request.evidence.length === 0) return notGrounded
    const model = yield* StructuredModel
    const fence = yield* drawFence
    const { prompt, numbered } = answerPrompt(fence, request.question, request.evidence)
    const wire = yield* model.generate({
      account: request.account,
      purpose: "answer",
      system: answerSystem,
      prompt,
      schema: WireAnswer,
      schemaName: "answer",
      outputTokensMax: answerTokensMax
    })
    return groundedAnswer(wire, numbered)
  })

const groundedAnswer = (wire: WireAnswer, numbered: ReadonlyArray<Evidence>): WrittenAnswer => {
  const cited = [...new Set(wire.citations)].flatMap((number) => numbered[number - 1] ?? [])
  const answer = clippedText(visibleLine(wire.answer), answerLengthMax)
  if (!wire.supported || cited.length === 0 || answer === "") return notGrounded
  return { answer, citations: cited.map(({ id }) => id), grounded: true, method: "model" }
}
