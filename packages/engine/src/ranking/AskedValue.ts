/** What sort of value a question asks for, and whether a text has one: a time, an amount or a person. */
import { timeNames } from "./ChangeSigns.ts"

const asksTime = /^(?:when|what time|what day|what date)\b|\bdeadline\b|\bhours\b/i
const asksAmount = /^how (?:many|much|old|long)\b|\b(?:price|costs?|rent|dose|number|pay)\b/i
const asksPerson = /^who\b/i

const time = new RegExp(
  String.raw`\d|\b(?:${timeNames.weekday}|${timeNames.month}|noon|midnight|half past|fortnight)\b`,
  "i"
)
const amount =
  /\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|dozen|twenty|thirty|forty|fifty|hundred)\b/i
/** A capitalised word that does not begin a sentence. */
const name = /(?<=[\p{L},;] )(?!I\b)\p{Lu}\p{L}+/u
const person =
  "(?:grand)?(?:mother|father|mum|mom|dad|parents?|sister|brother|son|daughter|aunt|uncle|cousin|nephew|niece|wife|husband|partner|girlfriend|boyfriend|friend|neighbou?r|colleague|boss|manager|flatmate|roommate|hairdresser|teacher|landlord|kid|children|in-law)s?"
const aPerson = new RegExp(String.raw`\b${person}\b`, "i")

/** Everyday names of other people: my sister, the landlord. */
export const otherPeople = new RegExp(String.raw`\b(?:my|our|his|her|their|an?|the) (?:\w+ )?(${person})\b`, "gi")

export const asksWho = (question: string): boolean => asksPerson.test(question)

/** False if the question asks for a sort of value that the text lacks. */
export const hasAskedValue = (question: string, text: string): boolean => {
  if (asksTime.test(question)) return time.test(text)
  if (asksAmount.test(question)) return amount.test(text)
  return !asksWho(question) || name.test(text) || aPerson.test(text)
}
