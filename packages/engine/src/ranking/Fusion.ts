/**
 * One ranking from the candidates of all namespaces: cut to the best by words and the best by meaning, score, sort,
 * cut to the limit. Absolute fusion: the score of a candidate depends on itself, the query and the statistics of the
 * visible memories, not on other candidates; its relevance also on how far its cosine stands out among the best by
 * meaning. Both are comparable between queries.
 */
import { Limits } from "@muniment/domain/Limits"
import type { Passage } from "@muniment/language/text/Passages"
import {
  comparableCosine,
  type CosineSpread,
  type Evidence,
  evidenceOf,
  orderOf,
  relevanceOf,
  type ScoredCandidate,
  type ScoredQuery,
  scoreTermsOf
} from "./Evidence.ts"

export interface Candidate extends ScoredCandidate {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** The part of a long message that was found; its parts are candidates with the same id. */
  readonly passage?: Passage | undefined
}

export interface Scored<C extends Candidate> {
  readonly candidate: C
  /** Log-odds; descending over the ranking. */
  readonly order: number
}

export interface Ranked<C extends Candidate> extends Scored<C> {
  readonly evidence: Evidence
  /** 0..1, 4 digits. */
  readonly relevance: number
  readonly isFullLexicalMatch: boolean
}

/** A memory with at least this relevance probably matches (contract: Search). */
export const MATCHING_RELEVANCE_MIN = 0.35
const RELEVANCE_STEPS = 10_000

export interface Page {
  readonly limit: number
  readonly minRelevance?: number | undefined
  /** Candidates by words, and by meaning, that are ranked. */
  readonly candidatesMax?: number | undefined
}

export const fuse = <C extends Candidate>(
  candidates: ReadonlyArray<C>,
  query: ScoredQuery,
  page: Page
): ReadonlyArray<Ranked<C>> => {
  const { listed, pageOf, scoreOf } = fusionOf(candidates, query, page)
  return pageOf(listed.map(scoreOf))
}

/** The steps of `fuse`, for who ranks thousands of candidates in portions. */
export const fusionOf = <C extends Candidate>(
  candidates: ReadonlyArray<C>,
  query: ScoredQuery,
  { candidatesMax = Limits.searchCandidatesMax, limit, minRelevance = 0 }: Page
) => {
  const asked = withCosines(query, [cosinesOf(candidates, query)])
  return {
    listed: shortlist(candidates, query, candidatesMax),
    scoreOf: (candidate: C): Scored<C> => score(candidate, asked),
    pageOf: (scored: ReadonlyArray<Scored<C>>): ReadonlyArray<Ranked<C>> => {
      const memories = bestOfEach(scored)
      const inOrder = (left: Scored<C>, right: Scored<C>): number =>
        right.order - left.order || newerFirst(left.candidate, right.candidate)
      const judge = (one: Scored<C>) => judged(one, asked)
      const pageOf = <S extends Scored<C>>(all: ReadonlyArray<S>) =>
        best(all, limit, ({ order }) => order, newerScored).toSorted(inOrder)
      if (minRelevance === 0) return pageOf(memories).map(judge)
      return pageOf(memories.map(judge).filter(({ relevance }) => relevance >= minRelevance))
    }
  }
}

/** How many of the best by meaning a cosine is compared with, and how many there must be at least. */
const spreadMax = 50
const spreadMin = 10

/** Figures of all candidates of a namespace, or of some, that relevance needs. */
export interface FoundCosines {
  /** The best by meaning, on the scale of `cosineScaleOf`, ascending. */
  readonly best: Float64Array
  readonly hasWords: boolean
}

export const cosinesOf = (candidates: ReadonlyArray<ScoredCandidate>, query: ScoredQuery): FoundCosines => {
  const cosines: Array<number> = []
  for (const candidate of candidates) {
    const cosine = comparableCosine(candidate, query)
    if (cosine !== undefined) cosines.push(cosine)
  }
  const hasWords = candidates.some(({ matchedTerms }) => matchedTerms > 0)
  return { best: Float64Array.from(cosines).sort().slice(-spreadMax), hasWords }
}

/** The query with what was found in all namespaces together. */
export const withCosines = (query: ScoredQuery, found: ReadonlyArray<FoundCosines>): ScoredQuery => ({
  ...query,
  cosines: spreadOf(Float64Array.from(found.flatMap(({ best }) => [...best])).sort()),
  hasWords: found.some(({ hasWords }) => hasWords)
})

/** Spread of cosines in ascending order; undefined for too few, or equal ones. */
const spreadOf = (cosines: Float64Array): CosineSpread | undefined => {
  if (cosines.length < spreadMin) return undefined
  const best = cosines.subarray(-spreadMax)
  const mean = best.reduce((sum, cosine) => sum + cosine, 0) / best.length
  const deviation = Math.sqrt(best.reduce((sum, cosine) => sum + (cosine - mean) ** 2, 0) / best.length)
  return deviation > 0 ? { mean, deviation } : undefined
}

/** One entry per memory: of a long message, its best passage, on a tie the first one. */
const bestOfEach = <C extends Candidate>(scored: ReadonlyArray<Scored<C>>): ReadonlyArray<Scored<C>> => {
  // A memory without passages is one candidate.
  if (scored.every(({ candidate }) => candidate.passage === undefined)) return scored
  const best = new Map<string, Scored<C>>()
  for (const one of scored) {
    const known = best.get(one.candidate.id)
    if (known === undefined || isBetterPassage(one, known)) best.set(one.candidate.id, one)
  }
  return best.size === scored.length ? scored : [...best.values()]
}

const isBetterPassage = (one: Scored<Candidate>, other: Scored<Candidate>): boolean =>
  one.order > other.order ||
  (one.order === other.order && (one.candidate.passage?.start ?? 0) < (other.candidate.passage?.start ?? 0))

/** The candidates that are among the best by words or by meaning. */
export const shortlist = <C extends Candidate>(
  candidates: ReadonlyArray<C>,
  { modelId }: ScoredQuery,
  candidatesMax: number = Limits.searchCandidatesMax
): ReadonlyArray<C> => {
  const isComparable = ({ cosine }: C) => modelId !== undefined && cosine !== undefined
  if (candidates.length <= candidatesMax)
    return candidates.filter((candidate) => candidate.matchedTerms > 0 || isComparable(candidate))
  const matched = candidates.filter(({ matchedTerms }) => matchedTerms > 0)
  // One list per model, because cosines of two models are not comparable.
  const byModel = Map.groupBy(candidates.filter(isComparable), (candidate) => candidate.modelId ?? modelId)
  return [
    ...new Set([
      ...best(matched, candidatesMax, ({ lexicalScore }) => lexicalScore, newer),
      ...[...byModel.values()].flatMap((same) => best(same, candidatesMax, ({ cosine }) => cosine ?? -1, newer))
    ])
  ]
}

/** One candidate alone; `fuse` gives the same of a query with the cosines of all. */
export const rank = <C extends Candidate>(candidate: C, query: ScoredQuery): Ranked<C> =>
  judged(score(candidate, query), query)

const score = <C extends Candidate>(candidate: C, query: ScoredQuery): Scored<C> => ({
  candidate,
  order: orderOf(scoreTermsOf(candidate, query))
})

const judged = <C extends Candidate>(scored: Scored<C>, query: ScoredQuery): Ranked<C> => {
  const evidence = evidenceOf(scored.candidate, query)
  const { termCount } = query
  return {
    ...scored,
    evidence,
    relevance: Math.round(RELEVANCE_STEPS * relevanceOf(evidence)) / RELEVANCE_STEPS,
    isFullLexicalMatch: termCount > 0 && scored.candidate.matchedTerms === termCount
  }
}

/** A strong hit, or every word of the query found (contract: Attestations). */
export const isMatching = (ranked: Ranked<Candidate>): boolean =>
  ranked.relevance >= MATCHING_RELEVANCE_MIN || ranked.isFullLexicalMatch

/** The order of equal scores everywhere: newer first, then id descending. */
export const newerFirst = (
  left: Pick<Candidate, "id" | "createdAt">,
  right: Pick<Candidate, "id" | "createdAt">
): number => right.createdAt - left.createdAt || (left.id < right.id ? 1 : left.id > right.id ? -1 : 0)

const newer: TieOrder<Candidate> = { timeOf: ({ createdAt }) => createdAt, before: newerFirst }
const newerScored: TieOrder<Scored<Candidate>> = {
  timeOf: ({ candidate }) => candidate.createdAt,
  before: (left, right) => newerFirst(left.candidate, right.candidate)
}

export const olderFirst: typeof newerFirst = (left, right) => newerFirst(right, left)

/**
 * Top-k selection. Of scored slots a floor that at least k of them reach is computed first, in O(n); the few above it are
 * cut at the k-th score.
 */

/** Which of equal scores come first: those with the greater `timeOf`, then those with `before(a, b) < 0`. */
export interface TieOrder<A> {
  readonly timeOf: (item: A) => number
  readonly before: (left: A, right: A) => number
}

/** In no order. Scores are not negative. */
export const topSlots = (
  slots: Uint32Array,
  scores: Float64Array,
  limit: number,
  ties: TieOrder<number>
): ReadonlyArray<number> => {
  if (slots.length <= limit) return Array.from(slots)
  const floor = floorOf(slots.subarray(0, floorSlotsMax), scores, limit)
  const near: Array<number> = []
  for (let at = 0; at < slots.length; at++) if (scores[slots[at]!]! >= floor) near.push(slots[at]!)
  return best(near, limit, (slot) => scores[slot]!, ties)
}

/** In no order: the score at the cut is found, so that only what is equal there is compared. */
const best = <A>(
  items: ReadonlyArray<A>,
  limit: number,
  scoreOf: (item: A) => number,
  { before, timeOf }: TieOrder<A>
): ReadonlyArray<A> => {
  const byScore = cut(items, limit, scoreOf)
  const byTime = cut(byScore.equals, limit - byScore.kept.length, timeOf)
  const room = limit - byScore.kept.length - byTime.kept.length
  const { equals } = byTime
  return [...byScore.kept, ...byTime.kept, ...(equals.length > room ? equals.toSorted(before).slice(0, room) : equals)]
}

/** Those above the value that the last of `limit` has, and those that have it. */
const cut = <A>(items: ReadonlyArray<A>, limit: number, valueOf: (item: A) => number) => {
  const kept: Array<A> = []
  const equals: Array<A> = []
  const values = new Float64Array(items.length)
  for (let at = 0; at < values.length; at++) values[at] = valueOf(items[at]!)
  const least = items.length > limit ? values.toSorted()[items.length - limit] : -Infinity
  if (least === undefined) return { kept, equals }
  for (let at = 0; at < values.length; at++) {
    if (values[at]! > least) kept.push(items[at]!)
    else if (values[at] === least) equals.push(items[at]!)
  }
  return { kept, equals }
}

/** Slots sampled for the floor; more would cost more than they save. */
const floorSlotsMax = 4_096
const floorSteps = 256

/** A score that at least `limit` of the slots reach, from a histogram of `floorSteps` steps; 0 if there are fewer slots. */
const floorOf = (slots: Uint32Array, scores: Float64Array, limit: number): number => {
  if (slots.length <= limit) return 0
  let most = 0
  for (let at = 0; at < slots.length; at++) {
    const score = scores[slots[at]!]!
    if (score > most) most = score
  }
  if (most === 0) return 0
  const reached = new Uint32Array(floorSteps + 1)
  const least = new Float64Array(floorSteps + 1).fill(most)
  for (let at = 0; at < slots.length; at++) {
    const score = scores[slots[at]!]!
    const step = Math.trunc((score / most) * floorSteps)
    reached[step]!++
    if (score < least[step]!) least[step] = score
  }
  let step = floorSteps
  for (let count = reached[step]!; count < limit; count += reached[step]!) step--
  return least[step]!
}
