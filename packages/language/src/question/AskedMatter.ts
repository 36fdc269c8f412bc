/**
 * Decides whether a newer text may change what a question asks of an older one. Of a message with several facts ("I
 * live in Lisbon with my dog Bruno, rent is 900.") a correction changes one and leaves the others right: "the rent is
 * 1,050 now" says nothing of the dog. Read by signs, in English: of a change, of the sort of value that is asked for, of
 * other matters; in doubt it may.
 */
import { MONTH, WEEKDAY } from "../calendar/CalendarWords.ts"
import { queryTerms } from "../text/Tokenizer.ts"

const oneOf = (phrases: ReadonlyArray<string>): RegExp => new RegExp(String.raw`\b(?:${phrases.join("|")})\b`, "i")

const month = `(?:${MONTH}|spring|summer|autumn|winter)`

/** The state before has ended, or what was said of it was wrong. */
const ended = oneOf([
  "no longer",
  "(?:not|no|\\w+n't)(?: \\w+){0,6} any ?more",
  "no more",
  "instead",
  "after all",
  "in the end",
  "scratch that",
  "correction",
  "change of plans?",
  "i (?:was wrong|misread|misheard|mixed (?:it|that|them) up|got (?:that|it) wrong|meant)",
  "turn(?:s|ed) out",
  "switch(?:ed|ing)|chang(?:ed|ing)|swapp(?:ed|ing)|replac(?:ed|ing|es)|transferr(?:ed|ing)|ported",
  "mov(?:ed|ing) (?:me|it|us|to|out|in|into|back|house|my|the|our|on|from|over|away)|moved|the move",
  "sold|traded|(?:gave|give|given|giving)(?: \\w+){0,3} (?:up|away)|gave up|got rid of|upgraded|downgraded",
  "quit|quitting|resigned|dropped|stopped|ditched|cancel(?:l?ed|ling)|closed (?:my|our|the)|left (?:the|my|our|behind|for)|left|done with|fed up with",
  "my notice|let go|laid off|fired|retired|promoted|(?:took|takes|taken|taking) over",
  "broke up|broken up|split up|divorced|separated|passed away|died|without a",
  "(?:is|are|was|were) off|fell through|call(?:ed)? (?:it )?off|scrapped|can't make it|hurt (?:her|his|my)|(?:is|was|are) taken|(?:is|was) full",
  "went (?:for|with|back)|ended up|settled (?:on|for)|became|renamed|talked me into|says? yes|said (?:yes|no)"
])

/** A date, an hour or an amount is another one; something holds from some time on, began, or is new. */
const changed = oneOf([
  "postponed|delayed|push(?:ed)?|rescheduled|re-?booked|brought forward|bumped|extend(?:ed)?|extension|adjourned",
  "another (?:\\w+ ){0,2}(?:fortnight|week|month|day|year|hour)s?|more time",
  "raised|increased|lowered|reduced|doubled|halved|cut (?:it |me |back |down )?(?:to|down|back)",
  "(?:put|puts|went|gone|goes|going|brought|moved|took|is|are)(?: \\w+){0,6} (?:up|down) (?:to|by)",
  "put me (?:up|down|on|onto)|(?:two|three|four|one|some|a few) more|so (?:only|that makes|we are)|(?:are|is) left",
  "now|nowadays|these days|currently|from now on|finally|by now|at the moment",
  `(?:as of|from|since) (?:now|today|this|next|tomorrow|yesterday|the|last|${WEEKDAY}|${month})`,
  "since [a-z]",
  "start(?:ed|ing)|began|begun|joined|signed|hired|adopted|rented|picked up|bought|booked|took (?:in|on)",
  "first (?:day|week|month|shift|lesson|class)|got (?:the|my|our|a|an) (?:new|keys|offer)|got the keys",
  "made me an offer|offered me|accepted|engaged|married|arrived|is here|'s here|born",
  "(?:gave|sent|got) (?:me|us) (?:a|an|the)|we've got|i've got|took a",
  "(?:my|our) (?:own |little |new )+\\w+",
  "(?:the|a) new (?:one|house|flat|place|job|car|number|card|sim|phone)",
  "new sim"
])

/** Whether the text says that what was is over, or was wrong. */
export const tellsEnd = (text: string): boolean => ended.test(text.replaceAll("\u2019", "'"))

/** Whether the text has any sign. */
export const tellsChange = (text: string): boolean => tellsEnd(text) || changed.test(text.replaceAll("\u2019", "'"))

const tests =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text)

const asksTimeOf = tests(
  /^(?:when|until when|what time|what day|what date|on which day)\b|\b(?:deadline|hours|date)\b/i
)
const asksAmountOf = tests(
  /^how (?:many|much|old|long|often|far|big|heavy|tall)\b|\b(?:price|costs?|rent|dose|number|pay|code|pin|budget|version)\b/i
)
export const asksWho = tests(/^who\b/i)
const asksNameOf = tests(/\b(?:name|called)\b/i)
const asksHome = tests(/\bwhere\b|\b(?:live|living|home|address|city|town|country|flat|house|place|rent)\b/i)
const asksWhether = tests(/^(?:do|does|am|is|are|have|has|will|can|should)\b/i)
/** Says what somebody or something is called. */
const tellsName = tests(/\b(?:call(?:s|ed|ing)?|nam(?:e|es|ed|ing)|renam(?:es?|ed|ing))\b/i)

/** Amounts, hours and dates. */
const values = new RegExp(
  String.raw`\d[\d.,:]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|half|dozen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|noon|midnight|fortnight|${WEEKDAY}|${month})\b`,
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

const aTime = String.raw`(?:\d[\d:.]*(?:st|nd|rd|th| ?[ap]m| o'clock)?(?=[.,!;]|$| (?:of|on|in|from|at|instead|now|this|next|${month})\b)|(?:first|second|third|last|next|this) (?=${WEEKDAY}|${month}|week)|${WEEKDAY}|${month}|noon|midnight|half past|tomorrow|tonight)`
const movedTime = new RegExp(
  String.raw`\b(?:(?:mov|push|postpon|delay|reschedul|chang|shift|bump)\w*|put|brings?|brought|starts?|begins?)\b[^.!?]{0,40}? (?:to|at|on|from|until|till|by|for) (?:the )?${aTime}`,
  "i"
)
const atPlace = new RegExp(
  String.raw`\b(?:in|at|into|near) (?:(?:the|a|an|my|our|his|her|their) )?(?!${aTime})\p{L}`,
  "iu"
)

/** It moves something to another time and names nothing else: "book club moved to the first Wednesday". */
const tellsTimeAlone = (text: string): boolean =>
  movedTime.test(text) && !atPlace.test(text) && !name.test(text.replaceAll(timeNamed, ""))
const timeNamed = new RegExp(String.raw`\b(?:${WEEKDAY}|${month})s?\b`, "gi")

const placeNamed =
  /\b(?:in|at|from|near|into|(?:mov|go|went|fly|flew|travel|trip|came|com|back)\w* (?:back )?to) \p{Lu}\p{L}+/gu
/** A name that is no place, no time and not in `known`. */
const hasOtherName = (text: string, known: string): boolean => {
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

export const mayChange = (question: string, older: string, newer: string): boolean =>
  changesAsked(question, older)(readStatements(newer))

/** A sentence or clause. */
export interface Statement {
  readonly text: string
  readonly words: ReadonlySet<string>
  readonly tellsChange: boolean
}

export const readStatements = (text: string): ReadonlyArray<Statement> =>
  statementsOf(text).map((one) => ({ text: one, words: wordsOf(one), tellsChange: tellsChange(one) }))

/** The same of one older text and any newer one. */
export const changesAsked = (question: string, older: string): ((newer: ReadonlyArray<Statement>) => boolean) => {
  const topic = wordsOf(question)
  const facts = factsOf(older).map(wordsOf)
  const most = Math.max(...facts.map((fact) => fact.intersection(topic).size))
  const asked = unionOf(facts.filter((fact) => most === 0 || fact.intersection(topic).size === most))
  const matter = topic.union(asked)
  const others = unionOf(facts).difference(matter)
  const isOfAsked = ({ text: statement, words }: Statement): boolean => {
    const isTied = !words.isDisjointFrom(matter)
    if (!isTied && !words.isDisjointFrom(others)) return false
    if (asksNameOf(question))
      return !words.isDisjointFrom(topic) || tellsName(statement) || (isTied && renames(statement, older))
    if (!isTied && movesHome.test(statement) && !asksHome(question)) return false
    return asksTimeOf(question) || asksAmountOf(question) || !tellsTimeAlone(statement)
  }
  return (newer) => {
    const changes = newer.filter((one) => one.tellsChange)
    return (changes.length === 0 ? newer : changes).some(isOfAsked)
  }
}

/** Somebody else has taken the place of who was named. */
const renames = (text: string, older: string): boolean => tellsEnd(text) && hasOtherName(text, older)

const movesHome = /\b(?:i|we)(?:'ve| have)?(?: (?:actually|finally|just|recently|now))* moved(?: back)? (?:in|to)\b/i

/** Sentences, and clauses joined by "and" or "but" that have their own subject. */
const statementsOf = (text: string): ReadonlyArray<string> =>
  text
    .replaceAll("\u2019", "'")
    .split(/(?<=[.!?;])\s+|,? (?:and|but) (?=(?:i|we|my|our|the|it|he|she|they|his|her|their)\b)/i)

/** Statements, and parts between commas that have a verb; one without belongs to the next to it. */
const factsOf = (text: string): ReadonlyArray<string> =>
  statementsOf(text).flatMap((statement) => {
    const facts: Array<string> = []
    for (const part of statement.split(/, (?:and |but |so )?/)) {
      if (facts.length === 0 || (hasVerb.test(part) && hasVerb.test(facts.at(-1)!))) facts.push(part)
      else facts.push(`${facts.pop()!}, ${part}`)
    }
    return facts
  })

const hasVerb =
  /\b(?:is|are|am|was|were|has|have|had|do|does|will|can|must|i|we|it|he|she|they)\b|\w'(?:s|m|re|ve|ll)\b|^(?:pays?|takes?|goes|go|lives?|works?|costs?|meets?|plays?|runs?|drives?|sleeps?|stays?|starts?|ends?|uses?)\b/i

const unionOf = (sets: ReadonlyArray<ReadonlySet<string>>): ReadonlySet<string> =>
  sets.reduce((all, one) => all.union(one), new Set<string>())

/** Words that say little of a matter. */
const passing = new Set(
  queryTerms(
    "call name go get thing know think want need like make day time still much many good well come take new old use back look see sure yes ok"
  )
)
export const wordsOf = (text: string): ReadonlySet<string> =>
  new Set(queryTerms(text).filter((term) => !passing.has(term)))
