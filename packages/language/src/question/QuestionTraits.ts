/**
 * Traits of a question that describe the message that answers it, beside its words: who said it, when, and whether the
 * newest state is asked for. Read by rules, in English; a question without any of it changes nothing.
 */
import { phrases, wordOf } from "../text/OneOf.ts"
import { type AskedAt, questionDates, type TimeRange } from "../calendar/QuestionDates.ts"
import { stopWords } from "../text/Language.ts"
import { joinedTerms, searchTerms, tokenize } from "../text/Tokenizer.ts"
import { monthForms, WEEKDAY } from "../calendar/CalendarWords.ts"

export interface QuestionTraits extends NameWords {
  /** About the asker: "I", "my", "we", "the user". Not in "tell me" and the like. */
  readonly isFirstPerson: boolean
  /** Asks for the state of today: a verb in the present tense and nothing of the past, or "the latest". */
  readonly isPresent: boolean
  readonly ranges: ReadonlyArray<TimeRange>
  /** Form of its answer: a bit of `answerKinds`, or 0. */
  readonly kind: number
  /** Asks what the assistant said or advised. */
  readonly isOfAssistant: boolean
  /** Of a query that is no single question but what somebody says in a talk that goes on: when it is asked. */
  readonly goesOnAt: number | undefined
  /** As an index looks for them (`searchTerms`). */
  readonly terms: ReadonlyArray<string>
}

/** What of a question may name somebody. */
export interface NameWords {
  /** Tokens that may be a name: no stop word, or capitalised ("will" is none, "Will" is one). */
  readonly words: ReadonlySet<string>
  /** The capitalised ones among them, which may also be the beginning of a name. */
  readonly capitals: ReadonlySet<string>
}

/** `sames`: stems that stand for one person each, and are one term (`askedQuestion`). */
export const questionTraits = (
  question: string,
  at: AskedAt,
  sames: ReadonlyArray<ReadonlySet<string>> = []
): QuestionTraits => {
  const lower = question.replaceAll("US", "").toLowerCase().replaceAll("\u2019", "'")
  return {
    isFirstPerson: firstPerson.test(lower.replace(imperatives, " ")),
    isPresent: asksPresent(lower),
    ranges: questionDates(question, at),
    kind: kindAsked(lower),
    goesOnAt: goesOn(question) ? at.nowMillis : undefined,
    isOfAssistant: ofAssistant.some((pattern) => pattern.test(lower)),
    terms: joinedTerms(searchTerms(question), sames),
    ...wordsOf(question)
  }
}

const imperatives = /\b(?:tell|show|remind|give|help|let) (?:me|us)\b/g
const firstPerson = /\b(?:i|my|me|mine|myself|we|our|ours|us|the user)\b/
const saying =
  "said|told|suggested|recommended|advised|mentioned|explained|listed|gave|given|proposed|described|answered|offered"
const ofAssistant = [
  /\bdid (?:you|the assistant)\b|\bby (?:you|the assistant)\b/,
  new RegExp(`\\b(?:you|assistant)(?: \\w+){0,2} (?:${saying})\\b`),
  /\b(?:your|the assistant's) (?:advice|suggestions?|recommendations?|answers?|opinion|list)\b/
]
/** What is asked of memory is a question, or begins with one; this begins with a statement and says more. */
const goesOn = (question: string): boolean => {
  const [first, ...others] = question.match(/[.!?]+(?=\s|$)/g) ?? []
  return question.length >= goingOnLengthMin && others.length > 0 && first?.includes("?") === false
}
const goingOnLengthMin = 80

const newest = /\b(?:latest|newest|most recent(?:ly)?|current(?:ly)?|now(?:adays)?|these days|at the moment)\b/
const presentTense = /\b(?:is|are|am|do|does|have|has|can|will|shall|should)\b|\b(?:what|who|where|when|how)'s\b/
/** "Who looks after the dog?": without an auxiliary, a question for the subject is in the present unless a verb is not. */
const asksSubject = /^(?:who|what|which|how (?:many|much))\b/
const pastVerb = wordOf(
  phrases(String.raw`
    \w+ed / won / wrote / gave / went / came / took / made / said / got / told / bought / saw / met / left
    lost / found / became / began / paid / sent / kept / felt / brought / taught / thought / ate / drank / drove
    broke / chose / grew / knew / ran / sang / sold / spoke / spent / would / could / might
  `),
  ""
)
/** Of a question in lower case with straight apostrophes. */
export const asksPresent = (lower: string): boolean =>
  newest.test(lower) || (isInPresent(lower) && !pastTense.test(lower))

const isInPresent = (lower: string): boolean =>
  presentTense.test(lower) || (asksSubject.test(lower) && !pastVerb.test(lower))
const pastTense =
  /\b(?:did|was|were|had|first|before|(?<!look(?:s|ing)? )after|ago|used to|how many times|(?:19|20)\d\d|original(?:ly)?|previous(?:ly)?|former(?:ly)?|yesterday|last)\b/

const run = /[\p{L}\p{N}\p{M}]+/gu
const capital = /^\p{Lu}/u

const wordsOf = (question: string): Pick<QuestionTraits, "words" | "capitals"> => {
  const words = new Set<string>()
  const capitals = new Set<string>()
  for (const [word] of question.matchAll(run)) {
    const isCapital = capital.test(word)
    if (!isCapital && stopWords.has(word)) continue
    for (const token of tokenize(word)) {
      words.add(token)
      if (isCapital) capitals.add(token)
    }
  }
  return { words, capitals }
}

/** The shortest beginning of a name that stands for it: "Deb" for Deborah. */
const NICKNAME_LENGTH_MIN = 3

/** Whether the question may name this speaker: by the first word of the name, or a beginning of it. */
export const mayName = (names: NameWords, speaker: string): boolean => naming(names, speaker) !== undefined

/**
 * The one among `speakers` whom the question names; undefined if it names none or several. A whole name beats a
 * beginning: "Sam" is Sam, where there is also a Samantha.
 */
export const namedSpeaker = (traits: QuestionTraits, speakers: Iterable<string>): string | undefined => {
  const distinct = [...new Set(speakers)]
  const whole = distinct.filter((speaker) => naming(traits, speaker) === "whole")
  const named = whole.length > 0 ? whole : distinct.filter((speaker) => mayName(traits, speaker))
  return named.length === 1 ? named[0] : undefined
}

const naming = ({ capitals, words }: NameWords, speaker: string): "whole" | "begun" | undefined => {
  const [first] = tokenize(speaker, 1)
  if (first === undefined) return undefined
  if (words.has(first)) return "whole"
  const isBegun = capitals.values().some((word) => word.length >= NICKNAME_LENGTH_MIN && first.startsWith(word))
  return isBegun ? "begun" : undefined
}

/** The term of a role by which speakers without a name go: as the word for a side of the chat it tells nothing apart. */
export const roleTerm = (speaker: string | undefined): string | undefined =>
  speaker === "user" || speaker === "assistant" ? tokenize(speaker)[0] : undefined

/**
 * What a message or a question shows by the signs of its words: whether it states something of its speaker, whether it only
 * asks, and what kinds of things it holds (a date, a number, a place, a name, a reason) or asks for. In English; read at each
 * write, hence with ASCII patterns where they do.
 */
interface MessageSigns {
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
