/**
 * What a message or a question shows by the signs of its words: whether it states something of its speaker, whether it only
 * asks, and what kinds of things it holds (a date, a number, a place, a name, a reason) or asks for. In English; read at each
 * write, hence with ASCII patterns where they do.
 */

import { monthForms, WEEKDAY } from "../calendar/CalendarWords.ts"

export interface MessageSigns {
  /** A sentence that is no question speaks of its speaker: I, my, me, we, our. */
  readonly isOfSpeaker: boolean
  /** Every sentence is a question. */
  readonly onlyAsks: boolean
  /** Bits of `answerKinds`. */
  readonly kinds: number
}

export const messageSigns = (text: string): MessageSigns => {
  const sentences = text.split(sentenceEnd).filter((sentence) => hasWord.test(sentence))
  const statements = sentences.filter((sentence) => !question.test(sentence))
  return {
    isOfSpeaker: statements.some((sentence) => ofSpeaker.test(sentence)),
    onlyAsks: sentences.length > 0 && statements.length === 0,
    kinds: kindsIn(text)
  }
}

const sentenceEnd = /(?<=[.!?…]["')\]]*)\s+|(?<=[。！？])|\n+/u
const question = /[?？]["')\]!.]*\s*$/u
const hasWord = /[\p{L}\p{N}]/u
/** "im" and "ive" as people type "I'm" and "I've". */
const ofSpeaker = /(?<![\p{L}\p{N}])(?:i|im|ive|my|me|we|our)(?![\p{L}\p{N}])/iu

/**
 * What kind of thing a text holds (a date, a number, a place, a name, a reason), and what kind the form of a question asks
 * for: "when" for a date, "how many" for a number. By signs, in English; a text may hold all kinds, and a question without
 * such a form asks for none.
 */
export const answerKinds = { date: 32, number: 64, place: 128, name: 256, reason: 512 } as const
type AnswerKind = keyof typeof answerKinds

const anyOf = (parts: ReadonlyArray<string>, flags = "i"): RegExp => new RegExp(`\\b(?:${parts.join("|")})\\b`, flags)

/** "May" counts with its capital alone. */
const months = [...monthForms.filter((form) => !form.startsWith("may")), "sept"].join("|")
const relative = "today|tomorrow|yesterday|tonight|noon|midnight|o'clock|since|birthday"
const periods = "week|weekend|month|year|night|morning|spring|summer|autumn|fall|winter"
const numerals = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred"
const before = "in|at|to|from|near|into"

/** Signs of each kind in a text. */
const signs: Readonly<Record<AnswerKind, ReadonlyArray<RegExp>>> = {
  date: [
    anyOf([months, `${WEEKDAY}s?`, relative]),
    anyOf([`(?:last|next|this|every) (?:${periods})`, "(?:days?|weeks?|months?|years?) ago"]),
    anyOf(["(?:19|20)\\d\\d", "\\d+(?:st|nd|rd|th)", "\\d{1,2}:\\d\\d", "\\d{1,2} ?[ap]m"]),
    /\bMay\b/
  ],
  number: [/\d/, anyOf([numerals, "thousand|dozen|half|couple|once|twice"])],
  place: [
    new RegExp(`\\b(?:${before}) (?:the )?[A-Z][a-z]`),
    anyOf([`(?:${before}|behind|under|on) (?:the|my|our|a) \\w+`])
  ],
  name: [/(?<![.!?:"]\s)(?<!^)\b[A-Z][a-z]+/],
  reason: [anyOf(["because|cos|cuz|since|so that|due to|reason|as i|that's why|so i|in order to"])]
}

/** Forms of questions, the first that matches counts. */
const forms: ReadonlyArray<readonly [AnswerKind, RegExp]> = [
  ["date", anyOf(["when", "(?:what|which) (?:date|day|time|year|month)", "how long ago"])],
  ["number", anyOf(["how (?:many|much|old|long|far|tall|big|often)", "what (?:number|age|price)"])],
  ["place", anyOf(["where", "(?:what|which) (?:city|country|town|place)"])],
  ["name", anyOf(["who|whose", "called", "what(?:'s| is| was)\\b.*\\bname"])],
  ["reason", anyOf(["why"])]
]

/** Bits of `answerKinds`. */
export const kindsIn = (text: string): number => {
  let bits = 0
  for (const kind in signs) {
    const some = kind as AnswerKind
    if (signs[some].some((sign) => sign.test(text))) bits |= answerKinds[some]
  }
  return bits
}

/** One bit of `answerKinds`; 0: the form of the question asks for none. */
export const kindAsked = (question: string): number => {
  const form = forms.find(([, pattern]) => pattern.test(question))
  return form === undefined ? 0 : answerKinds[form[0]]
}
