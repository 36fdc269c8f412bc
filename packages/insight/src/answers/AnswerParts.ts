/**
 * Answer-type check: does a statement hold a place for "where", a date for "when", a name for "who", a number for
 * "how many"? Decided by the form of words and by small word lists. A part that the question itself names does not
 * count.
 */
import { stopWords } from "@muniment/engine/text/StopWords"
import { tokenize } from "@muniment/engine/text/Tokenizer"
import { monthNames, weekdayNames } from "../calendar/CalendarWords.ts"
import type { MemoryStatement } from "./MemoryStatement.ts"
import type { AnswerType } from "./Question.ts"

/** `asked`: stems of the question. */
export const hasAnswerPart = (type: AnswerType, statement: MemoryStatement, asked: ReadonlySet<string>): boolean => {
  switch (type) {
    case "place":
      return hasPlace(statement, asked)
    case "date":
      return statement.date !== undefined || DATE.test(withoutSubject(statement))
    case "person":
      return hasPerson(statement, asked)
    case "age":
      return AGE.test(statement.text)
    case "quantity":
      return QUANTITY.test(statement.text)
    case "frequency":
      return FREQUENCY.test(statement.text)
    case "reason":
      return REASON.test(statement.text)
    case "thing":
      return [...asked].every((term) => shapes.get(term)?.test(statement.text) !== false)
    case "yesNo":
    case "topic":
      return true
  }
}

const NUMBER_WORD =
  "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fifteen|twenty|thirty|forty|fifty|sixty|hundred|thousand|dozen|couple|several|both|twice|half|no|none|single"
const QUANTITY = new RegExp(`\\d|\\b(?:${NUMBER_WORD})\\b|\\bha(?:s|ve) an? `, "i")
const MONTH = monthNames.join("|")
const WEEKDAY = weekdayNames.map((name) => `${name}s?`).join("|")
const DATE = new RegExp(
  `\\b(?:${MONTH}|${WEEKDAY}|(?:19|20)\\d\\d|\\d{1,2}(?::\\d\\d)? ?[ap]\\.?m\\b|\\d{1,2}:\\d\\d)|` +
    "\\b(?:noon|midnight|o'clock|yesterday|today|tomorrow|tonight|morning|mornings|evening|evenings|afternoon|weekend|weekends|weekly|daily|" +
    "spring|summer|autumn|winter|Christmas|Easter|ago|since|night|nights|(?:last|next|every|each) (?:day|week|month|year))\\b",
  // Case counts: "may" and "march" are verbs.
  "u"
)
/** A month's name can also be a person's (June). */
const withoutSubject = ({ text, subject }: MemoryStatement): string =>
  subject === undefined ? text : text.replaceAll(subject, "")

const AGE = /\b\d{1,3}\b|\b(?:years?|months?|weeks?)[ -]old\b|\bborn\b|\baged?\b/i

const COLOUR =
  /\b(?:red|blue|green|yellow|black|white|purple|violet|orange|pink|brown|teal|turquoise|beige|gr[ae]y|gold|silver|navy)\b/i
/** Values with a recognisable form (e-mail, phone, ...), by the stems of the words that ask for them. */
const shapes: ReadonlyMap<string, RegExp> = new Map([
  ...tokenize("colour color").map((stem) => [stem, COLOUR] as const),
  ...tokenize("email mail").map((stem) => [stem, /@/] as const),
  ...tokenize("phone telephone number price cost").map((stem) => [stem, /\d/] as const)
])

const FREQUENCY =
  /\b(?:every|each|daily|weekly|monthly|yearly|annually|once|twice|times|always|never|often|usually|sometimes|rarely|seldom|regularly|hourly|nightly|per|an? (?:day|week|month|year)|(?:mon|tues|wednes|thurs|fri|satur|sun)days|mornings|evenings|weekends)\b/i
const REASON = /\b(?:because|since|due to|so that|in order to|as a result|reason|after|wants? to|to \p{Ll}+|for)\b/iu

/** Prepositions after which any word is taken for a place. */
const INSIDE =
  /\b(?:in|at|near|under|behind|inside|beside|outside|around|from|into|above|below|between)\s+(?:(?:the|a|an|his|her|their|my|our|its)\s+)?([\p{L}\p{N}'’-]+)/giu
/** Prepositions with many uses: only a capitalised word or one with an article is taken for a place. */
const TOWARDS =
  /\b(?:to|on|for|with|by|visits?|visited)\s+(?:(?:the|a|an|his|her|their|my|our)\s+\p{L}|\p{Lu})[\p{L}'’-]*/gu
const PLACE_FIELD = /\b(?:city|town|country|address|location|place|street|venue|home|office)\b/i

const hasPlace = (statement: MemoryStatement, asked: ReadonlySet<string>): boolean => {
  if (statement.location !== undefined) return true
  const isNew = (phrase: string): boolean => {
    const words = tokenize(phrase).filter((word) => !stopWords.has(word))
    return words.some((word) => !asked.has(word) && !/^\d+$/.test(word)) && !DATE.test(phrase)
  }
  const inside = [...statement.text.matchAll(INSIDE)].some(([, word = ""]) => isNew(word))
  if (inside || [...statement.text.matchAll(TOWARDS)].some(([phrase]) => isNew(phrase))) return true
  return PLACE_FIELD.test(statement.text) && statement.text.includes(":")
}

/** Tells a place from a person by the word before the name. The first word counts unless it is a stop word. */
const CAPITALISED = /(?:(\p{L}+)\s+)?(\p{Lu}[\p{L}'’-]+)/gu
const PLACE_WORD = /^(?:in|at|from|to|near|into)$/i
const RELATIVE =
  /\b(?:mother|father|mum|mom|dad|sister|brother|son|daughter|husband|wife|partner|boyfriend|girlfriend|friend|boss|manager|doctor|dentist|teacher|neighbou?r|colleague|cousin|aunt|uncle|grand\w+|roommate|flatmate|therapist|coach)\b/gi

const hasPerson = (statement: MemoryStatement, asked: ReadonlySet<string>): boolean => {
  const isNew = (word: string): boolean => {
    const [stem] = tokenize(word)
    return stem !== undefined && !asked.has(stem) && !stopWords.has(word.toLowerCase()) && !DATE.test(word)
  }
  if (statement.participants.some(isNew)) return true
  if (statement.subject !== undefined && isNew(statement.subject)) return true
  const names = [...statement.text.matchAll(CAPITALISED)].filter(([, before]) => !PLACE_WORD.test(before ?? ""))
  return (
    names.some(([, , name = ""]) => isNew(name)) || [...statement.text.matchAll(RELATIVE)].some(([word]) => isNew(word))
  )
}
