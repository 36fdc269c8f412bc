/**
 * Values that two messages may have in common: numbers, days of the week, and what is counted. "They have 140 users" and
 * "they're at 165 users by now" count the same; "the 22nd instead of the 15th" names the value that it replaces.
 */
import { stopWords } from "@muniment/engine/text/StopWords"
import { tokenize } from "@muniment/engine/text/Tokenizer"
import { weekdayNames } from "../calendar/CalendarWords.ts"
import { withoutDates } from "./PlainPart.ts"

const NUMBER_WORDS =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split(
    " "
  )
const NUMBER = `\\d[\\d,.]*\\d|\\d|\\b(?:${NUMBER_WORDS.slice(1).join("|")})\\b`
const VALUE = new RegExp(`${NUMBER}|\\b(?:${weekdayNames.join("|")})`, "giu")
const COUNTED = new RegExp(`(${NUMBER})[ -]((?:[\\p{L}-]+ ?){1,2})`, "giu")

const DIFFERENCE = new RegExp(
  `\\b(?:by|up|down|rose|fell|increased?|decreased?|rise|raise|dropped|grew)(?: of| is| was)? (?:\\p{Ll}+ ){0,2}?\\p{Sc}?(?:${NUMBER})%?|\\p{Sc}?(?:${NUMBER})[%\\p{Sc}]?(?: \\p{Ll}+){0,3}? (?:more|less|extra|\\p{Ll}{3,}er than)\\b`,
  "giu"
)

/** Digits without commas, days of the week in lower case. */
export const valuesSaid = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(VALUE)].map(([word]) => plain(word)))

/** By stem of what is counted: the number. */
export const countsSaid = (text: string): ReadonlyMap<string, string> =>
  new Map(
    [...text.matchAll(COUNTED)].flatMap(([, number = "", words = ""]) =>
      tokenize(words)
        .filter((stem) => !stopWords.has(stem))
        .map((stem) => [stem, plain(number)] as const)
    )
  )

/** It says of an amount only by how much it differs from another one: "went up by 50", "50 more than last year". */
export const saysDifferenceAlone = (text: string): boolean => {
  const rest = text.replaceAll(DIFFERENCE, " ")
  return rest !== text && numbersIn(rest).length === 0
}

const numbersIn = (text: string): ReadonlyArray<string> =>
  [...valuesSaid(withoutDates(text))].filter((value) => /^\d/.test(value))

const plain = (word: string): string => {
  const lower = word.toLowerCase().replaceAll(",", "")
  const number = NUMBER_WORDS.indexOf(lower)
  return number < 0 ? lower : String(number)
}
