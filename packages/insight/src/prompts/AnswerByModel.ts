/**
 * Answers written by the language model: question and memories go in fenced, an answer with the numbers
 * of its memories comes out, and is believed only as far as those memories carry it.
 *
 * Invariants: citations are ids of the given evidence; without a valid one the answer is `nothingKnown`;
 * names, numbers and days of an answer stand in what it cites or in the question. A failure of the
 * model is left to the caller.
 */
import { Effect } from "effect"
import { type ModelFailure, StructuredModel } from "@muniment/models/llm/StructuredModel"
import { type AnswerRequest, type Evidence, unanswered, type WrittenAnswer } from "../answers/WrittenAnswer.ts"
import {
  answerLengthMax,
  answerPrompt,
  answerPromptVersion,
  answerSystem,
  answerTokensMax,
  WireAnswer
} from "./AnswerPrompt.ts"
import { clippedText, leafTexts } from "./ClippedJson.ts"
import { datesInText } from "./DatesInText.ts"
import { drawFence } from "./Fence.ts"
import { isInstruction } from "./InstructionText.ts"
import { inventedWord, isWordingShown, makeShownText, type ShownText } from "./Support.ts"
import { visibleLine } from "./VisibleText.ts"

export const answerByModel: (request: AnswerRequest) => Effect.Effect<WrittenAnswer, ModelFailure, StructuredModel> =
  Effect.fn("AnswerByModel.answer")(function* (request) {
    // Without evidence there is nothing that a model could add: it is not asked.
    if (request.evidence.length === 0) return unanswered("model")
    const model = yield* StructuredModel
    const fence = yield* drawFence
    yield* Effect.annotateCurrentSpan({ promptVersion: answerPromptVersion })
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
    return groundedAnswer(wire, numbered, request.question)
  })

const groundedAnswer = (wire: WireAnswer, numbered: ReadonlyArray<Evidence>, question: string): WrittenAnswer => {
  const cited = [...new Set(wire.citations)].flatMap((number) => numbered[number - 1] ?? [])
  const answer = clippedText(plainAnswer(wire.answer), answerLengthMax)
  if (!wire.supported || cited.length === 0 || answer === "") return unanswered("model")
  // What an answer may say nowhere: our rules, orders, and what the cited memories do not have.
  if (isInstruction(answer) || recites(answer) || !isCarried(answer, cited, question)) return unanswered("model")
  return { answer, citations: cited.map(({ id }) => id), grounded: true, method: "model" }
}

/** Markdown images, links and HTML tags become their text: a client that renders them would load an address. */
const plainAnswer = (answer: string): string =>
  visibleLine(answer)
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/[<>`]/g, "")
    .trim()

/** Words in a row of our rules that no answer has by chance. */
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

/** Dates without a year are compared without one. */
const noYear = 0

const isCarried = (answer: string, cited: ReadonlyArray<Evidence>, question: string): boolean => {
  const texts = cited.flatMap(({ kind, data, when }) => [kind, ...leafTexts(data), when ?? ""])
  const shown = makeShownText([...texts, question])
  const told = new Set(texts.flatMap((text) => datesInText(text, noYear).dates.flat()))
  const { dates, rest } = datesInText(answer, noYear)
  const claims = [{ property: "answer", text: rest }]
  const areDatesTold = dates.every((days) => days.some((day) => isDayTold(day, told)))
  return areDatesTold && inventedWord(claims, shown) === undefined && areSentencesShown(rest, shown)
}

/** Each for itself: a sentence that the memories carry must not bring one along that they do not. */
const areSentencesShown = (answer: string, shown: ShownText): boolean =>
  answer
    .split(/(?<=[.!?])\s+/)
    .filter((sentence) => !/^(?:yes|no)[.!]$/i.test(sentence))
    .every((text) => isWordingShown([{ property: "answer", text }], shown))

/** "in May 2026" and "in 2026" say less than the day that a memory has, "3 May" says it without the year. */
const isDayTold = (day: string, told: ReadonlySet<string>): boolean => {
  const prefix = day.endsWith("-01-01") ? day.slice(0, 4) : day.endsWith("-01") ? day.slice(0, 7) : day
  const isYearless = /^-?\d-/.test(day)
  return [...told].some((each) => (isYearless ? each.slice(-5) === day.slice(-5) : each.startsWith(prefix)))
}
