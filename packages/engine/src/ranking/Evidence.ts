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
  traitNames,
  type Calibration,
  type EvidenceWeights,
  type TraitName
} from "./Calibration.ts"
import type { TimeRange } from "./QuestionDates.ts"
import { messageTraits } from "../text/MessageText.ts"

/** Of a message of a conversation. */
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
  /** Model behind `cosine`; a namespace may still hold vectors of another model than the query's. */
  readonly modelId?: string | undefined
  readonly message?: CandidateMessage | undefined
  /** Event time in milliseconds; of a message, when it was sent. */
  readonly eventAt?: number | undefined
  /** Of a fact: whom or what it is about, in lower case. */
  readonly about?: string | undefined
}

/** What the question asks for beside its words. */
export interface AskedTraits {
  /** The one speaker of a visible message whom it names. */
  readonly speaker: string | undefined
  readonly isFirstPerson: boolean
  /** How facts name the user, in lower case, if the question is about them. */
  readonly about?: ReadonlySet<string> | undefined
  readonly ranges: ReadonlyArray<TimeRange>
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

/** Values of all terms. */
export interface Evidence extends Readonly<Record<TraitName, number>> {
  readonly calibration: Calibration
  /** Share of the query's greatest possible lexical score, 0..1. */
  readonly words: number
  /** On the scale of `cosineScaleOf`; 0 without a vector. */
  readonly cosine: number
  /** Standard deviations above the mean of the best by meaning; undefined where that is not known. */
  readonly standout: number | undefined
  /** Whether a visible memory has a word of the query. */
  readonly hasWords: boolean
  /** Natural logarithm of the number of visible memories, within `sizeRange`. */
  readonly size: number
  /** 1 if the user said it and the question says I or my, and has no name; else 0. */
  readonly self: number
  /** Whether relevance never exceeds what the score alone says. */
  readonly isCapped: boolean
  /** Natural logarithm of 1 + the greatest possible lexical score. */
  readonly bound: number
  /** Share of the query's terms that occur, 0..1. */
  readonly matched: number
}

/** What was done in a period is told up to this many days around it. */
const nearBeforeDays = 3
const nearAfterDays = 10

export const evidenceOf = (candidate: ScoredCandidate, query: ScoredQuery): Evidence => {
  const { asked, cosines, scoreBound, termCount } = query
  const { eventAt, message } = candidate
  const cosine = comparableCosine(candidate, query)
  const traits = message?.traits ?? 0
  const isWithin = (before: number, after: number): number =>
    eventAt !== undefined &&
    asked !== undefined &&
    asked.ranges.some(({ from, to }) => eventAt >= from - before * dayMillis && eventAt < to + after * dayMillis)
      ? 1
      : 0
  const calibration = calibrationOf(message !== undefined, cosine !== undefined && query.isMeaningful !== false)
  return {
    calibration,
    isCapped: calibration.isCapped && (traits & messageTraits.isShort) === 0,
    hasWords: query.hasWords ?? true,
    self:
      asked?.isFirstPerson === true && asked.speaker === undefined && (traits & messageTraits.isByUser) !== 0 ? 1 : 0,
    size: Math.log(Math.min(sizeRange.most, Math.max(sizeRange.least, query.documents ?? sizeRange.most))),
    words: scoreBound > 0 ? Math.min(1, candidate.lexicalScore / scoreBound) : 0,
    cosine: cosine ?? 0,
    standout: cosine === undefined || cosines === undefined ? undefined : (cosine - cosines.mean) / cosines.deviation,
    bound: Math.log1p(scoreBound),
    matched: termCount > 0 ? candidate.matchedTerms / termCount : 0,
    states: (traits & messageTraits.states) === 0 ? 0 : 1,
    onlyAsks: (traits & messageTraits.onlyAsks) === 0 ? 0 : 1,
    speaks: asked !== undefined && isOfAsked(candidate, asked) ? 1 : 0,
    inRange: isWithin(0, 0),
    nearRange: isWithin(nearBeforeDays, nearAfterDays)
  }
}

/** On the scale of `cosineScaleOf`; undefined without a vector that the query can be compared with. */
export const comparableCosine = (
  { cosine, modelId }: ScoredCandidate,
  query: Pick<ScoredQuery, "modelId">
): number | undefined => {
  if (query.modelId === undefined || cosine === undefined) return undefined
  const { factor, offset } = cosineScaleOf(modelId ?? query.modelId)
  return offset + factor * cosine
}

/** A fact about whom the question is about, or a message by them. */
const isOfAsked = ({ about, message }: ScoredCandidate, asked: AskedTraits): boolean =>
  message === undefined ? about !== undefined && asked.about?.has(about) === true : isSpeaker(message, asked)

/** A named speaker decides; "I" is the user. */
const isSpeaker = ({ speaker, traits }: CandidateMessage, asked: AskedTraits): boolean =>
  asked.speaker === undefined
    ? asked.isFirstPerson && (traits & messageTraits.isByUser) !== 0
    : asked.speaker === speaker

/** The ranking score as log-odds. */
export const orderOf = (evidence: Evidence): number => {
  const { score } = evidence.calibration
  return score.slope * (evidence.words + score.cosine * evidence.cosine + traitSum(evidence, score)) + score.intercept
}

/** Probability of being evidence for an answer, 0..1. */
export const relevanceOf = (evidence: Evidence): number => {
  const { meaning, evidence: weights } = evidence.calibration
  if (!evidence.hasWords && evidence.standout !== undefined && meaning !== undefined) {
    return logistic(meaning.intercept + meaning.cosine * evidence.cosine + meaning.standout * evidence.standout)
  }
  const logOdds = logOddsOf(evidence, weights)
  return logistic(evidence.isCapped ? Math.min(logOdds, orderOf(evidence)) : logOdds)
}

/** The same as the gate of answers was fitted with it, on long chats: more cautious on short ones. */
export const answerableOf = (evidence: Evidence): number => {
  const { answerable, isCapped } = evidence.calibration
  if (answerable === undefined || (!evidence.hasWords && evidence.standout !== undefined)) return relevanceOf(evidence)
  const logOdds = logOddsOf(evidence, answerable)
  return logistic(isCapped ? Math.min(logOdds, orderOf(evidence)) : logOdds)
}

const logOddsOf = (values: Evidence, weights: EvidenceWeights): number => {
  const { bound, cosine, coverage, intercept, matched, self = 0, size = 0, standout = 0, words } = weights
  return (
    intercept +
    cosine * values.cosine +
    (coverage * values.words * values.bound) / 3 +
    words * values.words +
    bound * values.bound +
    matched * values.matched +
    standout * Math.max(0, values.standout ?? standoutUnknown) +
    size * values.size +
    self * values.self +
    traitSum(values, weights)
  )
}

const logistic = (logOdds: number): number => 1 / (1 + Math.exp(-logOdds))

const traitSum = (
  values: Readonly<Record<TraitName, number>>,
  weights: Readonly<Partial<Record<TraitName, number>>>
): number => {
  let sum = 0
  for (const name of traitNames) sum += values[name] * (weights[name] ?? 0)
  return sum
}
