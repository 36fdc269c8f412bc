/**
 * The rankings that the bench compares. `fused` is the service's own; min-max and reciprocal rank fusion (Cormack et
 * al., 2009) are the baselines.
 */
import { fuse, newerFirst } from "@muniment/engine/ranking/Fusion"
import { RANKING_DEPTH } from "./Metrics.ts"
import type { Scored, SlotCandidate } from "./OpenCorpus.ts"

/** Slots, best first. */
export type Ranking = (scored: Scored) => ReadonlyArray<number>

const LIST_LENGTH = 100
const RRF_K = 60
const MIN_MAX_LEXICAL_SHARE = 0.6

export const lexical: Ranking = ({ candidates }) =>
  slots(
    candidates.filter(({ matchedTerms }) => matchedTerms > 0),
    (candidate) => candidate.lexicalScore
  )

export const dense: Ranking = ({ candidates }) => slots(candidates, cosineOf)

export const fused: Ranking = ({ candidates, query }) =>
  fuse(candidates, query, { limit: RANKING_DEPTH }).map(({ candidate }) => candidate.slot)

/** .6 lexical + .4 dense, each stretched to 0..1 over the union of both lists. */
export const minMax: Ranking = ({ candidates }) => {
  const union = listed(candidates)
  const scaledLexical = stretch(union, (candidate) => candidate.lexicalScore)
  const scaledCosine = stretch(union, cosineOf)
  return slots(
    union,
    (candidate) =>
      MIN_MAX_LEXICAL_SHARE * scaledLexical(candidate) + (1 - MIN_MAX_LEXICAL_SHARE) * scaledCosine(candidate)
  )
}

export const reciprocalRank: Ranking = ({ candidates }) => {
  const lists = bothLists(candidates).map((list) => new Map(list.map((candidate, place) => [candidate, place + 1])))
  return slots(listed(candidates), (candidate) =>
    lists.reduce((sum, places) => sum + (places.has(candidate) ? 1 / (RRF_K + places.get(candidate)!) : 0), 0)
  )
}

const cosineOf = (candidate: SlotCandidate): number => candidate.cosine ?? 0

const slots = (
  candidates: ReadonlyArray<SlotCandidate>,
  scoreOf: (candidate: SlotCandidate) => number
): ReadonlyArray<number> =>
  sorted(candidates, scoreOf)
    .slice(0, RANKING_DEPTH)
    .map(({ slot }) => slot)

const sorted = (
  candidates: ReadonlyArray<SlotCandidate>,
  scoreOf: (candidate: SlotCandidate) => number
): ReadonlyArray<SlotCandidate> =>
  candidates
    .map((candidate) => ({ candidate, score: scoreOf(candidate) }))
    .sort((left, right) => right.score - left.score || newerFirst(left.candidate, right.candidate))
    .map(({ candidate }) => candidate)

const bothLists = (candidates: ReadonlyArray<SlotCandidate>): ReadonlyArray<ReadonlyArray<SlotCandidate>> => [
  sorted(
    candidates.filter(({ matchedTerms }) => matchedTerms > 0),
    (candidate) => candidate.lexicalScore
  ).slice(0, LIST_LENGTH),
  sorted(candidates, cosineOf).slice(0, LIST_LENGTH)
]

const listed = (candidates: ReadonlyArray<SlotCandidate>): ReadonlyArray<SlotCandidate> => [
  ...new Set(bothLists(candidates).flat())
]

const stretch = (
  candidates: ReadonlyArray<SlotCandidate>,
  scoreOf: (candidate: SlotCandidate) => number
): ((candidate: SlotCandidate) => number) => {
  const scores = candidates.map(scoreOf)
  const least = Math.min(...scores)
  const span = Math.max(...scores) - least
  return (candidate) => (span > 0 ? (scoreOf(candidate) - least) / span : 0)
}
