/**
 * Gate that decides whether a quote answers a question: a logistic model over how well it was found, whose words it is,
 * whether it has the part that is asked for, and how much of the question it holds. Figures: README.md, Answers.
 *
 * Invariant: never without the part that was asked, never with the words of another speaker than the one who was named, and
 * never for a question that no single statement answers.
 */
import { stopWords } from "@muniment/engine/text/StopWords"
import { tokenize } from "@muniment/engine/text/Tokenizer"
import { isInstruction } from "../prompts/InstructionText.ts"
import { writtenOut } from "../speech/WrittenOut.ts"
import type { Clause } from "./Clause.ts"
import { COMPARED_HITS, type HitList, isAssistant } from "./HitList.ts"
import type { Identities } from "./Identities.ts"
import type { MemoryStatement } from "./MemoryStatement.ts"
import type { PartName } from "./PartName.ts"
import { isHedged, isPlainPart, statesPlainly } from "./PlainPart.ts"
import { type Polarity, polarityOf } from "./Polarity.ts"
import type { Question } from "./Question.ts"
import type { Quote } from "./Quote.ts"
import {
  agreement,
  dateOf,
  givesReason,
  hasPartAsked,
  isHeldByName,
  isOfQuestion,
  isOfSlot,
  ownNames,
  wordsOf
} from "./QuoteConditions.ts"
import { asksOnly } from "./QuotedSentence.ts"
import { hasSlotForm, isOfPast } from "./SlotValue.ts"
import { hasWrittenDate, spokenDates } from "./SpokenDate.ts"
import { toldClauses } from "./ToldClauses.ts"

/** Order of the weights. */
export const gateFeatures = [
  "relevance",
  "aheadOfLast",
  "speaker",
  "coverage",
  "coverageOfWhen",
  "newWords",
  "when",
  "whenDated",
  "place",
  "person",
  "reason",
  "measure",
  "manner",
  "yesNo",
  "alone",
  "near",
  "plain",
  "plainNear",
  "hedged",
  "replies"
] as const

export type GateFeatures = Readonly<Record<(typeof gateFeatures)[number], number>>

const NEW_WORDS_MAX = 15

/** Say that something changed, and not to what. */
const changes: ReadonlySet<string> = new Set(
  tokenize("change update reset renew replace switch now today yesterday new again")
)

const measures: ReadonlySet<PartName> = new Set(["age", "amount", "contact", "colour", "duration", "frequency", "name"])

/** Undefined: a hard condition fails. */
export const readGate = (question: Question, quote: Quote, list: HitList): GateFeatures | undefined => {
  const { relevance, statement, text, terms } = quote
  const { speakers } = list.identities
  const asked = wordsOf(question)
  if (asksOnly(text) || !isOfQuestion(question, quote, list)) return undefined
  const subjects = new Set([...speakers, ...tokenize(statement.subject ?? "")])
  const matter = question.topic.filter((term) => !subjects.has(term))
  // A person who is asked about has to be named in any case, and says nothing of the matter.
  const others =
    question.subject.kind === "person" ? matter.filter((term) => !question.subject.terms.includes(term)) : []
  const telling = others.length > 0 ? others : matter
  const shareIn = (held: ReadonlySet<string>): number =>
    shareOf(telling, (term) => held.has(term) || isHeldByName(term, quote, list.identities), list.weightOf)
  const coverage = shareIn(terms)
  const told = statement.speaker === undefined ? undefined : toldIn(question, quote, list)
  const { plainNear, ...nearest } =
    told === undefined
      ? nearness(question, quote, shareIn)
      : nearnessOf(question, quote, told, list.identities, shareIn)
  const { isPlain, near } = nearest
  if (!nearest.hasPart) return undefined
  // "What does Ann do?" is asked of her job alone, "Where is Ann from?" of no other word behind "from".
  const texts = told?.map((clause) => clause.text) ?? [text]
  const slot = question.slot ?? ""
  if (/^(?:occupation|origin)$/.test(slot) && !texts.some((one) => hasSlotForm(slot, writtenOut(one)))) return undefined
  if (!isStated(question, quote, list, nearest)) return undefined
  const words = new Set(tokenize(text).filter((term) => !asked.has(term) && !stopWords.has(term)))
  const news = words.size
  // "I changed my password" says that there is another one, and not which.
  if (statement.speaker !== undefined && question.part === "thing" && news > 0 && words.isSubsetOf(changes)) {
    return undefined
  }
  const isWhen = question.part === "date"
  const isYesNo = Number(question.part === "yesNo")
  const alone = Number(list.isAlone)
  const ahead = logit(relevance) - logit(list.lastRelevance)
  return {
    relevance: logit(relevance),
    aheadOfLast: ahead,
    speaker: agreement(question, quote, list),
    coverage,
    coverageOfWhen: isWhen ? coverage : 0,
    newWords: Math.min(news, NEW_WORDS_MAX) / NEW_WORDS_MAX,
    when: Number(isWhen),
    whenDated: Number(isWhen && isDated(text, statement)),
    place: Number(question.part === "place"),
    person: Number(question.part === "person"),
    reason: Number(question.part === "reason"),
    measure: Number(measures.has(question.part)),
    manner: Number(question.isOfManner),
    yesNo: isYesNo,
    alone,
    near,
    plain: Number(isPlain),
    plainNear,
    hedged: Number(isHedged(text)),
    replies: quote.replyTo?.part === question.part ? shareIn(repliedTerms(question, quote)) : 0
  }
}

/**
 * Names have to be stated in words; in a message reasons, too, and a yes or no about nearly all that is asked. What was
 * extracted beside messages is read as closely as they are.
 */
const isStated = (question: Question, quote: Quote, list: HitList, { isPlain, near }: Nearness): boolean => {
  const { part } = question
  const { identities, isOfChat } = list
  if (quote.statement.speaker === undefined) {
    return (
      !isOfChat || isOfSlot(question, quote, identities) || (near >= EXTRACTED_NEAR_MIN && (isPlain || part !== "name"))
    )
  }
  if (part === "yesNo") return near >= YES_NO_NEAR_MIN && polarityIn(question, quote, list) !== undefined
  return isPlain || (part !== "name" && part !== "reason")
}

const EXTRACTED_NEAR_MIN = 0.5

const YES_NO_NEAR_MIN = 0.75

interface Nearness {
  /** The part that is asked for stands there. */
  readonly hasPart: boolean
  readonly isPlain: boolean
  readonly near: number
}

/** Of a sentence that has the part: less is another matter. */
const SHARE_MIN = 1 / 3
/** Where it is asked who does something. */
const OPEN_SHARE_MIN = 1 / 2

/**
 * Shares of the question's words in what a message says about the one asked about: a clause with what else its sentence and
 * the one before it tell. The part stands in a sentence that has such words, or answers the question that has them.
 */
const nearnessOf = (
  question: Question,
  quote: Quote,
  told: ReadonlyArray<Clause>,
  identities: Identities,
  shareIn: (held: ReadonlySet<string>) => number
): Nearness & { readonly plainNear: number } => {
  const replied = repliedTerms(question, quote)
  const least = question.subject.kind === "open" && question.part === "person" ? OPEN_SHARE_MIN : SHARE_MIN
  let [hasPart, isPlain, near, plainNear] = [false, false, 0, 0]
  for (const [sentence, clauses] of Map.groupBy(told, (clause) => clause.sentence)) {
    // A reason may be somebody else's: "because my wife is from Gdansk".
    const whole = question.part === "reason" ? quote.clauses.filter((clause) => clause.sentence === sentence) : clauses
    const text = whole.map((clause) => clause.text).join(", ")
    const own = clauses.reduce((all, { terms }) => all.union(terms), sentence === 0 ? replied : new Set<string>())
    const before = told.filter((clause) => clause.sentence === sentence - 1)
    const share = shareIn(before.reduce((all, { terms }) => all.union(terms), own))
    near = Math.max(near, share)
    if ((share < least && !isOfSlot(question, quote, identities)) || !hasPartAsked(question, quote, text)) continue
    hasPart = true
    if (!(givesReason(question, quote) || statesPlainly(question.part, text, question))) continue
    isPlain = true
    plainNear = Math.max(plainNear, share)
  }
  return { hasPart, isPlain, near, plainNear }
}

/** The same of a stored statement, sentence by sentence. */
const nearness = (
  question: Question,
  quote: Quote,
  shareIn: (held: ReadonlySet<string>) => number
): Nearness & { readonly plainNear: number } => {
  let [isPlain, near, plainNear] = [false, 0, 0]
  for (const [at, { terms, text }] of quote.sentences.entries()) {
    const share = shareIn(at === 0 ? terms : terms.union(quote.sentences[at - 1]!.terms))
    near = Math.max(near, share)
    if (!statesPlainly(question.part, text, question)) continue
    isPlain = true
    plainNear = Math.max(plainNear, share)
  }
  return { hasPart: hasPartAsked(question, quote, quote.text), isPlain, near, plainNear }
}

/** Clauses of a message about the one asked about. */
const toldIn = (question: Question, quote: Quote, list: HitList): ReadonlyArray<Clause> =>
  toldClauses(question, quote.clauses, {
    isOwn: isOwn(question, quote, list),
    isOwner: question.names.flat().some((stem) => ownNames(quote.statement, list.identities.user).has(stem)),
    identities: list.identities,
    replied: repliedTerms(question, quote),
    isReply: quote.replyTo?.part === question.part && repliedTerms(question, quote).size > 0,
    statesSlot: isOfSlot(question, quote, list.identities)
  })

/** Of the question that the message replies to, where that one is about the matter. */
const repliedTerms = ({ topic }: Question, { replyTo }: Quote): ReadonlySet<string> => {
  const held = topic.filter((term) => replyTo?.terms.has(term) === true).length
  return replyTo !== undefined && 2 * held >= topic.length ? replyTo.terms : new Set()
}

/** The message is by the one asked about. */
const isOwn = ({ subject }: Question, { statement }: Quote, { identities }: HitList): boolean => {
  const own = ownNames(statement, identities.user)
  if (subject.kind !== "asker") return subject.terms.some((term) => own.has(term))
  return own.has("user") || (subject.isGroup && statement.speaker !== undefined && !isAssistant(statement.speaker))
}

export const polarityIn = (question: Question, quote: Quote, list: HitList): Polarity | undefined =>
  polarityOf(question, quote, toldIn(question, quote, list), isOwn(question, quote, list))

const shareOf = (
  words: ReadonlyArray<string>,
  isHeld: (word: string) => boolean,
  weightOf: HitList["weightOf"]
): number => {
  const sumOf = (some: ReadonlyArray<string>): number => some.reduce((sum, word) => sum + weightOf(word), 0)
  return words.length === 0 ? 1 : sumOf(words.filter(isHeld)) / sumOf(words)
}

const isDated = (text: string, statement: MemoryStatement): boolean =>
  hasWrittenDate(text) || spokenDates(text, dateOf(statement)).length > 0

const RELEVANCE_LEAST = 0.001

const logit = (relevance: number): number => {
  const bounded = Math.min(1 - RELEVANCE_LEAST, Math.max(RELEVANCE_LEAST, relevance))
  return Math.log(bounded / (1 - bounded))
}

export interface Weighed {
  /** How sure it is that the quote answers, 0..1. */
  readonly chance: number
  /** Share of the question's words beside the part that is asked for, 0..1; 0 where a hard condition fails. */
  readonly near: number
}

const unfit: Weighed = { chance: 0, near: 0 }

/** The chance is 0 where a hard condition fails, and behind the first `ELIGIBLE_MAX` that meet all. */
export const weighQuotes = (
  question: Question,
  quotes: ReadonlyArray<Quote>,
  list: HitList
): ReadonlyArray<Weighed> => {
  let eligible = 0
  return quotes.map((quote, at) => {
    if (
      at >= COMPARED_HITS ||
      question.terms.length === 0 ||
      (question.open !== undefined && !isListed(question, quote))
    )
      return unfit
    const read = readGate(question, quote, list)
    // What gives orders is no statement: quoting it would pass it on.
    if (read === undefined || isInstruction(quote.text)) return unfit
    const near = read.plain > 0 ? read.plainNear : isPlainPart(question.part) ? 0 : read.near
    if (isSlotFilled(question, quote, read, list.identities)) return { chance: SLOT_CHANCE, near }
    if (eligible === ELIGIBLE_MAX) return { chance: 0, near }
    eligible += 1
    const { weights } = gateOf(quote.statement)
    const evidence = gateFeatures.reduce((sum, name) => sum + (weights[name] ?? 0) * read[name], weights.bias)
    return { chance: 1 / (1 + Math.exp(-evidence)), near }
  })
}

/** A plain statement of the value that is asked for needs no similar words: "Where does Ann live?", "I moved to Porto." */
const isSlotFilled = (
  question: Question,
  quote: Quote,
  { plain, speaker }: GateFeatures,
  identities: Identities
): boolean =>
  (question.part !== "name" || plain > 0) &&
  // Of a message: without a name, and where the asker means others, it is open whose home it is.
  (speaker === 1 || quote.statement.speaker === undefined) &&
  (question.isOfPast || !isOfPast(quote.text)) &&
  isOfSlot(question, quote, identities)

/** Stored statements may be listed, each true by itself; of messages a list would be parts of talk. */
const isListed = ({ open }: Question, { statement }: Quote): boolean =>
  open === "list" && statement.speaker === undefined

/** Quotes that are weighed, of those that meet all conditions. */
const ELIGIBLE_MAX = 3

const SLOT_CHANCE = 0.95

/** A feature without a weight does not count. */
type GateWeights = Partial<GateFeatures> & { readonly bias: number }

/** `least`: grounded from this chance. `speaker` is not fitted: the sets name a speaker in nearly every question. */
interface Gate {
  readonly least: number
  readonly weights: GateWeights
}

const messages: Gate = {
  least: 0.2,
  weights: {
    bias: -4.02,
    speaker: 1.8,
    relevance: 0.53,
    aheadOfLast: 0.52,
    coverage: -0.46,
    coverageOfWhen: 1,
    newWords: 0.54,
    when: -1.75,
    whenDated: 2.04,
    place: -0.5,
    person: -0.51,
    reason: -0.73,
    measure: -0.35,
    manner: -0.75,
    yesNo: 1.38,
    alone: 0.66,
    near: 1.54,
    plain: 1.28,
    plainNear: 0.98,
    hedged: -0.59,
    replies: 2.41
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
