/**
 * The writer's own speech in a message: what stands in a frame (`framesOf`) is removed, the rest is split into
 * sentences. Bounded before the tagger runs; what is left out is reported.
 */
import { framesOf, type FrameType } from "@muniment/language/speech/Frames"
import { plainMarks } from "@muniment/language/speech/WrittenOut"
import { rulesLimits } from "./RulesProtocol.ts"
import type { Turn } from "../extraction/Extractor.ts"
import { type Word, wordsOf } from "./Words.ts"

export interface MessageText {
  readonly sentences: ReadonlyArray<string>
  /** Why something was left out; at most one of each. */
  readonly omitted: ReadonlyArray<string>
  /** Frames that stand in the message. */
  readonly frames: ReadonlySet<FrameType>
}

export const messageText = (content: string): MessageText => {
  const omitted = new Set<string>()
  const leave = (reason: string, replacement = " ") => {
    omitted.add(reason)
    return replacement
  }
  let text = content.slice(0, rulesLimits.messageLengthMax)
  if (text.length < content.length) leave("message is too long to be read whole")
  text = plainMarks(text.normalize("NFC").replace(invisible, ""))
    .replace(/(?:^|\s)[:;]['-]?[()DPp/|]+(?=\s|$)/g, ". ")
    .replace(/(\p{L})\1{2,9}/gu, "$1")
  const frames = framesOf(text)
  text = frames
    .toReversed()
    .reduce(
      (rest, { end, start, type }) => rest.slice(0, start) + leave(omissions[type], placeOf(type)) + rest.slice(end),
      text
    )
    .replace(/<[^<>]{1,200}>/g, () => leave("markup"))
    // Titles and names are left in quotation marks.
    .replace(/"([^"\n]{1,100})"/g, " $1 ")
  // A repeated sentence adds nothing.
  const sentences = [...new Set(sentencesOf(text, () => void leave("sentence is too long to be read")))]
  if (sentences.length > rulesLimits.sentencesPerMessageMax) leave("message has too many sentences")
  return {
    sentences: sentences.slice(0, rulesLimits.sentencesPerMessageMax),
    omitted: [...omitted],
    frames: new Set(frames.map(({ type }) => type))
  }
}

const omissions: Readonly<Record<FrameType, string>> = {
  code: "code",
  quotation: "quotation",
  dialogue: "words of other speakers",
  paste: "pasted text",
  draft: "a text to write or to work on",
  supposition: "supposed, not stated",
  play: "role play"
}

/** A quotation may be the object of its sentence. */
const placeOf = (type: FrameType): string => (type === "quotation" ? " QUOTATION " : ". ")

/** Zero-width, bidirectional and tag characters, which are invisible. */
const invisible = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]|\udb40[\udc00-\udc7f]/g

const sentencesOf = (text: string, tooLong: () => void): ReadonlyArray<string> =>
  text
    .split(/\n+|(?<=[.!?]["')\]]*)\s+(?=["'([]?[A-Za-z0-9])/)
    .reduce<Array<string>>(joinAbbreviations, [])
    .reduce<Array<string>>(joinGreeting, [])
    .map((sentence) =>
      sentence
        .replace(/^\s*(?:[-*\u2022]|\d{1,2}[.)])\s+/, "")
        .replace(/\s+/g, " ")
        .trim()
    )
    .filter((sentence) => /[\p{L}\d]/u.test(sentence))
    .filter((sentence) => {
      const isReadable =
        sentence.length <= rulesLimits.sentenceLengthMax &&
        sentence.split(" ").every((word) => word.length <= rulesLimits.wordLengthMax) &&
        !/[^\w\s]{12}/.test(sentence)
      if (!isReadable) tooLong()
      return isReadable
    })

/** `Hi there! This is Omar.` is one introduction. */
const joinGreeting = (sentences: Array<string>, next: string): Array<string> => {
  const last = sentences.at(-1)
  const isGreeting = last !== undefined && /^(?:hi|hello|hey|hiya)(?: there)?[!.,]*$/i.test(last)
  return isGreeting && /^(?:this|it) is /i.test(next)
    ? [...sentences.slice(0, -1), `${last} ${next}`]
    : [...sentences, next]
}

/** `Dr.`, `St.`, `e.g.` and initials end no sentence. */
const joinAbbreviations = (sentences: Array<string>, next: string): Array<string> => {
  const last = sentences.at(-1)
  if (
    last !== undefined &&
    /(?:^|\s|\()(?:Dr|Mr|Mrs|Ms|Prof|St|Mt|Jr|Sr|vs|approx|e\.g|i\.e|a\.m|p\.m|[A-Z])\.$/.test(last) &&
    /^[A-Z0-9]/.test(next)
  ) {
    // After `a.m.` a capital letter begins a sentence.
    if (!/[ap]\.m\.$/.test(last)) return [...sentences.slice(0, -1), `${last} ${next}`]
  }
  sentences.push(next)
  return sentences
}

const answerWordsMax = 6
const questionLengthMax = 300

export const lastQuestion = (turn: Turn | undefined): string | undefined => {
  if (turn?.role !== "assistant") return undefined
  return /([^.!?\n]*)\?[^?]*$/.exec(plainMarks(turn.content.slice(-questionLengthMax)))?.[1]?.trim()
}

/** The answer as a whole sentence; undefined if it is one already, or is no answer. */
export const bareAnswer = (question: string, sentence: string | undefined): string | undefined => {
  const answer = sentence?.replace(/[.!]+$/, "").trim()
  if (answer === undefined || answer === "" || answer.split(" ").length > answerWordsMax) return undefined
  const row = rows.find(({ asked }) => asked.test(question))
  return row === undefined || unanswered.test(answer) || !row.form(answer) ? undefined : row.states(answer)
}

const unanswered =
  /\b(?:I|I'm|my|we|you|is|are|not|don't|none|nope|why|what|skip|rather|ok|okay|sure|thanks|yes|yeah|idk|maybe|later|nothing)\b|\?$/i

/** Capitalised words and nothing else, which are names or words that the tagger does not know. */
const isName = (answer: string): boolean =>
  wordsOf(answer).every((word) => /^(?:at|in|from|near|the|of|de|la|and|&)$/.test(word.lower) || isNamed(word))
const isNamed = ({ tags, text }: Word): boolean =>
  /^\p{Lu}/u.test(text) &&
  !tags.has("Date") &&
  (named.some((tag) => tags.has(tag)) || [...tags].every((tag) => /^(?:Noun|Singular|ProperNoun)$/.test(tag)))
const named = ["Person", "Place", "City", "Country", "Organization", "Demonym"]
const hasNumber = (answer: string): boolean => /\d/.test(answer)

const rows: ReadonlyArray<{
  readonly asked: RegExp
  readonly form: (answer: string) => boolean
  readonly states: (answer: string) => string
}> = [
  {
    asked: /\b(?:your (?:full |first )?name(?= *$|[ ,]*(?:again|please)?$)|I call you|who am I (?:talking|speaking))/i,
    form: isName,
    states: (name) => `I am ${name}`
  },
  { asked: /\bwhere are you from\b/i, form: isName, states: (place) => `I am from ${place.replace(/^from /i, "")}` },
  {
    asked:
      /\bwhere (?:do you live|are you (?:based|located|living))|\b(?:what|which) (?:city|town|country) (?:do you live|are you)(?! \w+ing\b)/i,
    form: isName,
    states: (place) => `I live in ${place.replace(/^(?:in|at) /i, "")}`
  },
  { asked: /\bwhere do you work\b/i, form: isName, states: (firm) => `I work at ${firm.replace(/^(?:at|for) /i, "")}` },
  {
    asked: /\bhow old are you|your age\b/i,
    form: hasNumber,
    states: (age) => `I am ${age.replace(/ years old$/i, "")} years old`
  },
  { asked: /\byour birthday\b/i, form: hasNumber, states: (day) => `My birthday is ${day}` },
  { asked: /\byour (?:phone )?number\b/i, form: hasNumber, states: (number) => `My phone number is ${number}` },
  { asked: /\be-?mail\b/i, form: (answer) => /\S@\S/.test(answer), states: (address) => `My email is ${address}` }
]
