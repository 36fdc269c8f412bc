/**
 * "Yes" or "No" before a quote that answers a yes-no question, where the quote leaves no doubt: a reply that begins
 * with it, or one sentence with every word of the question, plain or with the negation before such a word. Rows are
 * data: the tests run them.
 */
import { tokenize } from "@muniment/engine/text/Tokenizer"
import { isHedged } from "./PlainPart.ts"
import type { Question } from "./Question.ts"
import type { Quote } from "./Quote.ts"

export type Polarity = "Yes" | "No"

export const polarityOf = (
  { part, terms, topic }: Pick<Question, "part" | "terms" | "topic">,
  { replyTo, sentences, statement, text }: Pick<Quote, "replyTo" | "sentences" | "statement" | "text">
): Polarity | undefined => {
  if (part !== "yesNo") return undefined
  const said = replyTo?.part === "yesNo" ? replied(text) : undefined
  if (said !== undefined) return said
  const subject = new Set(tokenize(statement.subject ?? ""))
  const wanted = topic.filter((term) => !subject.has(term))
  const whole = sentences.find((one) => !one.text.endsWith("?") && wanted.every((term) => one.terms.has(term)))
  if (whole === undefined || wanted.length === 0 || isHedged(whole.text) || LIMITED.test(whole.text)) return undefined
  return stated(whole.text, new Set(terms))
}

const replied = (text: string): Polarity | undefined =>
  /^(?:yes|yeah|yep|yup)\b(?! and no)/i.test(text)
    ? "Yes"
    : /^(?:no|nope|nah)\b(?! idea| clue)/i.test(text)
      ? "No"
      : undefined

/** Neither plainly so nor plainly not. */
const LIMITED =
  /\b(?:if|unless|except|only|off|without|none|as long as|until|used to|stopped|quit|gave up|almost|nearly|hardly|half|but|instead|than|supposed to|want(?:s|ed)? to|try(?:ing)? to|tried)\b/i
const NEGATION =
  /\b(?:not|never|no longer|no|cannot|(?:do|does|did|is|are|was|were|ca|wo|has|have|had)n['’]?t|aint)\b/giu

/** Words between a negation and the word that it negates. */
const NEGATED_WITHIN = 3

const stated = (text: string, terms: ReadonlySet<string>): Polarity | undefined => {
  const negations = [...text.matchAll(NEGATION)]
  if (negations.length === 0) return "Yes"
  const [first] = negations
  const after = text
    .slice(first!.index + first![0].length)
    .split(/\s+/)
    .slice(1, 1 + NEGATED_WITHIN)
  const isNegated = tokenize(after.join(" ")).some((stem) => terms.has(stem))
  return negations.length === 1 && isNegated ? "No" : undefined
}

export const polarityRows: ReadonlyArray<{
  readonly question: string
  readonly text: string
  readonly says: Polarity | undefined
}> = [
  { question: "Am I allergic to walnuts?", text: "remember I'm allergic to walnuts", says: "Yes" },
  { question: "Do I need a permission?", text: "They told me that I do not need a permission.", says: "No" },
  { question: "Do I eat meat?", text: "I never eat meat.", says: "No" },
  { question: "Do I eat meat?", text: "I used to eat meat every day.", says: undefined },
  { question: "Do I eat meat?", text: "I eat meat, not fish.", says: undefined },
  { question: "Am I on crutches?", text: "I am off crutches since Monday.", says: undefined },
  { question: "Do I eat meat?", text: "I would eat meat if I had to.", says: undefined },
  { question: "Do I eat meat on Sundays?", text: "I eat meat.", says: undefined }
]
