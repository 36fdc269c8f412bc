/**
 * Answers without a model: the quote that the gate is surest of, with its speaker and date, or a list of up to three stored
 * statements; else nothing is known. Nothing is concluded or reworded, so an answer cannot say what no memory says.
 *
 * Runs on the event loop: a few milliseconds at the bounds of `readQuotes`. Deterministic.
 */
import { type AskedAt, questionDates, type TimeRange } from "@muniment/engine/ranking/QuestionDates"
import { mayHaveChanged } from "./Changes.ts"
import { dateText, daysWritten, onlySpokenDate, spokenDates, withResolvedDates } from "./SpokenDate.ts"
import { foreignQuestion, foreignQuotes } from "./ForeignQuotes.ts"
import { chancesOf, type HitList, hitListOf, isGrounded, polarityIn } from "./Gate.ts"
import { byTime, type Quote, readQuotes, saidAt } from "./Quote.ts"
import { isUser, type MemoryStatement } from "./MemoryStatement.ts"
import { type Question, readQuestion } from "./Question.ts"
import { isOfPast, slotStated } from "./SlotValue.ts"
import { type Evidence, unanswered, type WrittenAnswer } from "./WrittenAnswer.ts"
import { dayMillis } from "@muniment/domain/CalendarDay"

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
  const told = part === "date" ? onlySpokenDate(text, saidOn) : undefined
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
  const spoken = spokenDates(quote.text, saidOn).map(({ from, to }) => [from, to] as const)
  const written = daysWritten(quote.text, saidOn).flatMap((days) => days.map((day) => [day, day] as const))
  return [...spoken, ...written].some(
    ([from, to]) => Date.parse(from) < range.to && Date.parse(to) + lengthOf(to) > range.from
  )
}

/** At most: of a day, a month or a year, as it is written. */
const lengthOf = (day: string): number =>
  (day.length === "2026-01-31".length ? 1 : day.length === "2026-01".length ? 31 : 366) * dayMillis
