/**
 * Decides whether a newer text may change what a question asks of an older one. Of a message with several facts ("I
 * live in Lisbon with my dog Bruno, rent is 900.") a correction changes one and leaves the others right: "the rent is
 * 1,050 now" says nothing of the dog. Read by signs, in English: of a change, of the sort of value that is asked for, of
 * other matters; in doubt it may.
 */
import { tellsChange, tellsEnd } from "./ChangeSigns.ts"
import { MONTH, WEEKDAY } from "../calendar/CalendarWords.ts"
import { either } from "../text/OneOf.ts"
import { queryTerms } from "../text/Tokenizer.ts"

const month = `(?:${MONTH}|spring|summer|autumn|winter)`

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
const asksWho = tests(/^who\b/i)
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
const otherPeople = new RegExp(String.raw`\b(?:my|our|your|his|her|their|an?|the) (?:\w+ )?(${person})\b`, "gi")

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

const readStatements = (text: string): ReadonlyArray<Statement> =>
  statementsOf(text).map((one) => ({ text: one, words: wordsOf(one), tellsChange: tellsChange(one) }))

/** The same of one older text and any newer one. */
const changesAsked = (question: string, older: string): ((newer: ReadonlyArray<Statement>) => boolean) => {
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

const hasVerb = either(
  /\b(?:is|are|am|was|were|has|have|had|do|does|will|can|must|i|we|it|he|she|they)\b/i,
  /\w'(?:s|m|re|ve|ll)\b/i,
  /^(?:pays?|takes?|goes|go|lives?|works?|costs?|meets?|plays?|runs?|drives?|sleeps?|stays?|starts?|ends?|uses?)\b/i
)

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

/**
 * What two texts show, for a question about the present, of whether the newer one tells a later state of what the older one
 * says: what they share of the question, words of change, whose matter it is. Signs alone; how much each weighs is the
 * ranking's. In English.
 */
interface LaterSigns {
  /** Share of the question's words that the older one alone has. */
  readonly lost: number
  /** Of the words that the older one shares with the question the newer one has some, not all: another thing of the kind. */
  readonly isPartly: boolean
  /** Share of its statements that tell a change. */
  readonly changes: number
  /** It speaks of another person's state or of what is not so. */
  readonly isNotSo: boolean
  /** It begins with something of the speaker's that neither the question nor the older one names: "my hairdresser". */
  readonly isOfOtherThing: boolean
  /** The older one has what the question asks for, and the newer no other. */
  readonly lacksValue: boolean
}

/** Each text is read once for all pairs that it is in. */
interface LaterReader {
  /** Whether the newer one may change what is asked of the older one. */
  readonly mayChange: (older: string, newer: string) => boolean
  readonly signsOf: (older: string, newer: string) => LaterSigns
}

export const laterReader = (question: string): LaterReader => {
  const asked = new Set(queryTerms(question))
  const known = new Map<string, Reading>()
  const readingOf = (text: string): Reading => {
    const one = known.get(text) ?? read(question, text)
    known.set(text, one)
    return one
  }
  return {
    mayChange: (older, newer) => readingOf(older).mayChange(readingOf(newer).statements),
    signsOf: (older, newer) => {
      const before = readingOf(older)
      const { statements, terms, thing } = readingOf(newer)
      const topic = asked.intersection(before.terms)
      const lost = topic.difference(terms)
      const changes = statements.filter((one) => one.tellsChange)
      const isOther = ({ text }: Statement): boolean =>
        isNotSo(question, older, text) || (before.isOfSelf && isOfThird(question, older, text))
      return {
        lost: lost.size / Math.max(1, asked.size),
        isPartly: lost.size > 0 && lost.size < topic.size,
        changes: changes.length / statements.length,
        isNotSo: (changes.length > 0 ? changes : statements).every(isOther),
        isOfOtherThing: thing.size > 0 && thing.isDisjointFrom(asked.union(before.terms)),
        lacksValue: lacksValue(question, older, newer)
      }
    }
  }
}

const read = (question: string, text: string) => ({
  terms: new Set(queryTerms(text)),
  statements: readStatements(text),
  isOfSelf: ofSelf.test(text),
  /** Words of something of the speaker's that it begins with. */
  thing: wordsOf(ownThing.exec(text)?.[1] ?? ""),
  mayChange: changesAsked(question, text)
})

type Reading = ReturnType<typeof read>

const ownThing =
  /(?:^|[.!?] )(?:my|our) ((?:(?!(?:is|was|has|had|went|and|of|in|on|at|to|got|wants?|says?)\b)[\w'-]+ ?){1,3})/i
const unreal =
  /\b(?:if|would|could|might|maybe|perhaps|one day|i'd|we'd|used to|last (?:year|month)|thinking (?:of|about)|thought (?:of|about)|considered|decided against|wanted to|wish)\b/i
const ofSelf = /\b(?:i|im|ive|my|me|mine|we|our|us)\b/i
const ofThird = /\b(?:he|she|his|her|him)\b/i
const subjectOf = /(?:^|[.!?] )(?:my|our|his|her|their) (?:\w+ )?(\w+)/i

/** Of a third person, where the question has none. */
const isOfThird = (question: string, older: string, statement: string): boolean =>
  ofThird.test(statement) &&
  !ofThird.test(question) &&
  (!ofSelf.test(statement) || namesOther(`${question} ${older}`, statement))

/** Whether it speaks of a person, by what they are to somebody, of whom `known` does not. */
const namesOther = (known: string, text: string): boolean =>
  text
    .matchAll(otherPeople)
    .some(([, person]) => !known.toLowerCase().includes(person!.toLowerCase().replace(/s$/, "")))

/** A wish, a plan or the past, or the state of another person. */
const isNotSo = (question: string, older: string, statement: string): boolean =>
  unreal.test(statement) ||
  (!asksWho(question) && namesOther(`${question} ${older}`, subjectOf.exec(statement)?.[0] ?? ""))
