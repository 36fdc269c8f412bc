/**
 * Gate that decides whether a quote answers a question: conditions on whose words it is, whether it has the part that is
 * asked for and how much of the question it holds, then a chance from how well it was found.
 *
 * Invariant: never without the part that was asked, never with the words of another speaker than the one who was named, and
 * never for a question that no single statement answers.
 */
import { stopWords } from "@muniment/language/text/Language"
import { tokenize } from "@muniment/language/text/Tokenizer"
import { isInstruction } from "../prompts/InstructionText.ts"
import { hasPart, isHedged, isPlain } from "@muniment/language/question/AnswerPart"
import type { Clause } from "@muniment/language/speech/Clause"
import { writtenOut } from "@muniment/language/speech/WrittenOut"
import { type Identities, readIdentities } from "@muniment/language/people/Identities"
import { isUser } from "@muniment/language/people/Relations"
import { type MemoryStatement, type Speaker } from "./MemoryStatement.ts"
import { type Polarity, polarityOf } from "@muniment/language/question/Polarity"
import type { Question } from "@muniment/language/question/Question"
import { asksOnly, type Quote } from "./Quote.ts"
import { hasSlotForm, isOfPast, slotNouns, slotStated } from "@muniment/language/question/SlotValue"
import { daysWritten, hasWrittenDate, resolvedDates } from "@muniment/language/calendar/ResolvedDates"
import { WEEKDAY } from "@muniment/language/calendar/CalendarWords"
import { toldClauses } from "@muniment/language/question/ToldClauses"

/** Common facts of the hits of one question. */
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

/** Hits that may be quoted, and that a hit is compared with; later ones only show what has changed since. */
export const COMPARED_HITS = 20
/** Of a hit that a short list does not have. */
const BACKGROUND_RELEVANCE = 0.02

/** `asked`: the question. */
export const hitListOf = (all: ReadonlyArray<Quote>, asked: string): HitList => {
  const quotes = all.slice(0, COMPARED_HITS)
  const statements = quotes.map(({ statement }) => statement)
  const speakers = statements.flatMap(({ speaker }) => speaker ?? [])
  const people = new Set(speakers.filter((speaker) => !isAssistant(speaker)).map(({ name }) => name))
  const background = quotes.length < COMPARED_HITS ? BACKGROUND_RELEVANCE : 1
  return {
    identities: readIdentities(statements, asked),
    isOfChat: speakers.length > 0,
    isAlone: speakers.length > 0 && people.size <= 1 && (people.has(undefined) || speakers.some(isAssistant)),
    lastRelevance: Math.min(background, ...quotes.map(({ memory }) => memory.relevance)),
    weightOf: (term) => {
      const holders = quotes.filter(({ terms }) => terms.has(term)).length
      return Math.log(1 + (quotes.length + 1) / (holders + 1))
    }
  }
}

export const isAssistant = ({ role }: Speaker): boolean => role !== "user" && role !== "human"

/** Quotes that are weighed, of those that meet all conditions. */
const ELIGIBLE_MAX = 3
/** A plain statement of the value that is asked for needs no similar words: "Where does Ann live?", "I moved to Porto." */
const SLOT_CHANCE = 0.95
/** Grounded from these chances; the conditions of messages are the stricter. */
const MESSAGE_LEAST = 0.3
const STATEMENT_LEAST = 0.4

export const isGrounded = ({ speaker }: MemoryStatement, chance: number): boolean =>
  chance >= (speaker === undefined ? STATEMENT_LEAST : MESSAGE_LEAST)

/** How sure each quote is to answer, 0..1; 0 where a condition fails, and behind the first `ELIGIBLE_MAX` that meet all. */
export const chancesOf = (question: Question, quotes: ReadonlyArray<Quote>, list: HitList): ReadonlyArray<number> => {
  let eligible = 0
  return quotes.map((quote, at) => {
    // Of messages a list would be parts of talk.
    const isOpen = question.open !== undefined && !(question.open === "list" && quote.statement.speaker === undefined)
    if (at >= COMPARED_HITS || question.terms.length === 0 || isOpen) return 0
    const chance = chanceOf(question, quote, list)
    // What gives orders is no statement: quoting it would pass it on.
    if (chance === 0 || isInstruction(quote.text)) return 0
    if (chance === SLOT_CHANCE) return chance
    eligible += 1
    return eligible > ELIGIBLE_MAX ? 0 : chance
  })
}

const chanceOf = (question: Question, quote: Quote, list: HitList): number => {
  const { memory, statement, text } = quote
  const { part } = question
  const speaker = agreement(question, quote, list)
  if (asksOnly(text) || speaker === 0 || !isAbout(question, quote, list.identities)) return 0
  const told = statement.speaker === undefined ? undefined : toldIn(question, quote, list)
  // "What does Ann do?" is asked of her job alone, "Where is Ann from?" of no other word behind "from".
  const texts = told?.map((clause) => clause.text) ?? [text]
  const slot = question.slot ?? ""
  if (/^(?:occupation|origin)$/.test(slot) && !texts.some((one) => hasSlotForm(slot, writtenOut(one)))) return 0
  if (part === "thing" && saysChangeAlone(question, text)) return 0
  if ((part === "duration" || part === "amount") && (saysTwo(text) || saysDifference(question, text))) return 0
  if (!isOfYears(question, quote) || isOfOther(question, quote) || isOfTheirs(question, quote)) return 0
  const shareIn = shareOf(question, quote, list)
  const found =
    told === undefined
      ? ofStatement(question, quote, list, shareIn)
      : nearest(question, quote, told, list.identities, shareIn)
  if (found === undefined) return 0
  if (
    told !== undefined &&
    part === "yesNo" &&
    (found.near < YES_NO_LEAST || polarityIn(question, quote, list) === undefined)
  )
    return 0
  if (told !== undefined && !found.isPlain && (part === "name" || part === "reason")) return 0
  const isMeant = statement.speaker === undefined || speaker === 1
  const isFilled = isMeant && (question.isOfPast || !isOfPast(text)) && (part !== "name" || found.isPlain)
  if (isFilled && isOfSlot(question, quote, list.identities)) return SLOT_CHANCE
  const ahead = logit(memory.relevance) - logit(list.lastRelevance)
  if (told === undefined) return 0.15 + 0.55 * found.near + 0.05 * Math.min(AHEAD_MAX, ahead)
  const isDated = part === "date" && (hasWrittenDate(text) || resolvedDates(text, statement.speaker?.saidOn).length > 0)
  const isNews = tokenize(text).filter((term) => !question.terms.includes(term) && !stopWords.has(term)).length
  const evidence =
    0.53 * logit(memory.relevance) +
    0.52 * ahead +
    1.8 * speaker +
    1.3 * found.near +
    0.54 * Math.min(1, isNews / NEWS_MAX) +
    (found.isPlain ? 1.28 + 0.98 * found.near : 0) +
    (list.isAlone ? 0.66 : 0) +
    (part === "yesNo" ? 1.38 : 0) +
    (isDated ? 1.5 : 0) -
    (isHedged(text) ? 0.59 : 0) -
    BIAS
  return 1 / (1 + Math.exp(-evidence))
}

/** "The rent went up by 50": of an amount that is asked for only by how much it differs from another one. */
const saysDifference = ({ subject, text: question }: Question, text: string): boolean =>
  /^(?:is|are|was|were|do|does|)$/.test(subject.auxiliary) && !COMPARES.test(question) && DIFFERS.test(text)
const COMPARES = /\b(?:by|up|down|more|less|extra|than|differen\p{L}+)\b/iu
const DIFFERS =
  /\b(?:raised by|by|up|down|rose|fell|increased?|decreased?|dropped|grew)(?: of| is| was)? (?!to\b)(?:\p{Sc}?\d+|an?|\p{Ll}+ty|ten|five)\b|\d[\d.,]*[%\p{Sc}]?(?: \p{Ll}+)? (?:more|less|extra)\b/iu

/** "I changed my password" says that there is another one, and not which. */
const saysChangeAlone = ({ terms }: Question, text: string): boolean => {
  const news = tokenize(text).filter((term) => !terms.includes(term) && !stopWords.has(term))
  return news.length > 0 && news.every((term) => changes.has(term))
}
const changes: ReadonlySet<string> = new Set(
  tokenize("change update reset renew replace switch now today yesterday new again")
)

/** "At 20 minutes they complain, make it 60 min": of two amounts of one unit either may be meant. */
const saysTwo = (text: string): boolean => {
  const counts = [...text.matchAll(/(\d+) ?(\p{Ll}{3})/gu)]
  return counts.some(([, number, unit]) => counts.some((other) => other[2] === unit && other[1] !== number))
}

const BIAS = 4.4
/** Further ahead of the last hit tells nothing more. */
const AHEAD_MAX = 6
/** More words than these tell nothing more. */
const NEWS_MAX = 15
const RELEVANCE_LEAST = 0.001

const logit = (relevance: number): number => {
  const bounded = Math.min(1 - RELEVANCE_LEAST, Math.max(RELEVANCE_LEAST, relevance))
  return Math.log(bounded / (1 - bounded))
}

interface Found {
  readonly isPlain: boolean
  /** Share of the question's words beside the part, 0..1. */
  readonly near: number
}

/** The share of the question's words that some words hold, by their rarity. */
const shareOf = ({ slot, subject, topic }: Question, quote: Quote, { identities, weightOf }: HitList) => {
  const subjects = new Set([...identities.speakers, ...tokenize(quote.statement.subject ?? "")])
  const matter = topic.filter((term) => !subjects.has(term))
  // A person who is asked about has to be named in any case, and says nothing of the matter.
  const others = subject.kind === "person" ? matter.filter((term) => !subject.terms.includes(term)) : []
  const telling = others.length > 0 ? others : matter
  const sumOf = (words: ReadonlyArray<string>): number => words.reduce((sum, word) => sum + weightOf(word), 0)
  return (held: ReadonlySet<string>): number =>
    telling.length === 0
      ? // "What time do I get up?" has no word of its matter: only a form tells that it is meant.
        Number(slot !== undefined)
      : sumOf(telling.filter((term) => held.has(term) || isHeldByName(term, quote, identities))) / sumOf(telling)
}

const EXTRACTED_LEAST = 0.5
const YES_NO_LEAST = 0.75
/** Of a sentence that has the part: less is another matter. Where it is asked who does something it has to be more. */
const SHARE_LEAST = 1 / 3
const OPEN_SHARE_LEAST = 1 / 2

/** What was extracted beside messages is read as closely as they are. */
const ofStatement = (
  question: Question,
  quote: Quote,
  { identities, isOfChat }: HitList,
  shareIn: (held: ReadonlySet<string>) => number
): Found | undefined => {
  const { part } = question
  const found = { isPlain: isPlain(part, quote.text, question), near: shareIn(quote.terms) }
  if (!hasPartOf(question, quote, quote.text)) return undefined
  const isClose = found.near >= EXTRACTED_LEAST && (found.isPlain || part !== "name")
  return !isOfChat || isClose || isOfSlot(question, quote, identities) ? found : undefined
}

/**
 * Of a message, among its clauses about the one asked about: the part stands in a sentence that, with the one before it,
 * has enough of the question's words.
 */
const nearest = (
  question: Question,
  quote: Quote,
  told: ReadonlyArray<Clause>,
  identities: Identities,
  shareIn: (held: ReadonlySet<string>) => number
): Found | undefined => {
  const least = question.subject.kind === "open" && question.part === "person" ? OPEN_SHARE_LEAST : SHARE_LEAST
  const isSlot = isOfSlot(question, quote, identities)
  let best: Found | undefined
  for (const [sentence, clauses] of Map.groupBy(told, (clause) => clause.sentence)) {
    // A reason may be somebody else's: "because my wife is from Gdansk".
    const whole = question.part === "reason" ? quote.clauses.filter((clause) => clause.sentence === sentence) : clauses
    const text = whole.map((clause) => clause.text).join(", ")
    const around = told.filter((clause) => clause.sentence === sentence || clause.sentence === sentence - 1)
    const near = shareIn(around.reduce((all, { terms }) => all.union(terms), new Set<string>()))
    if ((near < least && !isSlot) || !hasPartOf(question, quote, text)) continue
    const found = { isPlain: isPlain(question.part, text, question), near }
    if (best === undefined || Number(found.isPlain) + found.near > Number(best.isPlain) + best.near) best = found
  }
  return best
}

/** Clauses of a message about the one asked about. */
const toldIn = (question: Question, quote: Quote, { identities }: HitList): ReadonlyArray<Clause> => {
  const own = ownNames(quote.statement, identities.user)
  return toldClauses(question, quote.clauses, {
    isOwn: isOwn(question, quote, identities),
    isOwner: question.names.flat().some((stem) => own.has(stem)),
    identities,
    statesSlot: isOfSlot(question, quote, identities)
  })
}

/** The message is by the one asked about. */
const isOwn = ({ subject }: Question, { statement }: Quote, { user }: Identities): boolean => {
  const own = ownNames(statement, user)
  if (subject.kind !== "asker") return subject.terms.some((term) => own.has(term))
  return own.has("user") || (subject.isGroup && statement.speaker !== undefined && !isAssistant(statement.speaker))
}

export const polarityIn = (question: Question, quote: Quote, list: HitList): Polarity | undefined =>
  polarityOf(question, quote.clauses, toldIn(question, quote, list))

/** What a message states has its day in the words: the day on which it was said is no date of it. */
const hasPartOf = (question: Question, { statement }: Quote, text: string): boolean => {
  const { speaker } = statement
  const date = speaker === undefined ? statement.date : undefined
  const asked = new Set([...question.terms, ...question.names.flat()])
  if (question.part === "date" && speaker !== undefined && !isDatedBy(question, text, speaker.saidOn)) return false
  return hasPart(question.part, { ...statement, text, date }, asked)
}

/** A day that the words fix, a habit, or for "what time" a clock time; of what was done no day that was still to come. */
const isDatedBy = ({ isWhenDone, text: question }: Question, text: string, saidOn: string | undefined): boolean => {
  if (/\b(?:what|which) time\b/i.test(question)) return CLOCK.test(text)
  const spoken = resolvedDates(text, saidOn)
  const written = daysWritten(text, saidOn)
  if (!isWhenDone) {
    return spoken.length + written.length > 0 || ORDINAL.test(text) || (!/\bdate\b/i.test(question) && HABIT.test(text))
  }
  const day = saidOn?.slice(0, "2024-01-02".length) ?? ""
  return spoken.some(({ from }) => from <= day) || written.some((days) => days.some((one) => one <= day))
}
const CLOCK = /\d:\d\d|\b\d{1,2} ?[ap]\.?m\b|\bnoon\b|\bmidnight\b|\bat \d{1,2}\b(?!:)/i
const HABIT = new RegExp(`\\b(?:${WEEKDAY}s|(?:every|each) \\p{L}+)\\b|\\d:\\d\\d|\\b\\d{1,2} ?[ap]m\\b`, "iu")
const ORDINAL = /\bthe \d{1,2}(?:st|nd|rd|th)\b/i

/** A stored statement holds the subject of the question, and any quote the thing whose name or day is asked for. */
const isAbout = (question: Question, quote: Quote, identities: Identities): boolean => {
  const { focus, isOfAsker, isWhenDue, names, part } = question
  const isOfMessage = quote.statement.speaker !== undefined && part !== "name" && !isWhenDue
  return (
    (isOfMessage ||
      focus.length === 0 ||
      focus.some((term) => quote.terms.has(term) || isHeldByName(term, quote, identities)) ||
      ((names.length > 0 || isOfAsker) && isOfSlot(question, quote, identities))) &&
    isOfLiking(question, quote)
  )
}

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

/** Of what the asker calls "my", it states another one's alone: "Anna's dentist", "her dentist". */
const isOfOther = ({ names, owned }: Question, { text }: Quote): boolean =>
  names.length === 0 &&
  owned.some((stem) => {
    const owners = [...text.matchAll(OWNED)].filter(([, , words = ""]) => tokenize(words).includes(stem))
    return owners.length > 0 && owners.every(([, owner = ""]) => OTHER.test(owner))
  })
const OWNED = /(\p{L}+['’]s|\b(?:my|our|his|her|their|your|the|an?))((?: [\p{L}-]+){1,2})/giu
const OTHER = /^(?!it|that|there|here|what|who|he|she|user)\p{L}+['’]s$|^(?:his|her|their|your)$/iu

/** A stored statement of "Ann's dad" is none of Ann, nor of the asker who is Ann. */
const isOfTheirs = ({ subject, terms }: Question, { statement }: Quote): boolean => {
  const [, owner, held] = /^(.+)['’]s (.+)$/su.exec(statement.subject ?? "") ?? []
  if (owner === undefined || held === undefined || statement.speaker !== undefined) return false
  const [owners, helds] = [tokenize(owner), tokenize(held)]
  if (subject.kind === "asker") return !helds.some((term) => terms.includes(term))
  return subject.kind === "person" && subject.terms.every((term) => owners.includes(term) && !helds.includes(term))
}

/** A year that is named is said, or the date of the memory. */
const isOfYears = ({ years }: Question, { statement, text }: Quote): boolean => {
  const date = statement.speaker?.saidOn ?? statement.date ?? ""
  const told = [text, date, ...resolvedDates(text, date).map(({ resolved }) => resolved)].join(" ")
  return years.length === 0 || years.some((year) => told.includes(year))
}

/** Compares the sign of a preference; other memories pass. */
const isOfLiking = ({ liking }: Question, { memory }: Quote): boolean => {
  const type = memory.kind === "preference_memory" ? memory.data["preferenceType"] : undefined
  const isDislike = type === "dislikes" || type === "avoids"
  return liking === undefined || typeof type !== "string" || isDislike === (liking === "dislikes")
}

/** 1: about the person who is named or asks; .5: no person is named, or the quote names them; 0: about another one. */
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
  const isNamed = named.some((stem) => user.has(stem))
  const isOfUser =
    speaker === undefined
      ? isRecord || subject === undefined || isUser(subject) || isNamed
      : speaker.role === "user" && (speaker.name === undefined || isNamed)
  return new Set(isOfUser ? [...named, ...user, "user"] : named)
}

/** Of the one who is asked about: "Ann's job" is Ann's, but "Where does Ann's boss live?" is about the boss. */
const isOfSlot = ({ focus, slot }: Question, quote: Quote, identities: Identities): boolean => {
  if (slot === undefined || slotStated(quote.memory, quote.statement, quote.text) !== slot) return false
  return (
    focus.length === 0 ||
    focus.some((term) => slotNouns(slot).has(term) || slot.includes(term) || isHeldByName(term, quote, identities))
  )
}
