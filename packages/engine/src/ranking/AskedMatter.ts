/**
 * Decides whether a newer text may change what a question asks of an older one. Of a message with several facts ("I
 * live in Lisbon with my dog Bruno, rent is 900.") a correction changes one and leaves the others right: "the rent is
 * 1,050 now" says nothing of the dog. Read by rules, in English; in doubt it may.
 */
import {
  asksAmountOf,
  asksHome,
  asksNameOf,
  asksTimeOf,
  hasOtherName,
  tellsName,
  tellsTimeAlone
} from "./AskedValue.ts"
import { tellsChange, tellsEnd } from "./ChangeSigns.ts"
import { queryTerms } from "../text/Tokenizer.ts"

export const mayChange = (question: string, older: string, newer: string): boolean =>
  changesAsked(question, older)(readStatements(newer))

/** A sentence or clause. */
export interface Statement {
  readonly text: string
  readonly words: ReadonlySet<string>
  readonly tellsChange: boolean
}

export const readStatements = (text: string): ReadonlyArray<Statement> => statementsOf(text).map(readStatement)

const readStatement = (text: string): Statement => ({ text, words: wordsOf(text), tellsChange: tellsChange(text) })

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
