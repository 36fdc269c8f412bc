/** Days on the wire: `YYYY-MM-DD`, UTC, as in `conversationDate` (interface.md section 5.3). */
import { Schema } from "effect"

const isCalendarDay = (text: string): boolean => {
  const millis = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(millis) && new Date(millis).toISOString().startsWith(text)
}

/** `YYYY-MM-DD`, a day that there is. */
export const CalendarDay = Schema.String.check(
  Schema.makeFilter(isCalendarDay, {
    expected: "a day of the calendar, YYYY-MM-DD",
    toJsonSchema: () => ({ format: "date" })
  })
)
