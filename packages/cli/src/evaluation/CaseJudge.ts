/**
 * Judgement of cases: which evidence is among the first hits, which facts a service holds, and whether its answers are
 * right, by regular expressions that the authors of the cases wrote (docs/eval.md).
 */
import type { Case, CaseFact, CaseQuestion } from "./CaseFiles.ts"

export type Verdict = "right" | "wrong" | "withheld"

export const verdictOf = (
  question: CaseQuestion,
  { answer, grounded }: { readonly answer: string; readonly grounded: boolean }
): Verdict => {
  if (!grounded) return question.abstain === true ? "right" : "withheld"
  return isRight(question, answer) ? "right" : "wrong"
}

/** Of a value that changed the right one comes last; a yes or no that is said counts alone. */
const isRight = ({ answer, type, wrong = [] }: CaseQuestion, text: string): boolean => {
  const said = type === "yesno" ? /(?:^|["”]\s+)(yes|no)\b/i.exec(text)?.[1] : undefined
  if (said !== undefined) return matches(answer, said)
  if (!matches(answer, text)) return false
  return !/^(?:current|past|number)$/.test(type) || lastMatch(wrong, text) <= lastMatch(answer, text)
}

const matches = (patterns: ReadonlyArray<string>, text: string): boolean =>
  patterns.some((pattern) => new RegExp(pattern, "is").test(text))

const lastMatch = (patterns: ReadonlyArray<string>, text: string): number =>
  Math.max(
    -1,
    ...patterns.flatMap((pattern) =>
      [...text.matchAll(new RegExp(pattern, "gis"))].map((one) => one.index + one[0].length)
    )
  )

/** Whether the text of a memory states a fact of the one that it is about; of the user also as "user". */
export const states = ({ about, says }: CaseFact, { user }: Pick<Case, "user">, text: string): boolean => {
  const name = about.split(" ")[0] ?? ""
  const isAbout = text.toLowerCase().includes(name.toLowerCase())
  const isUsers = user?.split(" ")[0] === name && /\buser\b/i.test(text)
  return (isAbout || isUsers) && says.every((pattern) => new RegExp(pattern, "i").test(text))
}

/** Ranks that are looked at: the first hit, those that a person reads, all that are asked for. */
export const ranks = [1, 3, 10] as const

export interface Found {
  /** Share of what was expected among the first hits, for each of `ranks`. */
  readonly shares: readonly [number, number, number]
  /** One divided by the place of the first hit that holds any of it; 0 without one. */
  readonly reciprocalRank: number
}

/** `holds`: of each hit, best first, which of the expected it holds. Undefined where nothing is expected. */
export const foundOf = (expected: number, holds: ReadonlyArray<ReadonlySet<number>>): Found | undefined => {
  if (expected === 0) return undefined
  const [first, three, ten] = ranks.map((rank) => new Set(holds.slice(0, rank).flatMap((one) => [...one])).size)
  const place = holds.findIndex((one) => one.size > 0)
  return {
    shares: [first! / expected, three! / expected, ten! / expected],
    reciprocalRank: place === -1 ? 0 : 1 / (place + 1)
  }
}
