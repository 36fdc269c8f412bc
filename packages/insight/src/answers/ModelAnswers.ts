/**
 * Answers by the configured language model, and extractive ones when it fails. Where it replied that nothing is known, or
 * what it said does not stand, nothing is claimed: rules know less than it does.
 *
 * Invariant: whatever the model returns, citations are ids of the evidence, each once, and an answer without a citation
 * is `nothingKnown`.
 */
import { Effect, Layer } from "effect"
import { StructuredModel } from "@muniment/models/llm/StructuredModel"
import type { ModelFailure } from "@muniment/models/llm/ModelFailure"
import { AnswerWriter } from "./AnswerWriter.ts"
import { extractiveAnswer } from "./ExtractiveAnswers.ts"
import { type AnswerRequest, askedAt, type Evidence, unanswered, type WrittenAnswer } from "./WrittenAnswer.ts"
import { clippedText, visibleLine } from "@muniment/language/text/VisibleText"
import { dateSupport } from "@muniment/language/calendar/DateSupport"
import { drawFence } from "../prompts/Fence.ts"
import { isInstruction } from "../prompts/InstructionText.ts"
import { answerCheck } from "./AnswerCheck.ts"
import {
  answerLengthMax,
  answerPrompt,
  answerPromptVersion,
  answerSystem,
  answerTokensMax,
  repairPrompt,
  WireAnswer
} from "./AnswerPrompt.ts"
import { readQuestion } from "@muniment/language/question/Question"
import { readQuotes } from "./Quote.ts"

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

export const answerByModel = Effect.fn("AnswerByModel.answer")(function* (
  request: AnswerRequest
): Effect.fn.Return<WrittenAnswer, ModelFailure, StructuredModel> {
  // Without evidence the model is not asked.
  if (request.evidence.length === 0) return unanswered("model")
  const model = yield* StructuredModel
  const fence = yield* drawFence
  yield* Effect.annotateCurrentSpan({ promptVersion: answerPromptVersion })
  const asked = readQuestion(request.question)
  const quotes = readQuotes(asked, request.evidence)
  const { numbered, prompt } = answerPrompt(fence, request, quotes)
  const faultsIn = answerCheck({
    asked,
    quotes,
    numbered,
    nowMillis: request.nowMillis,
    dates: dateSupport()
  })
  const ask = (text: string) =>
    model.generate({
      account: request.account,
      purpose: "answer",
      system: answerSystem,
      prompt: text,
      schema: WireAnswer,
      schemaName: "answer",
      outputTokensMax: answerTokensMax
    })
  const first = plainReply(yield* ask(prompt))
  if (!claims(first) || obeys(first)) return unanswered("model")
  const faults = faultsIn(first)
  if (faults.length === 0) return writtenAnswer(first, numbered)
  const second = plainReply(yield* ask(repairPrompt(fence, prompt, first, faults)))
  if (!claims(second) || obeys(second) || faultsIn(second).length > 0) return unanswered("model")
  return writtenAnswer(second, numbered)
})

const claims = ({ known, sentences }: WireAnswer): boolean =>
  known === "yes" && sentences.some(({ text }) => text !== "")

const writtenAnswer = ({ sentences }: WireAnswer, numbered: ReadonlyArray<Evidence>): WrittenAnswer => ({
  answer: clippedText(textOf(sentences), answerLengthMax),
  citations: [
    ...new Set(sentences.flatMap(({ citations }) => citations.flatMap((number) => numbered[number - 1]?.id ?? [])))
  ],
  grounded: true,
  method: "model"
})

const textOf = (sentences: WireAnswer["sentences"]): string => sentences.map(({ text }) => text).join(" ")

const plainReply = ({ known, sentences }: WireAnswer): WireAnswer => ({
  known,
  sentences: joinedYes(
    sentences.map(({ citations, text }) => ({ citations, text: plainAnswer(text) })).filter(({ text }) => text !== "")
  )
})

/** "Yes." with the sentence behind it. */
const joinedYes = (sentences: WireAnswer["sentences"]): WireAnswer["sentences"] => {
  const [first, second, ...others] = sentences
  if (first === undefined || second === undefined || !/^(?:yes|no)[.,!]?$/i.test(first.text)) return sentences
  return [{ text: `${first.text} ${second.text}`, citations: [...first.citations, ...second.citations] }, ...others]
}

/** Replaces Markdown images, links and HTML tags by their text: a client that renders them would load a URL. */
const plainAnswer = (answer: string): string =>
  visibleLine(answer)
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/[<>`]/g, "")
    .trim()

/** Parts of our instructions, and orders. */
const obeys = ({ sentences }: WireAnswer): boolean => {
  const answer = textOf(sentences)
  return isInstruction(answer) || recites(answer)
}

/** So many consecutive words of our instructions are no coincidence. */
const recitedWords = 6
const wordsOf = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
const rulesText = ` ${wordsOf(answerSystem).join(" ")} `

const recites = (answer: string): boolean => {
  const words = wordsOf(answer)
  return words.some(
    (_, start) =>
      start + recitedWords <= words.length &&
      rulesText.includes(` ${words.slice(start, start + recitedWords).join(" ")} `)
  )
}
