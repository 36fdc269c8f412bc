/** The weights of the gate for messages, by logistic regression over the quotes that it weighs. */
import { gateFeatures, readGate } from "@muniment/insight/answers/GroundedGate"
import { hitListOf } from "@muniment/insight/answers/HitList"
import { readQuotes } from "@muniment/insight/answers/Quote"
import { readQuestion } from "@muniment/insight/answers/Question"
import { fitLogistic } from "../retrieval/Logistic.ts"
import type { FoundHit } from "./ChatService.ts"

export interface Judged {
  /** The first one is 1: its weight is the intercept. */
  readonly features: ReadonlyArray<number>
  readonly isPositive: boolean
}

/** Quotes that the gate weighs for a question. */
const QUOTES_MAX = 3
/**
 * Not fitted: questions of LoCoMo name a speaker nearly always, so that it cannot tell what a quote is worth that is of
 * nobody named.
 */
const SPEAKER_WEIGHT = 1.8
const fitted = gateFeatures.filter((name) => name !== "speaker")

export const judgedQuotes = (
  text: string,
  hits: ReadonlyArray<FoundHit>,
  isRight: (hit: FoundHit, quote: string) => boolean
): ReadonlyArray<Judged> => {
  const question = readQuestion(text)
  if (question.open !== undefined) return []
  const evidence = hits.map(({ context, data, id, kind, passage, quality }) => ({
    id,
    kind,
    data,
    passage,
    when: context?.when,
    createdAt: 0,
    relevance: quality.relevance
  }))
  const quotes = readQuotes(question, evidence)
  const list = hitListOf(quotes, text)
  return quotes
    .flatMap((quote): ReadonlyArray<Judged> => {
      const read = quote.statement.speaker === undefined ? undefined : readGate(question, quote, list)
      if (read === undefined) return []
      const hit = hits.find(({ id }) => id === quote.memory.id)!
      return [{ features: [1, ...fitted.map((name) => read[name])], isPositive: isRight(hit, quote.text) }]
    })
    .slice(0, QUOTES_MAX)
}

export const fitGate = (judged: ReadonlyArray<Judged>): Readonly<Record<string, number>> => {
  const [intercept = 0, ...weights] = fitLogistic(judged)
  const rounded = (weight: number): number => Math.round(weight * 100) / 100
  return {
    // At the speaker's best value nothing changes.
    bias: rounded(intercept - SPEAKER_WEIGHT),
    speaker: SPEAKER_WEIGHT,
    ...Object.fromEntries(fitted.map((name, at) => [name, rounded(weights[at]!)]))
  }
}
