/**
 * Questions for the value that held at a past time ("Where did I live in March?"): what was said only after it does not
 * tell, unless it names a day of that time. Other questions are left alone: of what happened once, a later telling may be
 * the only one.
 */
import { dayMillis } from "@muniment/domain/CalendarDay"
import { type AskedAt, questionDates, type TimeRange } from "@muniment/engine/ranking/QuestionDates"
import type { Question } from "./Question.ts"
import type { Quote } from "./Quote.ts"
import { saidAt } from "./QuoteSource.ts"
import { daysWritten, spokenDates } from "./SpokenDate.ts"

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
