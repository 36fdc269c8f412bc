/**
 * Joins a bare answer (`Berlin`) with the assistant's question (`Where do you live?`) to one sentence, if it has the form
 * of what is asked for. The question gives the verb, never a value; other short answers are left.
 */
import type { Turn } from "../extraction/Extractor.ts"
import { plainMarks } from "../speech/WrittenOut.ts"
import { type Word, wordsOf } from "./Words.ts"

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
