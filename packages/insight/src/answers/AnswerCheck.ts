/**
 * Checks an answer that a model wrote against the memories, sentence by sentence, each against its own citations: a
 * sentence that stands must not carry another one along, nor a memory that is cited elsewhere.
 *
 * A name, a number or a day that is in no citation and follows from none is a fault, and so are the denial of what a
 * citation states in the same words, and what is said of somebody else. Figures: README.md, Answers.
 */
import { isForeign } from "@muniment/engine/text/ForeignText"
import { stopWords } from "@muniment/engine/text/StopWords"
import { queryTerms, tokenize } from "@muniment/engine/text/Tokenizer"
import { sentencesOf } from "../text/Sentences.ts"
import type { DateSupport } from "../prompts/DateSupport.ts"
import { clausesIn, isDenied } from "../prompts/Denial.ts"
import { derivedNumbers } from "../prompts/DerivedNumbers.ts"
import { datesInText } from "../prompts/DatesInText.ts"
import { numberWords } from "../prompts/NumberWords.ts"
import { inventedWord, makeShownText } from "../prompts/Support.ts"
import { tellsDay } from "../prompts/ToldDays.ts"
import type { WireAnswer } from "./AnswerPrompt.ts"
import { type Identities, readIdentities } from "./Identities.ts"
import type { Question } from "./Question.ts"
import { asksOnly, type Quote } from "./Quote.ts"
import { type Source, sourceOf } from "./CitedSource.ts"
import { whoseElse } from "./WhoseWords.ts"
import type { Evidence } from "./WrittenAnswer.ts"

export interface Checked {
  readonly asked: Question
  /** Of all the evidence. */
  readonly quotes: ReadonlyArray<Quote>
  /** What the model was shown, by its numbers. */
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

/** What of its words is the model's own. The claim of a question for yes or no is none of the asker's words. */
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
