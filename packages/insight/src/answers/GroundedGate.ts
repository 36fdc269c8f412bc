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
import { hasPart } from "./AnswerPart.ts"
import { type Identities, readIdentities } from "./Identities.ts"
import { isUser, type MemoryStatement, type Speaker } from "./MemoryStatement.ts"
import type { PartName } from "./PartName.ts"
import { isHedged, isPlainPart, statesPlainly } from "./PlainPart.ts"
import type { Question } from "./Question.ts"
import type { Quote } from "./Quote.ts"
import { asksOnly } from "./QuotedSentence.ts"
import { isOfPast, slotStated } from "./SlotValue.ts"
import { hasWrittenDate, isAhead, spokenDates } from "./SpokenDate.ts"

/** What the hits have in common. */
export interface HitList {
  readonly identities: Identities
  /** Some of them are messages. */
  readonly isOfChat: boolean
  /** One person talks to an assistant: what the person says is about the asker. */
  readonly isAlone: boolean
  /** Of the last one of the first `COMPARED_HITS`. */
  readonly lastRelevance: number
  /** Weight of a word by its rarity among the hits. */
  readonly weightOf: (term: string) => number
}

/** Hits that may be quoted, and that a hit is compared with; what follows only tells what has changed since. */
const COMPARED_HITS = 20
/** Of a hit that a short list does not have. */
const BACKGROUND_RELEVANCE = 0.02

export const hitListOf = (all: ReadonlyArray<Quote>): HitList => {
  const quotes = all.slice(0, COMPARED_HITS)
  const relevances = quotes.map(({ memory }) => memory.relevance)
  const background = quotes.length < COMPARED_HITS ? BACKGROUND_RELEVANCE : 1
  return {
    identities: readIdentities(quotes.map(({ statement }) => statement)),
    isOfChat: quotes.some(({ statement }) => statement.speaker !== undefined),
    isAlone: isAlone(quotes),
    lastRelevance: Math.min(background, ...relevances),
    weightOf: (term) => {
      const holders = quotes.filter(({ terms }) => terms.has(term)).length
      return Math.log(1 + (quotes.length + 1) / (holders + 1))
    }
  }
}

const isAlone = (quotes: ReadonlyArray<Quote>): boolean => {
  const speakers = quotes.flatMap(({ statement }) => statement.speaker ?? [])
  const people = new Set(speakers.filter((speaker) => !isAssistant(speaker)).map(({ name }) => name))
  return speakers.length > 0 && people.size <= 1 && (people.has(undefined) || speakers.some(isAssistant))
}

const isAssistant = ({ role }: Speaker): boolean => role !== "user" && role !== "human"

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
const measures: ReadonlySet<PartName> = new Set(["age", "amount", "contact", "colour", "duration", "frequency", "name"])

/** Undefined: a hard condition fails. */
export const readGate = (question: Question, quote: Quote, list: HitList): GateFeatures | undefined => {
  const { relevance, statement, text, terms } = quote
  const { speakers } = list.identities
  const asked = wordsOf(question)
  if (asksOnly(text) || !isOfQuestion(question, quote, list)) return undefined
  if (!hasPartAsked(question, quote, text)) return undefined
  const subjects = new Set([...speakers, ...tokenize(statement.subject ?? "")])
  const telling = question.topic.filter((term) => !subjects.has(term))
  const shareIn = (held: ReadonlySet<string>): number =>
    shareOf(telling, (term) => held.has(term) || isHeldByName(term, quote, list.identities), list.weightOf)
  const coverage = shareIn(terms)
  const { plainNear, ...nearest } = nearness(question, quote, shareIn)
  const { isPlain, near } = nearest
  if (!isStated(question, quote, list, nearest)) return undefined
  const news = new Set(tokenize(text).filter((term) => !asked.has(term) && !stopWords.has(term))).size
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
    replies: quote.replyTo?.part === question.part ? shareIn(quote.replyTo.terms) : 0
  }
}

/**
 * Names have to be stated in words; in a message reasons, too, and a yes or no about nearly all that is asked. What was
 * extracted beside messages is read as closely as they are.
 */
const isStated = (
  question: Question,
  quote: Quote,
  { identities, isOfChat }: HitList,
  { isPlain, isDoubtful, near }: Nearness
): boolean => {
  const { part } = question
  if (quote.statement.speaker === undefined) {
    return (
      !isOfChat || isOfSlot(question, quote, identities) || (near >= EXTRACTED_NEAR_MIN && (isPlain || part !== "name"))
    )
  }
  if (part === "yesNo") return near >= YES_NO_NEAR_MIN && !isDoubtful
  return isPlain || (part !== "name" && part !== "reason")
}

const EXTRACTED_NEAR_MIN = 0.5
const YES_NO_NEAR_MIN = 0.75

interface Nearness {
  readonly isPlain: boolean
  /** The nearest sentence weighs or fears something, or follows a question of the same speaker. */
  readonly isDoubtful: boolean
  readonly near: number
}

/** Shares of the question's words in one sentence and the one before it: in any, and where it states the part plainly. */
const nearness = (
  question: Question,
  quote: Quote,
  shareIn: (held: ReadonlySet<string>) => number
): Nearness & { readonly plainNear: number } => {
  let isPlain = false
  let isDoubtful = false
  let near = 0
  let plainNear = 0
  const { sentences } = quote
  for (const [at, { terms, text }] of sentences.entries()) {
    if (/\?["'”’)]?$/u.test(text)) continue
    const share = shareIn(at === 0 ? terms : terms.union(sentences[at - 1]!.terms))
    const ownBefore = at > (quote.replyTo === undefined ? 0 : 1) ? sentences[at - 1]!.text : ""
    if (share > near) [near, isDoubtful] = [share, isHedged(text) || ownBefore.endsWith("?")]
    if (!(givesReason(question, quote) || statesPlainly(question.part, text, question))) continue
    isPlain = true
    plainNear = Math.max(plainNear, share)
  }
  return { isDoubtful, isPlain, near, plainNear }
}

const wordsOf = ({ names, terms }: Question): ReadonlySet<string> => new Set([...terms, ...names.flat()])

/** `text`: what is looked at instead of the quote's own. */
export const hasPartAsked = (question: Question, quote: Quote, text: string): boolean =>
  givesReason(question, quote) || hasPartOf(question, quote, text)

const hasPartOf = (question: Question, { statement }: Quote, text: string): boolean =>
  hasPart(question.part, { ...statement, text, date: dateAsked(question, statement) }, wordsOf(question))

/** "How come?" "The boiler broke": a reason in any form. */
const givesReason = ({ part }: Question, { replyTo }: Quote): boolean => part === "reason" && replyTo?.part === "reason"

/** The right speaker or subject, year and liking. */
export const isOfQuestion = (question: Question, quote: Quote, list: HitList): boolean => {
  const { identities } = list
  const isMeant = isOfSlot(question, quote, identities) && (question.names.length > 0 || question.isOfAsker)
  return (
    agreement(question, quote, list) > 0 &&
    (isMeant || isAbout(question, quote, identities)) &&
    isOfLiking(question, quote) &&
    !isOfOther(question, quote) &&
    !isContrary(question, quote) &&
    isOfRelative(question, quote, identities) &&
    !(question.isWhenDone && isToCome(quote)) &&
    isOfYears(question, quote)
  )
}

const shareOf = (
  words: ReadonlyArray<string>,
  isHeld: (word: string) => boolean,
  weightOf: HitList["weightOf"]
): number => {
  const sumOf = (some: ReadonlyArray<string>): number => some.reduce((sum, word) => sum + weightOf(word), 0)
  return words.length === 0 ? 1 : sumOf(words.filter(isHeld)) / sumOf(words)
}

/** A stored statement holds the subject of the question, and any quote the thing whose name or day is asked for. */
const isAbout = ({ focus, isWhenDue, part }: Question, quote: Quote, identities: Identities): boolean =>
  focus.length === 0 ||
  (quote.statement.speaker !== undefined && part !== "name" && !isWhenDue) ||
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

/** Of what the asker calls "my", it tells another one's: "Anna's dentist", "her dentist". */
const isOfOther = ({ names, owned }: Question, { text }: Quote): boolean => {
  if (owned.length === 0 || names.length > 0) return false
  const ownersOf = (stem: string): ReadonlyArray<string> =>
    [...text.matchAll(OWNED)].flatMap(([, owner = "", words = ""]) => (tokenize(words).includes(stem) ? [owner] : []))
  return owned.some((stem) => {
    const owners = ownersOf(stem)
    return owners.length > 0 && owners.every((owner) => OTHER.test(owner))
  })
}

/** "My sister's job" is not the speaker's own: she is meant by relation or name. */
const isOfRelative = ({ relatives }: Question, quote: Quote, identities: Identities): boolean =>
  relatives.every((term) => quote.terms.has(term) || isHeldByName(term, quote, identities))

/** "My new camera" is not "my old camera". */
const isContrary = ({ terms: asked }: Question, { terms }: Quote): boolean =>
  contraries.some(
    ([one, other]) =>
      (asked.includes(one) && terms.has(other) && !terms.has(one)) ||
      (asked.includes(other) && terms.has(one) && !terms.has(other))
  )

const contraries = [["new", "old"]] as const

const OWNED = /(\p{L}+['’]s|\b(?:my|our|his|her|their|your|the|an?))((?: [\p{L}-]+){1,2})/giu
const OTHER = /^(?!it|that|there|here|what|who|he|she|user)\p{L}+['’]s$|^(?:his|her|their|your)$/iu

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

/** What is due has its day in the words. */
const dateAsked = ({ isWhenDue }: Question, statement: MemoryStatement): string | undefined =>
  isWhenDue && statement.speaker !== undefined ? undefined : dateOf(statement)

/** 1: about the one who is named or asks; .5: the question names nobody, or the quote names them; 0: another one. */
const agreement = (question: Question, { statement, terms }: Quote, { identities, isAlone }: HitList): number => {
  const { byRelation, speakers, user } = identities
  const own = ownNames(statement, user)
  const isTold = isAlone && statement.speaker !== undefined
  // "My sister": Anna, once a memory says so; then the words must be hers or name her.
  const relatives = question.terms.flatMap((term) => [...(byRelation.get(term) ?? [])])
  if (relatives.length > 0 && statement.speaker === undefined) {
    return relatives.some((stem) => own.has(stem)) ? 1 : relatives.some((stem) => terms.has(stem)) ? 0.5 : 0
  }
  // What an assistant says is advice, and no fact of the one it talks to.
  const isNamed = question.names.some((name) => name.some((stem) => own.has(stem)))
  if (statement.speaker !== undefined && isAssistant(statement.speaker) && !question.isOfAssistant && !isNamed) return 0
  // A speaker's name needs no capital.
  const names = [...question.names, ...question.terms.filter((term) => speakers.has(term)).map((term) => [term])]
  if (names.length > 0) {
    if (names.some((name) => name.some((stem) => own.has(stem)))) return 1
    const isOfSpeaker = names.some((name) => name.some((stem) => speakers.has(stem)))
    return !isOfSpeaker && names.some((name) => name.some((stem) => terms.has(stem))) ? (isTold ? 1 : 0.5) : 0
  }
  if (!question.isOfAsker) return isTold ? 1 : 0.5
  const isMeant = question.terms.some((term) => own.has(term))
  return own.has("user") || statement.speaker?.role === "user" || isMeant ? 1 : 0
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

export interface Weighed {
  /** How sure it is that the quote answers, 0..1. */
  readonly chance: number
  /** Share of the question's words beside the part that is asked for, 0..1; 0 where a hard condition fails. */
  readonly near: number
}

const unfit: Weighed = { chance: 0, near: 0 }

/** The chance is 0 where a hard condition fails, and behind the first `ELIGIBLE_MAX` that meet all. */
export const weighQuotes = (question: Question, quotes: ReadonlyArray<Quote>): ReadonlyArray<Weighed> => {
  const list = hitListOf(quotes)
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

/** A feature without a weight does not count. */
type GateWeights = Partial<GateFeatures> & { readonly bias: number }

/** `least`: grounded from this chance. `speaker` is not fitted: the sets name a speaker in nearly every question. */
interface Gate {
  readonly least: number
  readonly weights: GateWeights
}

const messages: Gate = {
  least: 0.6,
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
