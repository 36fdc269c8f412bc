/**
 * Answers written by the language model. In: question and memories, fenced. Out: sentences with the numbers of the
 * memories that each is taken from, kept only if those carry it (`AnswerCheck.ts`). What the check finds is put to the
 * model once; a second reply that fails leaves no claim. The caller handles a failure of the model.
 *
 * Invariants: citations are ids of the given evidence; without a valid one the answer is `nothingKnown`.
 */
import { Effect } from "effect"
import { type ModelFailure, StructuredModel } from "@muniment/models/llm/StructuredModel"
import { clippedText } from "../prompts/ClippedJson.ts"
import { dateSupport } from "../prompts/DateSupport.ts"
import { drawFence } from "../prompts/Fence.ts"
import { isInstruction } from "../prompts/InstructionText.ts"
import { visibleLine } from "../text/VisibleText.ts"
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
import { readQuestion } from "./Question.ts"
import { readQuotes } from "./Quote.ts"
import { type AnswerRequest, type Evidence, unanswered, type WrittenAnswer } from "./WrittenAnswer.ts"

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
