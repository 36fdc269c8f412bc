/** Figures of played cases: evidence among the first hits, answers, facts, latency; and two configurations compared. */
import type { PlayedCase, PlayedQuestion } from "./CasePlay.ts"

/** Results of one configuration. */
export interface Evaluated {
  readonly name: string
  readonly cases: ReadonlyArray<PlayedCase>
  readonly queries: ReadonlyArray<PlayedQuestion>
}

export interface Figures {
  readonly questions: number
  /** Means over the questions with something to find; undefined without any. */
  readonly hit1: number | undefined
  readonly hit3: number | undefined
  readonly hit10: number | undefined
  readonly mrr: number | undefined
  readonly right: number
  readonly wrong: number
  readonly withheld: number
  readonly searchMillis: number | undefined
  readonly searchMillis95: number | undefined
  readonly answerMillis: number | undefined
  /** Tokens of contexts at the median, and the mean share of the evidence in them. */
  readonly contextTokens: number | undefined
  readonly contextShare: number | undefined
}

export const questionsOf = ({ cases, queries }: Evaluated): ReadonlyArray<PlayedQuestion> => [
  ...cases.flatMap(({ questions }) => questions),
  ...queries
]

export const figuresOf = (questions: ReadonlyArray<PlayedQuestion>): Figures => {
  const found = questions.flatMap((one) => one.found ?? [])
  const answers = questions.flatMap(({ answer }) => answer ?? [])
  const count = (verdict: string) => answers.filter((answer) => answer.verdict === verdict).length
  const searches = questions.map(({ searchMillis }) => searchMillis)
  return {
    questions: questions.length,
    hit1: mean(found.map(({ shares }) => shares[0])),
    hit3: mean(found.map(({ shares }) => shares[1])),
    hit10: mean(found.map(({ shares }) => shares[2])),
    mrr: mean(found.map(({ reciprocalRank }) => reciprocalRank)),
    right: count("right"),
    wrong: count("wrong"),
    withheld: count("withheld"),
    searchMillis: quantile(searches, 0.5),
    searchMillis95: quantile(searches, 0.95),
    answerMillis: quantile(
      answers.map(({ millis }) => millis),
      0.5
    ),
    contextTokens: quantile(
      questions.flatMap(({ context }) => context?.tokens ?? []),
      0.5
    ),
    contextShare: mean(questions.flatMap(({ context }) => context?.share ?? []))
  }
}

export const factsOf = ({ cases }: Evaluated): PlayedCase["facts"] => {
  const sum = (of: (facts: PlayedCase["facts"]) => number) => cases.reduce((total, { facts }) => total + of(facts), 0)
  return {
    true: sum((facts) => facts.true),
    held: sum(({ held }) => held),
    false: sum((facts) => facts.false),
    falseHeld: sum(({ falseHeld }) => falseHeld)
  }
}

/** Questions in groups by what `of` says, each with its figures. */
export const groupsOf = (
  questions: ReadonlyArray<PlayedQuestion>,
  of: (question: PlayedQuestion) => string
): ReadonlyArray<readonly [string, Figures]> =>
  [...Map.groupBy(questions, of)].map(([name, group]) => [name, figuresOf(group)] as const)

export interface Difference {
  readonly question: string
  readonly case: string
  /** Result of the configuration before and of the other: places of the evidence, or verdicts. */
  readonly before: string
  readonly after: string
  readonly isBetter: boolean
}

/** Questions whose first evidence moved into or out of the first three hits, or whose verdict changed. */
export const differencesOf = (one: Evaluated, other: Evaluated): ReadonlyArray<Difference> => {
  const others = new Map(questionsOf(other).map((question) => [keyOf(question), question]))
  return questionsOf(one).flatMap((before) => {
    const after = others.get(keyOf(before))
    if (after === undefined) return []
    const said = { question: before.question, case: before.case }
    const [was, is] = [before.answer?.verdict, after.answer?.verdict]
    if (was !== undefined && is !== undefined && was !== is) {
      return [{ ...said, before: was, after: is, isBetter: verdictValue[is] > verdictValue[was] }]
    }
    const [rankBefore, rankAfter] = [placeOf(before), placeOf(after)]
    if (rankBefore <= shownHits === rankAfter <= shownHits) return []
    return [{ ...said, before: placeText(rankBefore), after: placeText(rankAfter), isBetter: rankAfter < rankBefore }]
  })
}

const shownHits = 3
const verdictValue = { wrong: 0, withheld: 1, right: 2 } as const
const keyOf = (question: PlayedQuestion): string => `${question.case}\n${question.question}`
const placeOf = ({ found }: PlayedQuestion): number =>
  found === undefined || found.reciprocalRank === 0 ? Infinity : Math.round(1 / found.reciprocalRank)
const placeText = (place: number): string => (place === Infinity ? "not found" : `place ${place}`)

const mean = (values: ReadonlyArray<number>): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length

const quantile = (values: ReadonlyArray<number>, share: number): number | undefined =>
  values.toSorted((left, right) => left - right)[Math.min(values.length - 1, Math.floor(share * values.length))]
