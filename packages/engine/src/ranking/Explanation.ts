/** The ranking score of a hit, term by term, for developers (contract: Search, `explain`). */
import { traitNames, type TraitName } from "./Calibration.ts"
import type { Evidence } from "./Evidence.ts"
import type { MoveReason } from "./Currentness.ts"

export interface ExplainedTerm {
  readonly term: "words" | "meaning" | "around" | TraitName
  readonly value: number
  readonly weight: number
  /** Value times weight; the terms of a hit add up to its ranking score. */
  readonly adds: number
  readonly meaning: string
}

const traitMeanings: Readonly<Record<TraitName, string>> = {
  states: "the message tells something about its speaker (I, my, we)",
  aside: "said by the assistant where the query does not ask what it said, or by the user where it does",
  speaks: "said by the person the query names, or by the user if the query is about them; of a fact: about the user",
  fits: "has what the form of the query asks for, such as a date after `when`; -1: lacks it",
  recent: "said lately, where the query goes on with a talk: falls by e in 30 days",
  inRange: "dated in a time that the query names",
  nearRange: "dated in that time, up to 3 days before it or 10 after"
}

/** Terms that add nothing are left out, except words and meaning. */
export const explainedTerms = (evidence: Evidence): ReadonlyArray<ExplainedTerm> => {
  const { score } = evidence.calibration
  const meaning =
    score.cosine === 0
      ? "no vector to compare: ranked by words alone"
      : "cosine of the embeddings, on the scale of e5-small-v2"
  const rows: ReadonlyArray<readonly [term: ExplainedTerm["term"], value: number, weight: number, meaning: string]> = [
    ["words", evidence.words, 1, "BM25F of the query's words, as a share of the greatest possible score"],
    ["meaning", evidence.cosine, score.cosine, meaning],
    ["around", evidence.around, score.around, "greatest cosine of the messages around it in its conversation"],
    ...traitNames.map((name) => [name, evidence[name], score[name], traitMeanings[name]] as const)
  ]
  return rows.flatMap(([term, value, weight, told], at) => {
    const explained = { term, value: rounded(value), weight, adds: rounded(value * weight), meaning: told }
    return at < 2 || value * weight !== 0 ? [explained] : []
  })
}

const rounded = (value: number): number => Math.round(value * 1e4) / 1e4

/** Why a hit does not stand where its score puts it. */
export type Move = MoveReason | "outdated" | "reranked"

export const moveMeanings: Readonly<Record<Move, string>> = {
  slot: "newer: what is known of it superseded what an older hit tells",
  change: "newer: tells of a change of what an older hit says",
  same: "newer: about the same matter as an older hit",
  reranked: "put higher by the re-ranking model",
  outdated: "older: a hit before it tells a newer state"
}
