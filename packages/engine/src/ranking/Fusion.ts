/**
 * One ranking from the candidates of all namespaces: cut to the best by words and the best by meaning, score, sort,
 * cut to the limit. Absolute fusion: the relevance of a candidate depends on itself, the query and the statistics of
 * the visible memories, not on other candidates. So relevance is comparable between queries, and the ranking is
 * sorted by it.
 */
import { Limits } from "@muniment/domain/Limits"
import { calibrationOf, lexicalCalibration } from "./Calibration.ts"

export interface Candidate {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** BM25F; 0 when no term matches. */
  readonly lexicalScore: number
  readonly matchedTerms: number
  /** With the query's vector; undefined if the memory has no vector yet, or the search has no model. */
  readonly cosine: number | undefined
  /** Model behind `cosine`; a namespace may still hold vectors of another model than the query's. */
  readonly modelId?: string | undefined
}

export interface FusionQuery {
  readonly scoreBound: number
  readonly termCount: number
  /** Model of the query's vector; undefined for a search by words alone. */
  readonly modelId: string | undefined
}

export interface Ranked<C extends Candidate> {
  readonly candidate: C
  /** 0..1, 4 digits; descending over the ranking. */
  readonly relevance: number
  /** Share of the query's greatest possible lexical score, 0..1. */
  readonly lexical: number
  readonly isFullLexicalMatch: boolean
}

/** A memory with at least this relevance probably matches (contract: Search). */
export const MATCHING_RELEVANCE_MIN = 0.35
const RELEVANCE_STEPS = 10_000

export const fuse = <C extends Candidate>(
  candidates: ReadonlyArray<C>,
  query: FusionQuery,
  limit: number,
  candidatesMax: number = Limits.searchCandidatesMax
): ReadonlyArray<Ranked<C>> => {
  const ranked = shortlist(candidates, query, candidatesMax).map((candidate) => rank(candidate, query))
  return first(
    ranked,
    limit,
    (left, right) => right.relevance - left.relevance || newerFirst(left.candidate, right.candidate)
  )
}

/** The candidates that are among the best by words or by meaning. */
const shortlist = <C extends Candidate>(
  candidates: ReadonlyArray<C>,
  { modelId }: FusionQuery,
  candidatesMax: number
): ReadonlyArray<C> => {
  const isComparable = ({ cosine }: C) => modelId !== undefined && cosine !== undefined
  if (candidates.length <= candidatesMax)
    return candidates.filter((candidate) => candidate.matchedTerms > 0 || isComparable(candidate))
  const matched = candidates.filter(({ matchedTerms }) => matchedTerms > 0)
  // One list per model, because cosines of two models are not comparable.
  const byModel = Map.groupBy(candidates.filter(isComparable), (candidate) => candidate.modelId ?? modelId)
  return [
    ...new Set([
      ...best(matched, ({ lexicalScore }) => lexicalScore, candidatesMax),
      ...[...byModel.values()].flatMap((same) => best(same, ({ cosine }) => cosine ?? -1, candidatesMax))
    ])
  ]
}

/** Relevance of one candidate; `fuse` gives the same number. */
export const rank = <C extends Candidate>(candidate: C, query: FusionQuery): Ranked<C> => {
  const lexical = query.scoreBound > 0 ? Math.min(1, candidate.lexicalScore / query.scoreBound) : 0
  const cosine = query.modelId === undefined ? undefined : candidate.cosine
  const modelId = candidate.modelId ?? query.modelId
  const { cosineWeight, slope, intercept } =
    modelId === undefined || cosine === undefined ? lexicalCalibration : calibrationOf(modelId)
  const evidence = intercept + slope * (lexical + cosineWeight * (cosine ?? 0))
  return {
    candidate,
    relevance: Math.round(RELEVANCE_STEPS / (1 + Math.exp(-evidence))) / RELEVANCE_STEPS,
    lexical,
    isFullLexicalMatch: query.termCount > 0 && candidate.matchedTerms === query.termCount
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

/** The best in no order: they are sorted by relevance later, so only the score at the cut is needed. */
const best = <C extends Candidate>(
  candidates: ReadonlyArray<C>,
  scoreOf: (candidate: C) => number,
  candidatesMax: number
): ReadonlyArray<C> => {
  if (candidates.length <= candidatesMax) return candidates
  const scores = new Float64Array(candidates.length)
  for (let at = 0; at < scores.length; at++) scores[at] = scoreOf(candidates[at]!)
  const cut = scores.toSorted()[candidates.length - candidatesMax] ?? Infinity
  const kept: Array<C> = []
  const equals: Array<C> = []
  for (const [at, candidate] of candidates.entries()) {
    if (scores[at]! > cut) kept.push(candidate)
    else if (scores[at] === cut) equals.push(candidate)
  }
  return [...kept, ...first(equals, candidatesMax - kept.length, newerFirst)]
}

/** The first `limit` in the order of `compare`; does not sort all of 200 candidates for a page of 10. */
const first = <A>(items: ReadonlyArray<A>, limit: number, compare: (left: A, right: A) => number): ReadonlyArray<A> => {
  if (limit * insertionShare > items.length) return items.toSorted(compare).slice(0, limit)
  const kept: Array<A> = []
  for (const item of items) {
    if (kept.length === limit && (limit === 0 || compare(kept[limit - 1]!, item) <= 0)) continue
    let at = kept.length
    while (at > 0 && compare(kept[at - 1]!, item) > 0) at--
    kept.splice(at, 0, item)
    if (kept.length > limit) kept.pop()
  }
  return kept
}

/** If `limit` is at most this fraction of the items (1/8), insertion is cheaper than sorting. */
const insertionShare = 8
