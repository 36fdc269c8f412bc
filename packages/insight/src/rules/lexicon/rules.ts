/** The form of a row of the lexicon, and the rules: the confidence of what each finds, and its topic. */
/** A form of statement, with a sentence that has it and one that only looks like it; tests read both. */
export interface FormRow {
  readonly says: string
  readonly example: string
  readonly counterexample: string
}

const rules = {
  name: [0.95, "identity"],
  nameFragment: [0.75, "identity"],
  correction: [0.8, "identity"],
  age: [0.92, "identity"],
  birth: [0.9, "identity"],
  origin: [0.9, "identity"],
  home: [0.93, "home"],
  work: [0.9, "work"],
  role: [0.82],
  study: [0.88, "education"],
  language: [0.9, "languages"],
  status: [0.88, "family"],
  contact: [0.95, "contact"],
  attribute: [0.82],
  relation: [0.88, "family"],
  family: [0.85, "family"],
  health: [0.88, "health"],
  diet: [0.88, "diet"],
  possession: [0.75, "possessions"],
  habit: [0.72, "habits"],
  skill: [0.78, "skills"],
  undertaking: [0.75],
  change: [0.85],
  past: [0.8],
  plain: [0.7],
  like: [0.85],
  favorite: [0.92],
  dislike: [0.85],
  preference: [0.9],
  datedEvent: [0.85],
  pastEvent: [0.65],
  eventFragment: [0.65],
  cancellation: [0.85],
  shortAnswer: [0.7],
  asked: [0.8],
  instruction: [0.9],
  filledKind: [0.8]
} as const satisfies Readonly<Record<string, readonly [number, string?]>>

export type RuleName = keyof typeof rules

export const ruleConfidence = (rule: RuleName): number => rules[rule][0]
export const ruleTopic = (rule: RuleName): string | undefined => rules[rule][1]
