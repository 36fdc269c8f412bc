/**
 * ISO 8601 dates in English: `2026-05-03` becomes "3 May 2026". A clock time is kept as written, with its zone; midnight
 * counts as no time.
 */
import { monthNames } from "../calendar/CalendarWords.ts"

const ISO_MOMENT = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}:\d{2})(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/

export const isIsoDate = (text: string): boolean => ISO_MOMENT.test(text)

/** Returns any other text unchanged. */
export const dateText = (iso: string): string => {
  const [, year, month, day, clock, zone] = ISO_MOMENT.exec(iso) ?? []
  const name = monthNames[Number(month) - 1]
  if (name === undefined) return iso
  const date = `${Number(day)} ${name} ${year}`
  if (clock === undefined || clock === "00:00") return date
  const zoneText = zone === undefined ? "" : zone === "Z" ? " UTC" : ` ${zone}`
  return `${date} at ${clock}${zoneText}`
}
