/**
 * Checks an answer that a model wrote against the memories, sentence by sentence, each against its own citations: a
 * sentence that stands must not carry another one along, nor a memory that is cited elsewhere.
 *
 * A name, a number or a day that is in no citation and follows from none is a fault, and so are the denial of what a
 * citation states in the same words, and what is said of somebody else.
 */
import { isForeign, stopWords } from "@muniment/language/text/Language"
import { queryTerms, tokenize } from "@muniment/language/text/Tokenizer"
import { sentencesOf } from "@muniment/language/speech/WrittenOut"
import { type DateSupport, tellsDay } from "@muniment/language/calendar/DateSupport"
import { clausesIn, inventedWord, isDenied, makeShownText } from "../prompts/Support.ts"
import { derivedNumbers } from "../prompts/DerivedNumbers.ts"
import { datesInText, numberWords } from "@muniment/language/calendar/CalendarWords"
import type { WireAnswer } from "./AnswerPrompt.ts"
import { type Identities, readIdentities } from "@muniment/language/people/Identities"
import type { Question } from "@muniment/language/question/Question"
import { asksOnly, type Quote } from "./Quote.ts"
import type { Evidence } from "./WrittenAnswer.ts"
import { speakersDay } from "@muniment/language/calendar/SpokenDates"
import { leafTexts } from "@muniment/language/text/VisibleText"
import { resolvedDates } from "@muniment/language/calendar/ResolvedDates"
import type { Clause } from "@muniment/language/speech/Clause"

export interface Checked {
  readonly asked: Question
  /** Quotes of all the evidence. */
  readonly quotes: ReadonlyArray<Quote>
  /** Memories that the model was shown, by their numbers. */
  readonly numbered: ReadonlyArray<Evidence>
  readonly nowMillis: number | undefined
  readonly dates: DateSupport
}

/** The faults of a reply, in words for the model. */
export const answerCheck = ({ asked, dates, nowMillis, numbered, quotes }: Checked) => {
  const sources = numbered.map((memory) => sourceOf(memory, quotes))
  const identities = readIdentities(quotes.map(({ statement }) => statement))
  const units = new Set(sources.flatMap(({ texts }) => texts.flatMap(unitsIn)))
  const context: Context = { asked, identities, people: peopleOf(identities, asked), units, nowMillis, dates }
  return ({ sentences }: WireAnswer): ReadonlyArray<string> =>
    sentences.flatMap(({ citations, text }, at) => {
      const cited = [...new Set(citations)].flatMap((number) => sources[number - 1] ?? [])
      const found = sentencesOf(text).flatMap((sentence) => sentenceFaults(sentence, cited, context))
      return found.map((fault) => `sentence ${at + 1}: ${fault}`)
    })
}

interface Context {
  readonly asked: Question
  readonly identities: Identities
  /** Stems of names: in the question, of speakers, of the user and behind relations. They need no citation. */
  readonly people: ReadonlySet<string>
  /** Words that stand beside numbers in any memory that was shown. */
  readonly units: ReadonlySet<string>
  readonly nowMillis: number | undefined
  readonly dates: DateSupport
}

const peopleOf = ({ byRelation, speakers, user }: Identities, { names }: Question): ReadonlySet<string> =>
  new Set([...names.flat(), ...user, ...speakers, ...byRelation.values().flatMap((each) => [...each])])

const sentenceFaults = (text: string, cited: ReadonlyArray<Source>, context: Context): ReadonlyArray<string> => {
  if (cited.length === 0) return ["it cites no memory that was given"]
  if (cited.every(({ quote }) => quote !== undefined && asksOnly(quote.statement.text)))
    return ["what it cites only asks"]
  if (/^(?:yes|no)[.,!]?$/i.test(text)) return []
  const { asked, identities } = context
  const claim = text.replace(/^(?:yes|no)\b[,.;:!]?\s*/i, "")
  const stray = strayDay(text, cited, context)
  const invented = inventedIn(claim, cited, context)
  const other = whoseElse(claim, cited, { asked, identities })
  return [
    ...(stray === undefined
      ? []
      : [`the day ${stray} is in none of the memories that it cites, and follows from none`]),
    ...(invented === undefined ? [] : [`"${invented}" is in none of the memories that it cites`]),
    ...(!isForeign(asked.text) &&
    isDenied(
      claim,
      cited.flatMap(({ texts }) => texts)
    )
      ? ["it denies what a memory that it cites states, or states what it denies"]
      : []),
    ...(other === undefined ? [] : [other]),
    ...wordFaults(claim, cited, context)
  ]
}

/** A day of the answer that none of the citations tells. */
const strayDay = (
  text: string,
  cited: ReadonlyArray<Source>,
  { asked, dates, nowMillis }: Context
): string | undefined => {
  const now = nowMillis === undefined ? [] : [new Date(nowMillis).toISOString()]
  const years = new Set([...cited.map(({ day }) => day), ...now].map((day) => Number(day.slice(0, 4))))
  const readings = [...years].map((year) => datesInText(text, year).dates)
  const isKnown = (day: string): boolean =>
    (day.endsWith("-01-01") && asked.text.includes(day.slice(0, 4))) ||
    cited.some((source) => tellsDay(day, source, dates))
  const days = (readings[0] ?? []).map((_, at) => [...new Set(readings.flatMap((reading) => reading[at] ?? []))])
  return days.find((alternatives) => !alternatives.some(isKnown))?.[0]
}

const anyYear = 2000

/** A name, a number or an address that no citation has. "1 200" is 1200. */
const inventedIn = (
  text: string,
  cited: ReadonlyArray<Source>,
  { asked, nowMillis, people, units }: Context
): string | undefined => {
  const rest = datesInText(text, anyYear).rest.replaceAll(/(?<=\d)[  ](?=\d{3}(?!\d))/g, "")
  const texts = cited.flatMap((source) => source.texts)
  const carried = [...texts, asked.text, ...people]
  const inventedOf = (claim: string, told: ReadonlyArray<string>): string | undefined =>
    inventedWord([{ property: "answer", text: claim }], makeShownText(told))
  const invented = inventedOf(rest, carried)
  if (invented === undefined) return undefined
  // Other languages write nouns with a capital.
  if (!/\p{N}/u.test(invented)) return isForeign(asked.text) || isUnit(invented, rest, units) ? undefined : invented
  const derived = derivedNumbers(texts, { nowMillis, days: cited.map(({ day }) => day), count: cited.length })
  return inventedOf(rest, [...carried, ...derived])
}

/** "RM 129", "500 Mbps": how the memories write amounts elsewhere. */
const isUnit = (word: string, text: string, units: ReadonlySet<string>): boolean =>
  units.has(word) && unitsIn(text).includes(word)

const unitsIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/(\p{L}+) ?\p{N}|\p{N} ?(\p{L}+)/gu)].flatMap(([, before, behind]) => before ?? behind ?? [])

/** Words of the model's own. The claim of a question for yes or no is none of the asker's words. */
const wordFaults = (text: string, cited: ReadonlyArray<Source>, { asked, people }: Context): ReadonlyArray<string> => {
  if (wordsIn(text).length === 0) return hasNumber(text) ? [] : ["it says nothing"]
  if (isTranslated(asked.text, cited)) return []
  const told = new Set(cited.flatMap(({ texts }) => texts.flatMap((one) => [...tokenize(one)])))
  const beginnings = new Set(Array.from(told, beginningOf))
  const isOwn = (term: string): boolean => !people.has(term) && (asked.part === "yesNo" || !asked.terms.includes(term))
  // Predicates that are joined stand each by itself.
  const bare = clausesIn(text).find((part) => {
    const own = wordsIn(part).filter(isOwn)
    return (
      own.length > 0 && !hasNumber(part) && own.every((term) => !told.has(term) && !beginnings.has(beginningOf(term)))
    )
  })
  if (bare !== undefined) return [`of "${bare}" no word is in the memories that it cites`]
  return []
}

/** "Allergic" and "allergy" have no stem in common. */
const beginningOf = (term: string): string => term.slice(0, 5)

const wordsIn = (text: string): ReadonlyArray<string> =>
  queryTerms(datesInText(text, anyYear).rest).filter((term) => !stopWords.has(term) && !/^\d/.test(term))

/** Numbers and days are checked by themselves. */
const hasNumber = (text: string): boolean =>
  /\p{N}/u.test(text) || (text.toLowerCase().match(/\p{L}+/gu) ?? []).some((word) => numberWords.includes(word))

/** The answer is in the language of the question, and the memories are in another. */
const isTranslated = (question: string, cited: ReadonlyArray<Source>): boolean =>
  cited.every(({ texts }) => texts.some((one) => isForeign(one)) !== isForeign(question))

export interface Source {
  readonly memory: Evidence
  /** Undefined where it has no words of its own, or too many others stand before it. */
  readonly quote: Quote | undefined
  readonly texts: ReadonlyArray<string>
  /** On which it was said, `YYYY-MM-DD`. */
  readonly day: string
}

export const sourceOf = (memory: Evidence, quotes: ReadonlyArray<Quote>): Source => {
  const quote = quotes.find((one) => one.memory === memory)
  const saidOn = quote?.statement.speaker?.saidOn ?? memory.when
  const own = leafTexts(memory.data)
  const spoken = own.flatMap((text) => resolvedDates(text, saidOn).map(({ resolved }) => resolved))
  return {
    memory,
    quote,
    texts: [memory.kind, ...own, memory.when ?? "", ...spoken],
    day: speakersDay(saidOn) ?? new Date(memory.createdAt).toISOString().slice(0, "2026-01-31".length)
  }
}

interface Asked {
  readonly asked: Question
  readonly identities: Identities
}

export const whoseElse = (
  sentence: string,
  cited: ReadonlyArray<Source>,
  { asked, identities }: Asked
): string | undefined => {
  const named = withRelations(new Set([...tokenize(sentence), ...tokenize(asked.text)]), identities)
  const own = queryTerms(sentence).filter((term) => !stopWords.has(term) && !asked.names.flat().includes(term))
  const news = own.filter((term) => !asked.terms.includes(term))
  const value = news.length > 0 ? news : own
  const carrying = cited.flatMap(({ quote }) =>
    (quote?.clauses ?? []).filter(({ terms }) => value.some((term) => terms.has(term)))
  )
  const isOfOthers = (clause: Clause): boolean => {
    const { subject, subjectTerms, text } = clause
    if ((subject !== "owned" && subject !== "other") || subjectTerms.size === 0) return false
    if (!subjectTerms.isDisjointFrom(named) || /\b(?:I|me|my|we|us|our)\b(?!\s+\p{L}+\s+(?:is|has|was)\b)/u.test(text))
      return false
    return subject === "owned" && !subjectTerms.isDisjointFrom(relatives) && named.isDisjointFrom(relatives)
  }
  if (carrying.length > 0 && carrying.every(isOfOthers)) {
    return `"${carrying[0]!.text}" is said of somebody else, and the sentence does not say so`
  }
  const stranger = strangerIn(sentence, cited, asked, identities)
  return stranger === undefined ? undefined : `no memory that it cites is by ${stranger}, or names ${stranger}`
}

/** Of several who write by name: one of the sentence whom no citation names or is by. They may have been taken for another. */
const strangerIn = (
  sentence: string,
  cited: ReadonlyArray<Source>,
  asked: Question,
  { byRelation, speakers }: Identities
): string | undefined => {
  if (cited.some(({ quote }) => quote?.statement.speaker?.name === undefined)) return undefined
  const texts = cited.flatMap((source) => source.texts)
  const told = new Set(texts.flatMap((text) => [...tokenize(text)]))
  const people = new Set([...speakers, ...asked.names.flat()])
  if (texts.some((text) => /\b(?:he|she|they|him|her|them|his|their)\b/i.test(text))) {
    for (const name of asked.names.flat()) if (!speakers.has(name)) people.delete(name)
  }
  return sentence.match(/\b\p{Lu}[\p{L}-]+/gu)?.find((name) => {
    const stems = tokenize(name)
    const relation = [...byRelation].find(([, names]) => stems.some((stem) => names.has(stem)))?.[0]
    return stems.every((stem) => people.has(stem) && !told.has(stem)) && !(relation !== undefined && told.has(relation))
  })
}

/** "My sister" is Anna. */
const withRelations = (named: ReadonlySet<string>, { byRelation }: Identities): ReadonlySet<string> => {
  const all = new Set(named)
  for (const [relation, names] of byRelation) {
    if (all.has(relation)) for (const name of names) all.add(name)
    else if ([...names].some((name) => all.has(name))) all.add(relation)
  }
  return all
}

const relatives: ReadonlySet<string> = new Set(
  tokenize(
    "spouse sibling parent child kid grandchild sister brother mother father mum mom dad parents wife husband partner girlfriend boyfriend fiancee son daughter aunt uncle " +
      "cousin niece nephew grandmother grandfather grandma grandpa granny friend flatmate roommate boss colleague neighbour " +
      "neighbor landlord ex"
  )
)
