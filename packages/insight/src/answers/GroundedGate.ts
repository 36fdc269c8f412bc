/**
 * Whether a quote answers a question: a logistic model over how well it was found, whose words it is, whether it has the part
 * that is asked for, and how much of the question it holds. Figures: README.md, Answers.
 *
 * Invariant: never without the part that was asked, never with the words of another speaker than the one who was named, and
 * never for a question that no single statement answers.
 */
import { stopWords } from "@muniment/engine/text/StopWords"
import { tokenize } from "@muniment/engine/text/Tokenizer"
import { isInstruction } from "../prompts/InstructionText.ts"
import { hasPart, type PartName } from "./AnswerPart.ts"
import { type Identities, readIdentities } from "./Identities.ts"
import { isUser, type MemoryStatement, readStatement } from "./MemoryStatement.ts"
import { type Question, readQuestion } from "./Question.ts"
import { asksOnly, quotedSentence } from "./QuotedSentence.ts"
import { isOfPast, slotStated } from "./SlotValue.ts"
import { hasWrittenDate, isAhead, spokenDates } from "./SpokenDate.ts"
import type { Evidence } from "./WrittenAnswer.ts"

/** What is known of one quote. */
export interface Quote {
  readonly memory: Evidence
  readonly statement: MemoryStatement
  readonly text: string
  /** Stems of the quote, of the subject, and of words that match a question without being said. */
  readonly terms: ReadonlySet<string>
}

/** Hits that are read, and characters of them together: bound the cost of a question. */
const EVIDENCE_MAX = 100
const EVIDENCE_LENGTH_MAX = 24_000

/** In the order of the evidence, best first. */
export const readQuotes = (asked: Question, evidence: ReadonlyArray<Evidence>): ReadonlyArray<Quote> => {
  const words = new Set([...asked.terms, ...asked.names.flat()])
  let length = 0
  return evidence.slice(0, EVIDENCE_MAX).flatMap((memory): ReadonlyArray<Quote> => {
    const statement = readStatement(memory)
    if (statement.text === "" || length + statement.text.length > EVIDENCE_LENGTH_MAX) return []
    length += statement.text.length
    const text = quotedSentence(statement.text, words)
    const terms = new Set(tokenize(`${text} ${statement.subject ?? ""} ${statement.unsaid}`))
    return [{ memory, statement, text, terms }]
  })
}

/** What the hits have in common. */
export interface HitList {
  readonly identities: Identities
  /** Of the last one of the first `COMPARED_HITS`. */
  readonly lastRelevance: number
  /** Weight of a word by its rarity among the hits. */
  readonly weightOf: (term: string) => number
}

/** Hits that are compared: a list of any length is judged by its first. */
const COMPARED_HITS = 20
/** Of a hit that a short list does not have. */
const BACKGROUND_RELEVANCE = 0.02

export const hitListOf = (quotes: ReadonlyArray<Quote>): HitList => {
  const relevances = quotes.slice(0, COMPARED_HITS).map(({ memory }) => memory.relevance)
  const background = quotes.length < COMPARED_HITS ? BACKGROUND_RELEVANCE : 1
  return {
    identities: readIdentities(quotes.map(({ statement }) => statement)),
    lastRelevance: Math.min(background, ...relevances),
    weightOf: (term) => {
      const holders = quotes.filter(({ terms }) => terms.has(term)).length
      return Math.log(1 + (quotes.length + 1) / (holders + 1))
    }
  }
}

/** Order of the weights. */
export const gateFeatures = [
  "relevance",
  "aheadOfLast",
  "speaker",
  "coverage",
  "coverageOfWhen",
  "newWords",
  "asks",
  "when",
  "whenDated",
  "place",
  "person",
  "reason",
  "measure",
  "manner",
  "yesNo"
] as const
export type GateFeatures = Readonly<Record<(typeof gateFeatures)[number], number>>

const NEW_WORDS_MAX = 15
const measures: ReadonlySet<PartName> = new Set(["age", "amount", "contact", "colour", "duration", "frequency", "name"])

/** Undefined: a hard condition fails. */
export const readGate = (question: Question, quote: Quote, list: HitList): GateFeatures | undefined => {
  const { memory, statement, text, terms } = quote
  const { speakers } = list.identities
  const asked = wordsOf(question)
  if (!isOfQuestion(question, quote, list.identities)) return undefined
  if (!hasPart(question.part, { ...statement, text, date: dateOf(statement) }, asked)) return undefined
  const subjects = new Set([...speakers, ...tokenize(statement.subject ?? "")])
  const telling = question.terms.filter((term) => !subjects.has(term))
  const coverage = shareOf(
    telling,
    (term) => terms.has(term) || isHeldByName(term, quote, list.identities),
    list.weightOf
  )
  const news = new Set(tokenize(text).filter((term) => !asked.has(term) && !stopWords.has(term))).size
  const isWhen = question.part === "date"
  return {
    relevance: logit(memory.relevance),
    aheadOfLast: logit(memory.relevance) - logit(list.lastRelevance),
    speaker: agreement(question, quote, list.identities),
    coverage,
    coverageOfWhen: isWhen ? coverage : 0,
    newWords: Math.min(news, NEW_WORDS_MAX) / NEW_WORDS_MAX,
    asks: Number(asksOnly(text)),
    when: Number(isWhen),
    whenDated: Number(isWhen && isDated(text, statement)),
    place: Number(question.part === "place"),
    person: Number(question.part === "person"),
    reason: Number(question.part === "reason"),
    measure: Number(measures.has(question.part)),
    manner: Number(question.isOfManner),
    yesNo: Number(question.part === "yesNo")
  }
}

const wordsOf = ({ names, terms }: Question): ReadonlySet<string> => new Set([...terms, ...names.flat()])

/** The right speaker or subject, year and liking. */
const isOfQuestion = (question: Question, quote: Quote, identities: Identities): boolean => {
  const isMeant = isOfSlot(question, quote, identities) && (question.names.length > 0 || question.isOfAsker)
  return (
    agreement(question, quote, identities) > 0 &&
    (isMeant || isAbout(question, quote, identities)) &&
    isOfLiking(question, quote) &&
    !(question.isWhenDone && isToCome(quote)) &&
    isOfYears(question, quote)
  )
}

/**
 * The same conditions for an answer that a model wrote: one of the memories that it cites meets them, and the answer or that
 * memory has the part that was asked.
 */
export const isAskedFor = (
  question: string,
  answer: string,
  cited: ReadonlyArray<Evidence>,
  evidence: ReadonlyArray<Evidence>
): boolean => {
  const asked = readQuestion(question)
  const quotes = readQuotes(asked, evidence)
  const { identities } = hitListOf(quotes)
  return quotes.some((quote) => {
    const { memory, statement, text } = quote
    if (!cited.includes(memory) || !isOfQuestion(asked, quote, identities)) return false
    return hasPart(asked.part, { ...statement, text: `${answer} ${text}`, date: dateOf(statement) }, wordsOf(asked))
  })
}

const shareOf = (
  words: ReadonlyArray<string>,
  isHeld: (word: string) => boolean,
  weightOf: HitList["weightOf"]
): number => {
  const sumOf = (some: ReadonlyArray<string>): number => some.reduce((sum, word) => sum + weightOf(word), 0)
  return words.length === 0 ? 1 : sumOf(words.filter(isHeld)) / sumOf(words)
}

/** A stored statement holds the subject of the question, and any quote the thing whose name is asked for. */
const isAbout = ({ focus, part }: Question, quote: Quote, identities: Identities): boolean =>
  focus.length === 0 ||
  (quote.statement.speaker !== undefined && part !== "name") ||
  focus.some((term) => quote.terms.has(term) || isHeldByName(term, quote, identities))

/** The user by name, a speaker, or a relative by relation. */
const isHeldByName = (
  term: string,
  { statement, terms }: Quote,
  { byRelation, speakers, user }: Identities
): boolean => {
  const own = ownNames(statement, user)
  const names = byRelation.get(term) ?? new Set<string>()
  return speakers.has(term) || own.has(term) || [...names].some((name) => own.has(name) || terms.has(name))
}

/** All dates in its words were still to come. */
const isToCome = ({ statement, text }: Quote): boolean => {
  const dates = spokenDates(text, statement.speaker?.saidOn)
  return dates.length > 0 && dates.every(isAhead) && !hasWrittenDate(text)
}

/** A year that is named is said, or the date of the memory. */
const isOfYears = ({ years }: Question, { statement, text }: Quote): boolean => {
  if (years.length === 0) return true
  const date = dateOf(statement) ?? ""
  const told = [text, date, ...spokenDates(text, date).map(({ resolved }) => resolved)].join(" ")
  return years.some((year) => told.includes(year))
}

/** Compares the sign of a preference; other memories pass. */
const isOfLiking = ({ liking }: Question, { memory }: Quote): boolean => {
  const type = memory.kind === "preference_memory" ? memory.data["preferenceType"] : undefined
  return (
    liking === undefined ||
    typeof type !== "string" ||
    (type === "dislikes" || type === "avoids") === (liking === "dislikes")
  )
}

const isDated = (text: string, statement: MemoryStatement): boolean =>
  hasWrittenDate(text) || spokenDates(text, dateOf(statement)).length > 0

const RELEVANCE_LEAST = 0.001
const logit = (relevance: number): number => {
  const bounded = Math.min(1 - RELEVANCE_LEAST, Math.max(RELEVANCE_LEAST, relevance))
  return Math.log(bounded / (1 - bounded))
}

/** A message always has a date: its own. */
const dateOf = ({ date, speaker }: MemoryStatement): string | undefined => speaker?.saidOn ?? date

/** 1: about the one who is named or asks; .5: the question names nobody, or the quote names them; 0: another one. */
const agreement = (question: Question, { statement, terms }: Quote, identities: Identities): number => {
  const { byRelation, speakers, user } = identities
  const own = ownNames(statement, user)
  // "My sister": Anna, once a memory says so; then the words must be hers or name her.
  const relatives = question.terms.flatMap((term) => [...(byRelation.get(term) ?? [])])
  if (relatives.length > 0 && statement.speaker === undefined) {
    return relatives.some((stem) => own.has(stem)) ? 1 : relatives.some((stem) => terms.has(stem)) ? 0.5 : 0
  }
  // A speaker's name needs no capital.
  const names = [...question.names, ...question.terms.filter((term) => speakers.has(term)).map((term) => [term])]
  if (names.length > 0) {
    if (names.some((name) => name.some((stem) => own.has(stem)))) return 1
    const isOfSpeaker = names.some((name) => name.some((stem) => speakers.has(stem)))
    return !isOfSpeaker && names.some((name) => name.some((stem) => terms.has(stem))) ? 0.5 : 0
  }
  if (!question.isOfAsker) return 0.5
  const isNamed = question.terms.some((term) => own.has(term))
  return own.has("user") || statement.speaker?.role === "user" || isNamed ? 1 : 0
}

/** Stems of all names of the one whose words or whose memory it is; `user` for the user. */
const ownNames = ({ isRecord, speaker, subject }: MemoryStatement, user: ReadonlySet<string>): ReadonlySet<string> => {
  const named = tokenize(subject ?? "")
  const isOfUser =
    speaker === undefined
      ? isRecord || subject === undefined || isUser(subject) || named.some((stem) => user.has(stem))
      : speaker.role === "user" && (speaker.name === undefined || named.some((stem) => user.has(stem)))
  return new Set(isOfUser ? [...named, ...user, "user"] : named)
}

/**
 * How sure each quote is to answer, 0..1; 0 where a hard condition fails, and behind the first `ELIGIBLE_MAX` that meet all.
 */
export const groundedChances = (question: Question, quotes: ReadonlyArray<Quote>): ReadonlyArray<number> => {
  const list = hitListOf(quotes)
  let eligible = 0
  return quotes.map((quote) => {
    if (question.terms.length === 0 || (question.open !== undefined && !isListed(question, quote))) return 0
    const read = readGate(question, quote, list)
    // What gives orders is no statement: quoting it would pass it on.
    if (read === undefined || isInstruction(quote.text)) return 0
    if (isSlotFilled(question, quote, read, list.identities)) return SLOT_CHANCE
    if (eligible === ELIGIBLE_MAX) return 0
    eligible += 1
    const { weights } = gateOf(quote.statement)
    const evidence = gateFeatures.reduce((sum, name) => sum + weights[name] * read[name], weights.bias)
    return 1 / (1 + Math.exp(-evidence))
  })
}

/** A plain statement of the value that is asked for needs no similar words: "Where does Ann live?", "I moved to Porto." */
const isSlotFilled = (question: Question, quote: Quote, { speaker }: GateFeatures, identities: Identities): boolean =>
  // Of a message: where nobody is named and the asker means others, whose home it is stays open.
  (speaker === 1 || quote.statement.speaker === undefined) &&
  (question.isOfPast || !isOfPast(quote.text)) &&
  isOfSlot(question, quote, identities)

/** Of the one who is asked about: "Ann's job" is Ann's, but "Where does Ann's boss live?" is about the boss. */
const isOfSlot = ({ focus, slot }: Question, quote: Quote, identities: Identities): boolean => {
  if (slot === undefined || slotStated(quote.memory, quote.statement, quote.text) !== slot) return false
  return (
    focus.length === 0 ||
    focus.some((term) => slotWords.has(term) || slot.includes(term) || isHeldByName(term, quote, identities))
  )
}

const slotWords: ReadonlySet<string> = new Set(tokenize("job profession occupation employer workplace car"))

/** Stored statements may be listed, each true by itself; of messages a list would be parts of talk. */
const isListed = ({ open }: Question, { statement }: Quote): boolean =>
  open === "list" && statement.speaker === undefined

/** Quotes that are weighed, of those that meet all conditions. */
const ELIGIBLE_MAX = 3
const SLOT_CHANCE = 0.95

type GateWeights = GateFeatures & { readonly bias: number }

/** `least`: grounded from this chance. `speaker` is not fitted: the sets name a speaker in nearly every question. */
interface Gate {
  readonly least: number
  readonly weights: GateWeights
}

const messages: Gate = {
  least: 0.6,
  weights: {
    bias: -3.52,
    relevance: 0.82,
    aheadOfLast: 0.46,
    speaker: 1.8,
    coverage: 0.26,
    coverageOfWhen: -0.08,
    newWords: 1.14,
    asks: -0.49,
    when: 0.08,
    whenDated: 1.67,
    place: -0.06,
    person: 0.26,
    reason: -0.38,
    measure: 1.03,
    manner: -0.64,
    yesNo: -1.27
  }
}

const statements: Gate = {
  least: 0.4,
  weights: {
    bias: -6.8,
    relevance: 0.01,
    aheadOfLast: 0.91,
    speaker: 1.8,
    coverage: 1.17,
    coverageOfWhen: 0.77,
    newWords: 1.34,
    asks: 0,
    when: -0.41,
    whenDated: 0.96,
    place: 0.4,
    person: 1.57,
    reason: -0.54,
    measure: 1.71,
    manner: -0.87,
    yesNo: -1.08
  }
}

const gateOf = ({ speaker }: MemoryStatement): Gate => (speaker === undefined ? statements : messages)

export const isGrounded = (statement: MemoryStatement, chance: number): boolean => chance >= gateOf(statement).least
