/**
 * Answers without a model: the quote that the gate is surest of, with its speaker and date, or a list of up to three stored
 * statements; else nothing is known. Nothing is concluded or reworded, so an answer cannot say what no memory says.
 *
 * Runs on the event loop: a few milliseconds at the bounds of `readQuotes`. Deterministic.
 */
import { type AskedAt, questionDates, type TimeRange } from "@muniment/language/calendar/QuestionDates"
import { mayChange } from "@muniment/language/question/AskedMatter"
import {
  isBehind,
  movesUnnamed,
  namesOldContact,
  tellsChange,
  tellsCorrection,
  tellsEnd,
  tellsEvent,
  tellsOneMore
} from "@muniment/language/question/ChangeSigns"
import { stopWords } from "@muniment/language/text/Language"
import { tokenize } from "@muniment/language/text/Tokenizer"
import { dayMillis } from "@muniment/domain/CalendarDay"
import {
  dateText,
  daysWritten,
  onlyResolvedDate,
  resolvedDates,
  withResolvedDates
} from "@muniment/language/calendar/ResolvedDates"
import { WEEKDAY } from "@muniment/language/calendar/CalendarWords"
import { foreignQuestion, foreignQuotes } from "./ForeignQuotes.ts"
import { chancesOf, type HitList, hitListOf, isGrounded, polarityIn } from "./Gate.ts"
import { byTime, type Quote, readQuotes, saidAt, asksOnly, messagesBehind, saidWith, speakerOf } from "./Quote.ts"
import { isUser } from "@muniment/language/people/Relations"
import { type MemoryStatement } from "./MemoryStatement.ts"
import { type Question, readQuestion } from "@muniment/language/question/Question"
import { isOfPast, slotStated, slotNouns, endsOtherSlot } from "@muniment/language/question/SlotValue"
import { type Evidence, unanswered, type WrittenAnswer } from "./WrittenAnswer.ts"
import { isWithdrawal } from "@muniment/language/speech/Mood"
import { writtenOut } from "@muniment/language/speech/WrittenOut"
import { hasPart, hasPlainForm, isPlain, type PartName } from "@muniment/language/question/AnswerPart"

export const STATEMENTS_MAX = 3
export const ANSWER_LENGTH_MAX = 600
/** Two statements with a larger share of common words count as the same. */
const SAME_MIN = 0.75

/** `at`: when it is asked; without it no time of the question is read. */
export const extractiveAnswer = (question: string, evidence: ReadonlyArray<Evidence>, at?: AskedAt): WrittenAnswer => {
  const asked = readQuestion(question)
  const quotes = ofPastTime(asked, readQuotes(asked, evidence), at)
  const list = hitListOf(quotes, asked.text)
  const foreign = foreignQuestion(asked.text)
  const [best, ...others] =
    foreign === undefined ? groundedQuotes(asked, quotes, list) : foreignQuotes(foreign, quotes, list)
  if (best === undefined) return unanswered("extractive")
  const chosen = best.statement.speaker === undefined ? [best, ...furtherStatements(asked, best, others)] : [best]
  return {
    answer: chosen.map((quote) => said(asked, quote, list)).join(" "),
    citations: chosen.map(({ memory }) => memory.id),
    grounded: true,
    method: "extractive"
  }
}

/**
 * Those that pass the gate, surest first, among them those of the owner whom the search found most relevant; of the values
 * of one slot the newest alone.
 */
const groundedQuotes = (asked: Question, quotes: ReadonlyArray<Quote>, list: HitList): ReadonlyArray<Quote> => {
  const chances = chancesOf(asked, quotes, list)
  const grounded = withNewestValues(
    quotes
      .map((quote, at) => ({ ...quote, chance: chances[at]! }))
      .filter(({ chance, statement }) => isGrounded(statement, chance)),
    asked,
    quotes
  ).filter((quote) => !mayHaveChanged(asked, quote, quotes) && !(asked.isWhenDone && isStillToCome(quote, quotes)))
  const relevances = new Map<string | undefined, number>()
  for (const { memory } of grounded) {
    relevances.set(memory.owner, Math.max(memory.relevance, relevances.get(memory.owner) ?? 0))
  }
  const ofOwner = ({ memory }: Quote): number => relevances.get(memory.owner) ?? 0
  return grounded.toSorted(
    (left, right) =>
      right.chance - left.chance || ofOwner(right) - ofOwner(left) || right.memory.createdAt - left.memory.createdAt
  )
}

/** Of each slot and subject the newest value alone; of the past those that were replaced or are stated as past. */
const withNewestValues = <Q extends Quote>(
  values: ReadonlyArray<Q>,
  { isOfPast: isPastAsked }: Question,
  quotes: ReadonlyArray<Quote>
): ReadonlyArray<Q> => {
  const slots = values.map(({ memory, statement, text }) => {
    const slot = slotStated(memory, statement, text)
    const { subject } = statement
    // A user without a name is somebody else in the memories of another subject.
    const owner = subject === undefined || isUser(subject) ? memory.owner : undefined
    return slot && `${slot} of ${subject ?? ""} ${owner ?? ""}`
  })
  return values.filter((value, at) => {
    const slot = slots[at]
    if (slot === undefined) return true
    const rivals = values.filter((other, place) => other !== value && slots[place] === slot)
    const time = saidAt(value, quotes)
    const isOutdated = rivals.some((other) => !isOfPast(other.text) && byTime(saidAt(other, quotes), time) > 0)
    const isCurrent = !isOfPast(value.text) && !isOutdated
    // "No longer drinks coffee" is the present state as long as nothing newer is.
    return isCurrent !== isPastAsked || (rivals.length === 0 && !isPastAsked)
  })
}

/** A stored event that lay ahead when it was told. */
const isStillToCome = (quote: Quote, quotes: ReadonlyArray<Quote>): boolean => {
  const told = new Date(saidAt(quote, quotes).millis).toISOString()
  const days = daysWritten(quote.text, told).flat()
  return (
    quote.statement.speaker === undefined && days.length > 0 && days.every((day) => day > told.slice(0, day.length))
  )
}

/** Several statements answer what somebody likes, and lists; other questions usually have one answer. */
const furtherStatements = (asked: Question, best: Quote, others: ReadonlyArray<Quote>): ReadonlyArray<Quote> => {
  if (asked.open !== "list" && asked.liking === undefined) return []
  const chosen = [best]
  let length = best.text.length
  for (const quote of others) {
    if (chosen.length === STATEMENTS_MAX) break
    const isNew = quote.memory.kind === best.memory.kind && chosen.every((other) => !isSame(other, quote))
    if (!isNew || length + 1 + quote.text.length > ANSWER_LENGTH_MAX) continue
    chosen.push(quote)
    length += 1 + quote.text.length
  }
  return chosen.slice(1)
}

const isSame = (left: Quote, right: Quote): boolean => {
  const [smaller, larger] = [left.terms, right.terms].sort((one, other) => one.size - other.size)
  return smaller!.intersection(larger!).size >= SAME_MIN * larger!.size
}

const said = (asked: Question, quote: Quote, list: HitList): string => {
  const { statement, text } = quote
  if (statement.speaker === undefined) return statementSaid(asked, statement, text)
  const polarity = polarityIn(asked, quote, list)
  return `${polarity === undefined || polarity === "limited" ? "" : `${polarity}. `}${messageSaid(asked, statement, text)}`
}

/** For "when": appends the date that the memory has outside of its text. */
const statementSaid = ({ part }: Question, { date }: MemoryStatement, text: string): string =>
  part === "date" && date !== undefined ? `${text.replace(/\.$/, "")} (${date}).` : text

/** `Ann (2 January 2024): "..."`; for "when" the date that the words give first. */
const messageSaid = ({ part }: Question, statement: MemoryStatement, text: string): string => {
  const { speaker } = statement
  const name = nameOf(statement)
  const saidOn = speaker?.saidOn
  const day = saidOn === undefined ? undefined : dateText(saidOn.slice(0, "2024-01-02".length))
  const quote = `"${withResolvedDates(text, saidOn)}"`
  if (day === undefined) return `${name}: ${quote}`
  const told = part === "date" ? onlyResolvedDate(text, saidOn) : undefined
  return `${told === undefined ? "" : `${told}. `}${name} (${day}): ${quote}`
}

const nameOf = ({ speaker }: MemoryStatement): string =>
  speaker?.name ?? (speaker?.role === "assistant" ? "Assistant" : speaker?.role === "tool" ? "Tool" : "User")

/** The quotes that can tell of the time that the question names: all of them where it names none that is over. */
export const ofPastTime = (
  asked: Question,
  quotes: ReadonlyArray<Quote>,
  at: AskedAt | undefined
): ReadonlyArray<Quote> => {
  if (at === undefined || asked.slot === undefined || !PAST.test(asked.text)) return quotes
  const [range, ...others] = questionDates(asked.text, at)
  if (range === undefined || others.length > 0 || range.to > at.nowMillis) return quotes
  return quotes.filter((quote) => saidAt(quote, quotes).millis < range.to || namesDayIn(quote, quotes, range))
}

const PAST = /\b(?:did|was|were|had)\b/i

const namesDayIn = (quote: Quote, quotes: ReadonlyArray<Quote>, range: TimeRange): boolean => {
  const saidOn = new Date(saidAt(quote, quotes).millis).toISOString()
  const spoken = resolvedDates(quote.text, saidOn).map(({ from, to }) => [from, to] as const)
  const written = daysWritten(quote.text, saidOn).flatMap((days) => days.map((day) => [day, day] as const))
  return [...spoken, ...written].some(
    ([from, to]) => Date.parse(from) < range.to && Date.parse(to) + lengthOf(to) > range.from
  )
}

/** At most: of a day, a month or a year, as it is written. */
const lengthOf = (day: string): number =>
  (day.length === "2026-01-31".length ? 1 : day.length === "2026-01".length ? 31 : 366) * dayMillis

/** Hits that are compared with a quote; of them, those that may change a thing without naming it. */
const COMPARED_HITS = 40
const FIRST_HITS = 10

/**
 * Decides whether what a quote says may have changed since: a newer message tells of a change of what may be the same
 * thing, or says the same sort of value of it. Then the quote is no answer to a question about the present; the newer
 * message is one by itself if it has what is asked for. When in doubt nothing is claimed.
 *
 * `quotes`: in the order of the search.
 */
const mayHaveChanged = (question: Question, quote: Quote, quotes: ReadonlyArray<Quote>): boolean => {
  const place = quotes.findIndex(({ memory }) => memory === quote.memory)
  const [time, speaker, said] = [saidAt(quote, quotes), speakerOf(quote, quotes), saidWith(quote, quotes)]
  return quotes.slice(0, COMPARED_HITS).some((other, at) => {
    if (other.statement.speaker === undefined || asksOnly(other.text) || byTime(saidAt(other, quotes), time) <= 0)
      return false
    const isOfSpeaker = speakerOf(other, quotes) === speaker
    if (isOfSpeaker && corrects(quote, other, quotes)) return true
    if (!question.isOfPresent || isLasting(question)) return false
    // What somebody said later of themselves leaves a yes or no open.
    if (isOfSpeaker && question.part === "yesNo" && other.memory.relevance >= quote.memory.relevance / 2) return true
    const isChange = isOfSpeaker
      ? isRival(question, quote, other, at < place, at < FIRST_HITS)
      : endsByName(question, other) || restates(question, quote, other)
    return isChange && mayChange(question.text, said, other.statement.text)
  })
}

/** Reasons, births and the like stay what they were. */
const isLasting = ({ part, terms }: Question): boolean => lasting.has(part) || terms.some((term) => births.has(term))
const lasting: ReadonlySet<PartName> = new Set(["reason"])
const births: ReadonlySet<string> = new Set(tokenize("born birth birthday"))

/** Messages between a statement and its correction: the listener's, and one of the speaker's own. */
const CORRECTED_WITHIN = 3

/** Directly behind the quote its speaker takes it back: "Sorry, 241 I mean", "Correction: Bergen", "Just kidding". */
const corrects = (quote: Quote, other: Quote, quotes: ReadonlyArray<Quote>): boolean =>
  (messagesBehind(quote, other, quotes) ?? Infinity) <= CORRECTED_WITHIN &&
  (isWithdrawal(writtenOut(other.text)) || tellsCorrection(other.text))
/** Another one says of whom is asked that a state of theirs is over: "Ana left Acme". */
const endsByName = ({ names }: Question, other: Quote): boolean =>
  other.clauses.some(
    ({ isOver, subjectTerms, text }) =>
      (isOver || tellsEnd(text)) && names.flat().some((term) => subjectTerms.has(term))
  )

const isRival = (question: Question, quote: Quote, other: Quote, isFirst: boolean, isNear: boolean): boolean => {
  const ended = tellsEnd(other.text)
  const isChange = tellsChange(other.text) || movesUnnamed(other.text)
  const hasValue = saysValue(question, other)
  if (question.counted.length > 0 && tellsOneMore(other.text)) return true
  if (question.part === "contact" && namesOldContact(other.text)) return true
  if (sharesMatter(question, other) && (ended || (isChange && (hasValue || isFirst)))) return true
  // The search puts a newer message first where it takes it for a later state.
  if (isFirst && (hasPlainForm(question.part) ? hasValue || hasNamedPart(question, other) : isChange && ended))
    return true
  if (isNear && isChange && hasValue && !namesOther(question, quote, other)) return true
  const names = namesIn(quote)
  return other.clauses.some(({ isOver, predicate, subject, subjectTerms, terms, text }) => {
    const isOwn = subject === "speaker" || subject === "open" || /\b(?:me|us)\b/i.test(predicate)
    const hasEnded = isOver || tellsEnd(text) || isBehind(text)
    // "Miso died", "we left Bergamo", "Acme went bankrupt"; of an own state also what is not named.
    if (hasEnded && !terms.isDisjointFrom(names)) return true
    const nouns = slotNouns(question.slot)
    if (nouns.size > 0 && !subjectTerms.isDisjointFrom(names) && tellsEvent(predicate)) return true
    if (!question.isOfAsker || (nouns.size === 0 && question.part !== "person" && question.part !== "name"))
      return false
    const isOfOther = question.slot !== undefined && endsOtherSlot(question.slot, text)
    if (isOver && isOwn && !isOfOther && !namesOther(question, quote, other)) return true
    return !terms.isDisjointFrom(nouns) && (subject !== "owned" || !subjectTerms.isDisjointFrom(nouns))
  })
}

/** The sort of value that is asked for, in its plain form. */
const saysValue = ({ part, terms, topic }: Question, { statement, text }: Quote): boolean =>
  hasPlainForm(part)
    ? isPlain(part, text, { topic, counted: [] })
    : bareSorts.has(part) && hasPart(part, { ...statement, text, date: undefined }, new Set(terms))
const bareSorts: ReadonlySet<PartName> = new Set(["contact", "detail"])

/** A place or a person in any form. */
const hasNamedPart = ({ part, terms }: Question, { statement, text }: Quote): boolean =>
  namedSorts.has(part) && hasPart(part, { ...statement, text, date: undefined, subject: undefined }, new Set(terms))
const namedSorts: ReadonlySet<PartName> = new Set(["place", "person", "name"])

/** Whoever says it: of the same thing, or beside the value of the quote, another one. "The 20th is taken, now the 27th" */
const restates = (question: Question, quote: Quote, other: Quote): boolean => {
  const [before, after] = [valuesIn(quote), valuesIn(other)]
  const isOfSame = sharesMatter(question, other) || !before.isDisjointFrom(after)
  return isOfSame && tellsChange(other.text) && saysValue(question, other) && !after.isSubsetOf(before)
}

const numbersAndDays = new RegExp(`\\d+|\\b${WEEKDAY}`, "g")

/** Numbers and days of the week. */
const valuesIn = ({ text }: Quote): ReadonlySet<string> => new Set(text.toLowerCase().match(numbersAndDays))

/** A word of what is asked about, other than who is asked about. */
const sharesMatter = ({ names, topic }: Question, { terms }: Quote): boolean => {
  const named = new Set(names.flat())
  return topic.some((term) => !named.has(term) && terms.has(term))
}

const namesIn = ({ text }: Quote): ReadonlySet<string> =>
  new Set(
    [...text.matchAll(/(?<=[\p{L},] )\p{Lu}[\p{L}-]+/gu)]
      .flatMap(([name]) => tokenize(name))
      .filter((stem) => !stopWords.has(stem))
  )

/** It is about something of the speaker that neither the question nor the quote names. */
const namesOther = (question: Question, quote: Quote, { text }: Quote): boolean => {
  const known = new Set([...question.terms, ...quote.terms, ...slotNouns(question.slot)])
  const owned = [...text.matchAll(/\b(?:my|our|his|her) (?:(?:old|new) )?(\p{L}+)/giu)]
  return owned.length > 0 && !owned.some(([, word = ""]) => tokenize(word).some((term) => known.has(term)))
}
