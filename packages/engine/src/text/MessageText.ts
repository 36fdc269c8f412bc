/**
 * Parts of a message of a conversation (kind `conversation_message`) that search reads: its text, its speaker, and
 * traits of the text that the ranking uses. Without Unicode tables where ASCII will do, since each message is read once
 * at every write.
 */
import { Limits } from "@muniment/domain/Limits"
import { conversationMessageKind } from "@muniment/domain/Memory"

export interface Message {
  /** The part of the text that is searched. */
  readonly text: string
  /** Name of the speaker, or the role. */
  readonly speaker: string
  readonly isByUser: boolean
}

/** Bits of `MessageRow.traits` and of a passage's, beside those of `answerKinds`. */
export const messageTraits = {
  /** A sentence that is no question speaks of its speaker: I, my, me, we, our. */
  states: 1,
  /** Every sentence is a question. */
  onlyAsks: 2,
  /** The message has the role `user`. */
  isByUser: 4,
  /** Short enough to give its words to the messages around it, and to receive theirs. */
  isShort: 8,
  /** It has the bits of `answerKinds`; what earlier releases stored has none. */
  isSorted: 16,
  /** It tells no name (`people/Namings`). Messages that earlier releases stored lack this bit, whatever they tell. */
  namesNobody: 1024
} as const

/** The message in a memory; undefined for memories of other kinds. */
export const messageOf = ({ data, kind }: { readonly kind: string; readonly data: unknown }): Message | undefined => {
  if (kind !== conversationMessageKind || typeof data !== "object" || data === null) return undefined
  const { name, role, text } = data as Readonly<Record<string, unknown>>
  if (typeof text !== "string") return undefined
  const named = typeof name === "string" ? name.trim() : ""
  return {
    text: text.slice(0, Limits.searchedMessageLengthMax),
    speaker: named || String(role),
    isByUser: role === "user"
  }
}

/** The bits of `messageTraits` and `answerKinds` for a message or one passage of it. */
export const traitsOf = (text: string, isByUser: boolean): number => {
  const sentences = text.split(sentenceEnd).filter((sentence) => hasWord.test(sentence))
  const statements = sentences.filter((sentence) => !question.test(sentence))
  return (
    (statements.some((sentence) => ofSpeaker.test(sentence)) ? messageTraits.states : 0) |
    (sentences.length > 0 && statements.length === 0 ? messageTraits.onlyAsks : 0) |
    (isByUser ? messageTraits.isByUser : 0) |
    (text.length <= Limits.neighbourMessageLengthMax ? messageTraits.isShort : 0) |
    messageTraits.isSorted |
    kindsIn(text)
  )
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

const months =
  "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
const relative = "today|tomorrow|yesterday|tonight|noon|midnight|o'clock|since|birthday"
const periods = "week|weekend|month|year|night|morning|spring|summer|autumn|fall|winter"
const numerals = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred"
const before = "in|at|to|from|near|into"

/** Signs of each kind in a text. */
const signs: Readonly<Record<AnswerKind, ReadonlyArray<RegExp>>> = {
  date: [
    anyOf([months, "nov(?:ember)?|dec(?:ember)?", "(?:mon|tues|wednes|thurs|fri|satur|sun)days?", relative]),
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
