/** Days of a context: of the caller's time zone, as texts for people, and which is today. */
import { dayMillis } from "@muniment/domain/CalendarDay"
import { speakersDay, todayIn } from "@muniment/language/calendar/SpokenDates"
import { dateText } from "@muniment/language/calendar/ResolvedDates"

export interface ContextDays {
  readonly nowMillis: number
  /** `YYYY-MM-DD`. */
  readonly today: string
  readonly of: (millis: number) => string
  /** Day of an ISO 8601 time; without a time zone of the request the day where it was said. */
  readonly said: (iso: string) => string
  /** "8 January 2026". */
  readonly shown: (day: string) => string
  /** "Thu 8 January 2026". */
  readonly withWeekday: (day: string) => string
}

const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

export const contextDays = (nowMillis: number, timeZone: string | undefined): ContextDays => {
  // A day without a time, such as a conversation's date, is kept as midnight UTC, and is that day everywhere.
  const of = (millis: number) => todayIn(millis % dayMillis === 0 ? undefined : timeZone, millis)
  return {
    nowMillis,
    today: todayIn(timeZone, nowMillis),
    of,
    said: (iso) => (timeZone === undefined ? speakersDay(iso) : undefined) ?? of(Date.parse(iso)),
    shown: dateText,
    withWeekday: (day) => {
      const weekday = weekdays[new Date(day).getUTCDay()]
      return weekday === undefined ? day : `${weekday} ${dateText(day)}`
    }
  }
}
