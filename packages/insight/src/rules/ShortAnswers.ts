/**
 * A bare answer (`Berlin`) to a question of the assistant (`Where do you live?`) is a sentence in two
 * halves; here they are put together, for the few questions whose answer is plain.
 */
import type { Turn } from "../extraction/Extractor.ts"
import { plainMarks } from "./Words.ts"

const answerWordsMax = 6
const questionLengthMax = 300

export const lastQuestion = (turn: Turn | undefined): string | undefined => {
  if (turn?.role !== "assistant") return undefined
  return /([^.!?\n]*)\?[^?]*$/.exec(plainMarks(turn.content.slice(-questionLengthMax)))?.[1]?.trim()
}

const forms: ReadonlyArray<readonly [RegExp, (answer: string) => string]> = [
  [/\b(?:your name|I call you|who am I (?:talking|speaking))\b/i, (answer) => `My name is ${answer}`],
  [/\bwhere (?:are you from|do you come from)\b/i, (answer) => `I am from ${answer.replace(/^from /i, "")}`],
  [
    /\b(?:where do you live|where are you (?:based|located|living)|(?:what|which) (?:city|town|country|state) (?:do you live|are you))\b/i,
    (answer) => `I live in ${answer.replace(/^(?:in|at) /i, "")}`
  ],
  [/\bhow old are you|your age\b/i, (answer) => `I am ${answer.replace(/ years old$/i, "")} years old`],
  [/\b(?:do you do for (?:a living|work)|your (?:job|occupation|profession))\b/i, (answer) => `My job is ${answer}`],
  [/\byour (favou?rite [\w ]+?)(?: is)?$/i, (answer) => `My favorite one is ${answer}`],
  [/\b(?:your|an?) e-?mail\b/i, (answer) => `My email is ${answer}`],
  [/\b(?:when is your birthday|your birthday)\b/i, (answer) => `My birthday is ${answer}`],
  [/\bany (?:food )?allerg/i, (answer) => `I am allergic to ${answer.replace(/^(?:yes,? |just |only )+/i, "")}`]
]

/** The answer as a whole sentence; undefined when it is one already, or no answer. */
export const bareAnswer = (question: string, sentence: string | undefined): string | undefined => {
  const answer = sentence?.replace(/[.!]+$/, "").trim()
  if (answer === undefined || answer === "" || answer.split(" ").length > answerWordsMax) return undefined
  if (/\b(?:I|I'm|my|we|you|is|are|not|don't|no|none|nope|why|what|skip|rather)\b|\?$/i.test(answer)) return undefined
  const found = forms.find(([pattern]) => pattern.test(question))
  if (found === undefined) return undefined
  const favorite = /favou?rite ([\w ]+?)$/i.exec(question)?.[1]
  return found[1](answer).replace("favorite one", `favorite ${favorite ?? "one"}`)
}
