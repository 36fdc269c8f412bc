/**
 * Days of the daily job (contract: Plans and the daily job): its moment on UTC day D is D 00:10, and D is due from
 * that moment on. Days are written `YYYY-MM-DD`, so their order is that of the text.
 */
import { dayMillis, dayOf } from "@muniment/domain/CalendarDay"
import { Limits } from "@muniment/domain/Limits"

/** From the start of a day to its moment; `jobSchedule` says the same. */
const momentMillis = 600_000
export const jobSchedule = { cron: "10 0 * * *", zone: "UTC" }

export const dayAfter = (day: string, days = 1): string => dayOf(Date.parse(day) + days * dayMillis)

export const momentOf = (day: string): number => Date.parse(day) + momentMillis

/** The newest day whose moment has come. */
export const lastDueDay = (nowMillis: number): string => dayOf(nowMillis - momentMillis)

/** The next moment after `nowMillis`. */
export const nextRunMillis = (nowMillis: number): number => momentOf(dayAfter(lastDueDay(nowMillis)))

/** Days after `lastDay` that are due, oldest first, and the number of older ones that are skipped. */
export const dueDays = (
  lastDay: string,
  nowMillis: number
): { readonly days: ReadonlyArray<string>; readonly skipped: number } => {
  const missed = Math.round((Date.parse(lastDueDay(nowMillis)) - Date.parse(lastDay)) / dayMillis)
  const count = Math.min(Math.max(missed, 0), Limits.jobCatchUpDaysMax)
  const newest = lastDueDay(nowMillis)
  return {
    days: Array.from({ length: count }, (_, at) => dayAfter(newest, at + 1 - count)),
    skipped: Math.max(missed, 0) - count
  }
}
