/** Reliability of relevance: what it says of first hits, and how many of them are evidence. */
import { MATCHING_RELEVANCE_MIN } from "@muniment/engine/ranking/Fusion"

export interface Hit {
  readonly question: number
  readonly isAnswerable: boolean
  readonly said: number
  readonly isEvidence: boolean
}

export interface Reliability {
  /** By bin: mean relevance, share of evidence, number of hits. */
  readonly bins: ReadonlyArray<readonly [said: number, seen: number, hits: number]>
  /** Mean distance of said and seen, weighted by hits. */
  readonly error: number
  /** Share of evidence among the hits that probably match; of all questions, and of the answerable ones. */
  readonly precision: number
  readonly precisionAnswerable: number
  /** Share of the questions with a hit that probably matches. */
  readonly answerableWithHit: number
  readonly unanswerableWithHit: number
}

const edges = [0.05, 0.1, 0.2, 0.35, 0.5, 0.65]
export const binNames = ["0-.05", "-.1", "-.2", "-.35", "-.5", "-.65", "above"]

export const reliabilityOf = (hits: ReadonlyArray<Hit>): Reliability => {
  const bins = Array.from({ length: edges.length + 1 }, (_, bin) => {
    const inside = hits.filter(({ said }) => edges.filter((edge) => said >= edge).length === bin)
    return [
      mean(inside.map(({ said }) => said)),
      shareOf(inside, ({ isEvidence }) => isEvidence),
      inside.length
    ] as const
  })
  const strong = hits.filter(({ said }) => said >= MATCHING_RELEVANCE_MIN)
  const withHit = (isAnswerable: boolean): number => {
    const questions = new Set(hits.filter((hit) => hit.isAnswerable === isAnswerable).map(({ question }) => question))
    const found = new Set(strong.filter((hit) => hit.isAnswerable === isAnswerable).map(({ question }) => question))
    return found.size / questions.size
  }
  return {
    bins,
    error: bins.reduce(
      (sum, [said, seen, count]) => sum + (count === 0 ? 0 : (count / hits.length) * Math.abs(said - seen)),
      0
    ),
    precision: shareOf(strong, ({ isEvidence }) => isEvidence),
    precisionAnswerable: shareOf(
      strong.filter(({ isAnswerable }) => isAnswerable),
      ({ isEvidence }) => isEvidence
    ),
    answerableWithHit: withHit(true),
    unanswerableWithHit: withHit(false)
  }
}

const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

const shareOf = <A>(items: ReadonlyArray<A>, isCounted: (item: A) => boolean): number =>
  items.filter(isCounted).length / items.length
