/** What sort of value a question asks for, and whether a text has one: a time, an amount or a person. */
import { timeNames } from "./ChangeSigns.ts"

const asksTime = /^(?:when|until when|what time|what day|what date|on which day)\b|\bdeadline\b|\bhours\b/i
const asksAmount = /^how (?:many|much|old|long)\b|\b(?:price|costs?|rent|dose|number|pay)\b/i
const asksPerson = /^who\b/i
const asksName = /\b(?:name|called)\b/i
const asksMore = /^how (?:often|far|big|heavy|tall)\b|\b(?:code|pin|budget|version)\b/i
const asksAge = /^how old\b/i

const time = new RegExp(
  String.raw`\d|\b(?:${timeNames.weekday}|${timeNames.month}|noon|midnight|half past|fortnight)\b`,
  "i"
)
const amount =
  /\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|half|dozen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand)\b/i
/** A capitalised word that does not begin a sentence. */
const name = /(?<=[\p{L},;] )(?!I\b)\p{Lu}\p{L}+/u
/** One that does, and is the subject of it. */
const nameFirst =
  /(?:^|[.!?] )(?!(?:I|It|They|She|He|We|You|That|This|There)\b)\p{Lu}\p{L}+ (?:from|is|has|does|will|took|and)\b/u
const person =
  "(?:grand)?(?:mother|father|mum|mom|dad|parents?|sister|brother|son|daughter|aunt|uncle|cousin|nephew|niece|wife|husband|partner|girlfriend|boyfriend|friend|neighbou?r|colleague|boss|manager|flatmate|roommate|hairdresser|teacher|landlord|kid|children|in-law)s?"
const aPerson = new RegExp(String.raw`\b${person}\b`, "i")

/** Everyday names of other people: my sister, the landlord. */
export const otherPeople = new RegExp(String.raw`\b(?:my|our|your|his|her|their|an?|the) (?:\w+ )?(${person})\b`, "gi")

export const asksWho = (question: string): boolean => asksPerson.test(question)

/** False if the question asks for a sort of value that the text lacks. */
export const hasAskedValue = (question: string, text: string): boolean => {
  if (asksTime.test(question)) return time.test(text)
  if (asksAmount.test(question)) return amount.test(text)
  return !asksWho(question) || name.test(text) || aPerson.test(text)
}

export type AskedSort = "time" | "amount" | "age" | "person"

/** The sort that is asked for, or else that of the value in an older answer; undefined: any. */
export const sortAsked = (question: string, older: string): AskedSort | undefined => {
  if (asksTime.test(question)) return "time"
  if (asksAge.test(question)) return "age"
  if (asksAmount.test(question) || asksMore.test(question)) return "amount"
  if (asksPerson.test(question) || asksName.test(question)) return "person"
  return /^where\b/i.test(question) || !amount.test(older) ? undefined : "amount"
}

const units = {
  money: /[£$€]|\b(?:euros?|eur|quid|pounds|dollars|bucks)\b/i,
  date: new RegExp(String.raw`\b(?:${timeNames.weekday}|${timeNames.month})\b`, "i"),
  clock: /\d:\d\d|\b\d+ ?(?:h|hours?|min|minutes?)\b/i,
  weight: /\b\d+ ?(?:kg|kilos?)\b/i
}
const unitsOf = (text: string): ReadonlySet<string> =>
  new Set(Object.entries(units).flatMap(([unit, pattern]) => (pattern.test(text) ? [unit] : [])))

/** Whether a text has a value of a sort, and in no other unit than what is `known` of it. */
export const tellsSort = (sort: AskedSort, text: string, known: string): boolean => {
  if (sort === "time") return time.test(text) || amount.test(text)
  if (sort === "person") return name.test(text) || nameFirst.test(text) || aPerson.test(text)
  if (!amount.test(text)) return false
  const said = unitsOf(text)
  const other = unitsOf(known)
  return said.size === 0 || (sort === "age" ? false : other.size === 0 || !said.isDisjointFrom(other))
}
