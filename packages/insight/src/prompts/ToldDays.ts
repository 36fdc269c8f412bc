/** Whether words tell a day: as a date or an expression for it, as an ordinal near the day of saying, or less precisely. */
import { dayMillis } from "@muniment/domain/CalendarDay"
import { datesInText } from "./DatesInText.ts"
import type { DateSupport } from "./DateSupport.ts"

/** What was said on a day, `YYYY-MM-DD`. */
export interface SaidOn {
  readonly day: string
  readonly texts: ReadonlyArray<string>
}

/** "the 24th" */
const ordinalReachDays = 62

export const tellsDay = (day: string, { day: saidOn, texts }: SaidOn, dates: DateSupport): boolean => {
  if (day === saidOn || (day.endsWith("-01") && saidOn.startsWith(prefixOf(day)))) return true
  const isNear = Math.abs(Date.parse(day) - Date.parse(saidOn)) <= ordinalReachDays * dayMillis
  const ordinal = new RegExp(`\\b${Number(day.slice(-2))}(?:st|nd|rd|th)\\b`, "i")
  return texts.some((text) => {
    if (dates.isTold(day, text, saidOn) || (isNear && ordinal.test(text))) return true
    return datesInText(text, Number(saidOn.slice(0, 4)))
      .dates.flat()
      .some((told) => told.startsWith(prefixOf(day)))
  })
}

/** A month is read as its first day, a year as that of January. */
export const prefixOf = (day: string): string =>
  day.endsWith("-01-01") ? day.slice(0, 4) : day.endsWith("-01") ? day.slice(0, 7) : day
