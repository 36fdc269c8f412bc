/**
 * ISO 8601 dates as people write them: `2026-05-03` is "3 May 2026". The clock time is given as it was
 * written, with its zone; midnight is taken for "no time given".
 */
import { monthNames } from "../calendar/CalendarWords.ts"

const ISO_MOMENT = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}:\d{2})(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/

export const isIsoDate = (text: string): boolean => ISO_MOMENT.test(text)

/** Other text is given back as it is. */
export const dateText = (iso: string): string => {
  const [, year, month, day, clock, zone] = ISO_MOMENT.exec(iso) ?? []
  const name = monthNames[Number(month) - 1]
  if (name === undefined) return iso
  const date = `${Number(day)} ${name} ${year}`
  if (clock === undefined || clock === "00:00") return date
  const zoneText = zone === undefined ? "" : zone === "Z" ? " UTC" : ` ${zone}`
  return `${date} at ${clock}${zoneText}`
}
