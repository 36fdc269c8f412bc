/** The sort of value that a question asks for, a time, an amount or a person, and whether a text has one. */
import { tellsEnd, timeNames } from "./ChangeSigns.ts"

const tests =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text)

export const asksTimeOf = tests(
  /^(?:when|until when|what time|what day|what date|on which day)\b|\b(?:deadline|hours|date)\b/i
)
export const asksAmountOf = tests(
  /^how (?:many|much|old|long|often|far|big|heavy|tall)\b|\b(?:price|costs?|rent|dose|number|pay|code|pin|budget|version)\b/i
)
export const asksWho = tests(/^who\b/i)
export const asksNameOf = tests(/\b(?:name|called)\b/i)
export const asksHome = tests(/\bwhere\b|\b(?:live|living|home|address|city|town|country|flat|house|place|rent)\b/i)
const asksWhether = tests(/^(?:do|does|am|is|are|have|has|will|can|should)\b/i)
/** Says what somebody or something is called. */
export const tellsName = tests(/\b(?:call(?:s|ed|ing)?|nam(?:e|es|ed|ing)|renam(?:es?|ed|ing))\b/i)

/** Amounts, hours and dates. */
const values = new RegExp(
  String.raw`\d[\d.,:]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|half|dozen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|noon|midnight|fortnight|${timeNames.weekday}|${timeNames.month})\b`,
  "gi"
)
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

const aTime = String.raw`(?:\d[\d:.]*(?:st|nd|rd|th| ?[ap]m| o'clock)?(?=[.,!;]|$| (?:of|on|in|from|at|instead|now|this|next|${timeNames.month})\b)|(?:first|second|third|last|next|this) (?=${timeNames.weekday}|${timeNames.month}|week)|${timeNames.weekday}|${timeNames.month}|noon|midnight|half past|tomorrow|tonight)`
const movedTime = new RegExp(
  String.raw`\b(?:(?:mov|push|postpon|delay|reschedul|chang|shift|bump)\w*|put|brings?|brought|starts?|begins?)\b[^.!?]{0,40}? (?:to|at|on|from|until|till|by|for) (?:the )?${aTime}`,
  "i"
)
const atPlace = new RegExp(
  String.raw`\b(?:in|at|into|near) (?:(?:the|a|an|my|our|his|her|their) )?(?!${aTime})\p{L}`,
  "iu"
)

/** It moves something to another time and names nothing else: "book club moved to the first Wednesday". */
export const tellsTimeAlone = (text: string): boolean =>
  movedTime.test(text) && !atPlace.test(text) && !name.test(text.replaceAll(timeNamed, ""))
const timeNamed = new RegExp(String.raw`\b(?:${timeNames.weekday}|${timeNames.month})s?\b`, "gi")

const placeNamed =
  /\b(?:in|at|from|near|into|(?:mov|go|went|fly|flew|travel|trip|came|com|back)\w* (?:back )?to) \p{Lu}\p{L}+/gu
/** A name that is no place, no time and not in `known`. */
export const hasOtherName = (text: string, known: string): boolean => {
  const names = new Set(known.match(/\p{Lu}\p{L}+/gu))
  const rest = text
    .replaceAll(placeNamed, "")
    .replaceAll(timeNamed, "")
    .replaceAll(/\p{Lu}\p{L}+/gu, (word) => (names.has(word) ? "" : word))
  return name.test(rest) || nameFirst.test(rest)
}

const names = /(?<=[\p{L},;] )(?!I\b)\p{Lu}[\p{L}'-]+/gu

/** Whether the older text has what the question asks for, a time, an amount, a person or a name, and the newer no other. */
export const lacksValue = (question: string, older: string, newer: string): boolean => {
  if (asksWhether(question)) return false
  if (asksTimeOf(question) || asksAmountOf(question)) return hasNoOther(values, newer, older)
  if (asksWho(question)) return !name.test(newer) && !aPerson.test(newer)
  if (tellsEnd(newer)) return false
  const known = older.replaceAll(timeNamed, "")
  return (
    !hasNoOther(names, known, question) && hasNoOther(names, newer.replaceAll(timeNamed, ""), `${question} ${known}`)
  )
}

const hasNoOther = (pattern: RegExp, text: string, known: string): boolean => {
  const said = known.toLowerCase()
  return text.matchAll(pattern).every(([found]) => said.includes(found.toLowerCase()))
}
