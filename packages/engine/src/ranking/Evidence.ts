/**
 * Evidence for one candidate, term by term, and the relevance that its sum amounts to. Depends on the candidate, the
 * query and the statistics of the visible memories alone, so scores are comparable between queries and namespaces.
 */
import { dayMillis } from "@muniment/domain/CalendarDay"
import {
  calibrationOf,
  cosineScaleOf,
  sizeRange,
  standoutUnknown,
  type Calibration,
  type EvidenceName,
  type EvidenceWeights,
  type TraitName
} from "./Calibration.ts"
import type { TimeRange } from "@muniment/language/calendar/QuestionDates"
import type { QuestionTraits } from "@muniment/language/question/QuestionTraits"
import { messageTraits } from "../text/MemoryText.ts"

/** A message of a conversation. */
export interface CandidateMessage {
  /** Name, or role. */
  readonly speaker: string
  /** Bits of `messageTraits`. */
  readonly traits: number
}

export interface ScoredCandidate {
  /** BM25F; 0 when no term matches. */
  readonly lexicalScore: number
  readonly matchedTerms: number
  /** With the query's vector; undefined if the memory has no vector yet, or the search has no model. */
  readonly cosine: number | undefined
  /** Greatest cosine with the visible messages around a message; undefined where none is known. */
  readonly aroundCosine?: number | undefined
  /** Model behind `cosine`; a namespace may still hold vectors of another model than the query's. */
  readonly modelId?: string | undefined
  readonly message?: CandidateMessage | undefined
  /** Event time in milliseconds; of a message, when it was sent. */
  readonly eventAt?: number | undefined
  /** Subject of a fact, in lower case. */
  readonly about?: string | undefined
}

/** Traits that the question asks for beside its words. */
export interface AskedTraits extends Pick<QuestionTraits, "isFirstPerson" | "ranges"> {
  /** The one speaker of a visible message whom it names. */
  readonly speaker: string | undefined
  /** How facts name the user, in lower case, if the question is about them. */
  readonly about?: ReadonlySet<string> | undefined
  readonly kind?: QuestionTraits["kind"] | undefined
  readonly isOfAssistant?: boolean | undefined
  readonly goesOnAt?: QuestionTraits["goesOnAt"]
}

export interface ScoredQuery {
  readonly scoreBound: number
  readonly termCount: number
  /** Model of the query's vector; undefined for a search by words alone. */
  readonly modelId: string | undefined
  /** Whether the model knows the language of the question, so that cosines mean something; absent: it does. */
  readonly isMeaningful?: boolean | undefined
  readonly asked?: AskedTraits | undefined
  /** Visible memories; absent: as many as the constants were fitted on at most. */
  readonly documents?: number | undefined
  /** Absent where too few cosines are known. */
  readonly cosines?: CosineSpread | undefined
  /** Whether a visible memory has a word of the query; absent: one has. */
  readonly hasWords?: boolean | undefined
}

/** Cosines of the best by meaning, on the scale of `cosineScaleOf`. */
export interface CosineSpread {
  readonly mean: number
  readonly deviation: number
}

/** Values of the terms of the score. */
export interface ScoreTerms extends Readonly<Record<TraitName, number>> {
  readonly calibration: Calibration
  /** Share of the query's greatest possible lexical score, 0..1. */
  readonly words: number
  /** On the scale of `cosineScaleOf`; 0 without a vector. */
  readonly cosine: number
  /** The same of the messages around it, at most; its own where there are none. */
  readonly around: number
}

/** Those, and what relevance reads beside them. */
export interface Evidence extends ScoreTerms {
  /** Standard deviations above the mean of the best by meaning; undefined where that is not known. */
  readonly standout: number | undefined
  /** Whether a visible memory has a word of the query. */
  readonly hasWords: boolean
  /** Natural logarithm of the number of visible memories, within `sizeRange`. */
  readonly size: number
  /** 1 if the user said it and the question says I or my, and has no name; else 0. */
  readonly self: number
  /** 1 if all its sentences are questions, else 0. */
  readonly onlyAsks: number
  /** Whether it is a short message. */
  readonly isShort: boolean
  /** Natural logarithm of 1 + the greatest possible lexical score. */
  readonly bound: number
  /** Share of the query's terms that occur, 0..1. */
  readonly matched: number
}

/** Days before and after a period in which people tell what they did in it. */
const nearBeforeDays = 3
const nearAfterDays = 10
/** After which a message counts e times less as recent. */
const recentDays = 30

export const evidenceOf = (candidate: ScoredCandidate, query: ScoredQuery): Evidence => {
  const { asked, cosines, documents = sizeRange.most, scoreBound, termCount } = query
  const terms = scoreTermsOf(candidate, query)
  const traits = candidate.message?.traits ?? 0
  const hasCosine = cosines !== undefined && comparableCosine(candidate, query) !== undefined
  return {
    ...terms,
    isShort: (traits & messageTraits.isShort) !== 0,
    hasWords: query.hasWords ?? true,
    self: asked?.isFirstPerson === true && asked.speaker === undefined ? bitOf(traits, messageTraits.isByUser) : 0,
    onlyAsks: bitOf(traits, messageTraits.onlyAsks),
    size: Math.log(Math.min(sizeRange.most, Math.max(sizeRange.least, documents))),
    standout: hasCosine ? (terms.cosine - cosines.mean) / cosines.deviation : undefined,
    bound: Math.log1p(scoreBound),
    matched: termCount > 0 ? candidate.matchedTerms / termCount : 0
  }
}

/** Terms of every candidate's score; relevance is judged of the page alone. */
export const scoreTermsOf = (candidate: ScoredCandidate, query: ScoredQuery): ScoreTerms => {
  const { aroundCosine, eventAt, lexicalScore, message, modelId } = candidate
  const { asked, scoreBound } = query
  const cosine = comparableCosine(candidate, query)
  const calibration = calibrationOf(message !== undefined, cosine !== undefined && query.isMeaningful !== false)
  const ranges = asked === undefined || eventAt === undefined ? [] : asked.ranges
  return {
    calibration,
    words: scoreBound > 0 ? Math.min(1, lexicalScore / scoreBound) : 0,
    cosine: cosine ?? 0,
    around: comparableCosine({ cosine: aroundCosine, modelId }, query) ?? cosine ?? 0,
    states: bitOf(message?.traits ?? 0, messageTraits.states),
    aside: message !== undefined && message.speaker === (asked?.isOfAssistant === true ? "user" : "assistant") ? 1 : 0,
    speaks: asked !== undefined && isOfAsked(candidate, asked) ? 1 : 0,
    fits: fitOf(message?.traits ?? 0, asked?.kind ?? 0),
    recent: recencyOf(eventAt, asked?.goesOnAt),
    inRange: isWithin(ranges, eventAt ?? 0, 0, 0),
    nearRange: isWithin(ranges, eventAt ?? 0, nearBeforeDays, nearAfterDays)
  }
}

/** A talk that goes on is mostly about what was said lately. */
const recencyOf = (eventAt: number | undefined, goesOnAt: number | undefined): number =>
  eventAt === undefined || goesOnAt === undefined
    ? 0
    : Math.exp(-Math.max(0, goesOnAt - eventAt) / (recentDays * dayMillis))

const bitOf = (traits: number, bit: number): number => ((traits & bit) === 0 ? 0 : 1)

const isWithin = (ranges: ReadonlyArray<TimeRange>, millis: number, beforeDays: number, afterDays: number): number =>
  ranges.some(({ from, to }) => millis >= from - beforeDays * dayMillis && millis < to + afterDays * dayMillis) ? 1 : 0

/** On the scale of `cosineScaleOf`; undefined without a vector that the query can be compared with. */
export const comparableCosine = (
  { cosine, modelId }: Pick<ScoredCandidate, "cosine" | "modelId">,
  query: ScoredQuery
): number | undefined => {
  if (query.modelId === undefined || cosine === undefined) return undefined
  const { factor, offset } = cosineScaleOf(modelId ?? query.modelId)
  return offset + factor * cosine
}

/** A fact about whom the question is about, or a message by them: a named speaker decides; "I" is the user. */
const isOfAsked = ({ about, message }: ScoredCandidate, asked: AskedTraits): boolean => {
  if (message === undefined) return about !== undefined && asked.about?.has(about) === true
  if (asked.speaker !== undefined) return asked.speaker === message.speaker
  return asked.isFirstPerson && (message.traits & messageTraits.isByUser) !== 0
}

/** 1 if the message has what the question asks for, -1 if it lacks it, 0 where that is not known. */
const fitOf = (traits: number, kind: number): number =>
  kind === 0 || (traits & messageTraits.isSorted) === 0 ? 0 : (traits & kind) === 0 ? -1 : 1

/** The ranking score as log-odds. */
export const orderOf = (terms: ScoreTerms): number => {
  const { intercept, slope } = terms.calibration.score
  return slope * scoreOf(terms) + intercept
}

/** Written out: names looked up in a loop were a tenth of the ranking's time. */
const scoreOf = (terms: ScoreTerms, { score } = terms.calibration): number =>
  terms.words +
  score.cosine * terms.cosine +
  score.around * terms.around +
  terms.states * score.states +
  terms.aside * score.aside +
  terms.speaks * score.speaks +
  terms.fits * score.fits +
  terms.recent * score.recent +
  terms.inRange * score.inRange +
  terms.nearRange * score.nearRange

/** Probability of being evidence for an answer, 0..1. */
export const relevanceOf = (evidence: Evidence): number => {
  const { meaning, evidence: weights } = evidence.calibration
  if (meaning === undefined || evidence.hasWords || evidence.standout === undefined)
    return logistic(logOddsOf(evidence, weights))
  return logistic(meaning.intercept + meaning.cosine * evidence.cosine + meaning.standout * evidence.standout)
}

/** The same as the gate of answers was fitted with it, on long chats: more cautious on short ones. */
export const answerableOf = (evidence: Evidence): number => {
  const { answerable } = evidence.calibration
  if (answerable === undefined || (!evidence.hasWords && evidence.standout !== undefined)) return relevanceOf(evidence)
  const logOdds = logOddsOf(evidence, answerable)
  return logistic(evidence.isShort ? logOdds : Math.min(logOdds, orderOf(evidence)))
}

const logOddsOf = (evidence: Evidence, weights: EvidenceWeights): number => {
  const values = evidenceValues(evidence)
  let sum = 0
  for (const name in weights) sum += weights[name as EvidenceName]! * values[name as EvidenceName]
  return sum
}

/** Values that the weights of relevance are multiplied with. */
export const evidenceValues = (evidence: Evidence): Readonly<Record<keyof EvidenceWeights, number>> => ({
  ...evidence,
  intercept: 1,
  score: scoreOf(evidence),
  /** How much of the query was found, times how much it asked for. */
  coverage: (evidence.words * evidence.bound) / 3,
  standout: Math.max(0, evidence.standout ?? standoutUnknown)
})

const logistic = (logOdds: number): number => 1 / (1 + Math.exp(-logOdds))
