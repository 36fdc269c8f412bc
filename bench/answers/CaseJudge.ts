/**
 * Judgement of hand-written conversations: which of their facts a service holds, and whether its answers are right, by
 * regular expressions that their authors wrote.
 */
export interface Case {
  readonly id: string
  /** Who the role `user` is; null: people who speak under their names. */
  readonly user: string | null
  /** The `now` of the questions. */
  readonly asked: string
  readonly timeZone: string
  readonly messages: ReadonlyArray<Readonly<Record<"id" | "role" | "name" | "sentAt" | "content", string>>>
  readonly questions: ReadonlyArray<CaseQuestion>
  readonly facts: ReadonlyArray<CaseFact>
}

export interface CaseQuestion {
  readonly q: string
  readonly type: string
  /** Regular expressions, one of which a right answer meets; none: nothing in the conversation answers. */
  readonly answer: ReadonlyArray<string>
  readonly wrong?: ReadonlyArray<string>
  /** Somebody else's statement is all there is: to claim nothing is right too. */
  readonly abstain?: boolean
}

export interface CaseFact {
  readonly about: string
  /** Regular expressions, all of which the text of one memory meets. */
  readonly says: ReadonlyArray<string>
  /** False: a memory must never hold it. */
  readonly true: boolean
}

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
export const states = ({ about, says }: CaseFact, { user }: Case, text: string): boolean => {
  const name = about.split(" ")[0] ?? ""
  const isAbout = text.toLowerCase().includes(name.toLowerCase())
  const isUsers = user?.split(" ")[0] === name && /\buser\b/i.test(text)
  return (isAbout || isUsers) && says.every((pattern) => new RegExp(pattern, "i").test(text))
}
