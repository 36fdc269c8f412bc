/**
 * Answers written by the language model. In: question and memories, fenced. Out: an answer with the numbers of the
 * memories it uses, kept only as far as those memories support it.
 *
 * Invariants: citations are ids of the given evidence; without a valid one the answer is `nothingKnown`;
 * names, numbers, days, predicates and denials of an answer appear in what it cites, the first three or its words also in
 * the question (but one for yes or no); no value is passed on that a newer
 * message may have changed. The caller handles a failure of the model.
 */
import { Effect } from "effect"
import { type ModelFailure, StructuredModel } from "@muniment/models/llm/StructuredModel"
import { type AnswerRequest, type Evidence, unanswered, type WrittenAnswer } from "./WrittenAnswer.ts"
import {
  answerLengthMax,
  answerPrompt,
  answerPromptVersion,
  answerSystem,
  answerTokensMax,
  WireAnswer
} from "./AnswerPrompt.ts"
import { isClaimCarried } from "./CarriedClaim.ts"
import { isAskedFor } from "./CitedAnswer.ts"
import { spokenDates } from "./SpokenDate.ts"
import { clippedText, leafTexts } from "../prompts/ClippedJson.ts"
import { datesInText } from "../prompts/DatesInText.ts"
import { drawFence } from "../prompts/Fence.ts"
import { isInstruction } from "../prompts/InstructionText.ts"
import { inventedWord, isWordingShown, makeShownText, type ShownText } from "../prompts/Support.ts"
import { visibleLine } from "../text/VisibleText.ts"

export const answerByModel: (request: AnswerRequest) => Effect.Effect<WrittenAnswer, ModelFailure, StructuredModel> =
  Effect.fn("AnswerByModel.answer")(function* (request) {
    // Without evidence the model is not asked.
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
  // Refused in an answer: parts of our instructions, orders, and claims without support in the cited memories.
  if (isInstruction(answer) || recites(answer) || !isCarried(answer, cited, question)) return unanswered("model")
  // The conditions that a quote has to meet: the right speaker, the part that was asked, the newest value.
  if (!isAskedFor(question, answer, cited, numbered)) return unanswered("model")
  return { answer, citations: cited.map(({ id }) => id), grounded: true, method: "model" }
}

/** Replaces Markdown images, links and HTML tags by their text: a client that renders them would load a URL. */
const plainAnswer = (answer: string): string =>
  visibleLine(answer)
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/[<>`]/g, "")
    .trim()

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

/** Dates without a year are compared without one. */
const noYear = 0

const isCarried = (answer: string, cited: ReadonlyArray<Evidence>, question: string): boolean => {
  const texts = cited.flatMap(({ kind, data, when }) => [kind, ...leafTexts(data), when ?? "", ...spokenIn(data, when)])
  const shown = makeShownText([...texts, question])
  const told = new Set(texts.flatMap((text) => datesInText(text, noYear).dates.flat()))
  const { dates, rest } = datesInText(answer, noYear)
  const claims = [{ property: "answer", text: rest }]
  const areDatesTold = dates.every((days) => days.some((day) => isDayTold(day, told)))
  const isBacked = isClaimCarried(rest, texts, question)
  return areDatesTold && isBacked && inventedWord(claims, shown) === undefined && areSentencesShown(rest, shown)
}

/** What "yesterday" is in a message. */
const spokenIn = (data: Evidence["data"], when: string | undefined): ReadonlyArray<string> =>
  leafTexts(data).flatMap((text) => spokenDates(text, when).map(({ resolved }) => resolved))

/** Checked one by one: a supported sentence must not carry an unsupported one along. */
const areSentencesShown = (answer: string, shown: ShownText): boolean =>
  answer
    .split(/(?<=[.!?])\s+/)
    .filter((sentence) => !/^(?:yes|no)[.!]$/i.test(sentence))
    .every((text) => isWordingShown([{ property: "answer", text }], shown))

/** Less precise forms of a memory's day: "in May 2026", "in 2026", "3 May". */
const isDayTold = (day: string, told: ReadonlySet<string>): boolean => {
  const prefix = day.endsWith("-01-01") ? day.slice(0, 4) : day.endsWith("-01") ? day.slice(0, 7) : day
  const isYearless = /^-?\d-/.test(day)
  return [...told].some((each) => (isYearless ? each.slice(-5) === day.slice(-5) : each.startsWith(prefix)))
}
