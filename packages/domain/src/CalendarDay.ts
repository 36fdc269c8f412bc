/** Days as text, `YYYY-MM-DD`, UTC: `conversationDate`, the ledger, the daily job; and moments, with their offset. */
import { Schema } from "effect"

export const dayMillis = 86_400_000

/** UTC day of a time. */
export const dayOf = (atMillis: number): string => new Date(atMillis).toISOString().slice(0, "2026-01-01".length)

const isCalendarDay = (text: string): boolean => {
  const millis = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(millis) && new Date(millis).toISOString().startsWith(text)
}

/** `YYYY-MM-DD`, an existing day. */
export const CalendarDay = Schema.String.check(
  Schema.makeFilter(isCalendarDay, {
    expected: "a day of the calendar, YYYY-MM-DD",
    toJsonSchema: () => ({ format: "date" })
  })
)

const moment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/

/** ISO 8601 date-time with its offset. */
export const Moment = Schema.String.check(
  Schema.makeFilter((text: string) => moment.test(text) && !Number.isNaN(Date.parse(text)), {
    expected: "an ISO 8601 date-time with its offset, such as 2026-01-31T09:30:00Z or 2026-01-31T10:30:00+01:00",
    toJsonSchema: () => ({ format: "date-time" })
  })
)
