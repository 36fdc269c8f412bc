/**
 * Dates in a quoted message that count from the day it was said, written out: "yesterday [= 17 January 2024]". They are
 * resolved by `SpokenDates` and added in brackets; words are never replaced.
 */
import { type DateSide, speakersDay, type SpokenDate, spokenDates } from "./SpokenDates.ts"
import { datesInText, monthNames } from "./CalendarWords.ts"

/** A relative date of a text, and what it means. */
export interface ResolvedDate extends SpokenDate {
  /** "17 January 2024", "the week of 8 January 2024", "December 2023", "2023". */
  readonly resolved: string
}

/** In the order of the text. `saidOn`: ISO 8601, when the text was said; an invalid one resolves nothing. */
export const resolvedDates = (text: string, saidOn: string | undefined): ReadonlyArray<ResolvedDate> =>
  spokenDates(text, speakersDay(saidOn), sideOf(text)).map((date) => ({ ...date, resolved: shown(date) }))

/** Those whose words alone say which day they are: "tomorrow", "next week", not "on the 27th". */
export const plainDates = (text: string, saidOn: string | undefined): ReadonlyArray<ResolvedDate> =>
  spokenDates(text, speakersDay(saidOn)).map((date) => ({ ...date, resolved: shown(date) }))

/** Which way a day lies that has no word for it, by the only tense of the text. */
const sideOf = (text: string): DateSide | undefined => {
  const [isPast, isAhead] = [PAST.test(text), AHEAD.test(text)]
  return isPast === isAhead ? undefined : isPast ? "past" : "future"
}
const PAST = /\b(?:was|were|had|did|went|got|came)\b|['’]d been\b|\b\p{L}{2,}ed\b/iu
const AHEAD = /\b(?:is|are|am|will|shall|going to|gonna)\b|['’](?:s|re|m|ll)\b/i

const shown = ({ from, precision, text }: SpokenDate): string => {
  const [year = "", month = ""] = from.split("-")
  switch (precision) {
    case "day":
      return dateText(from)
    case "weekend":
    case "week":
      return `the ${precision} of ${dateText(from)}`
    case "month":
      return `${monthNames[Number(month) - 1]} ${year}`
    case "season":
      return `${text.split(" ").at(-1)!.toLowerCase()} ${year}`
    case "year":
      return year
  }
}

/** "Tomorrow", "next week", "in two days": not yet when it was said. */
export const isAhead = ({ from }: ResolvedDate, saidOn: string | undefined): boolean =>
  from > (speakersDay(saidOn) ?? from)

/** The text with every relative date resolved behind it. */
export const withResolvedDates = (text: string, saidOn: string | undefined): string => {
  let read = 0
  const parts = resolvedDates(text, saidOn).flatMap(({ text: words, index, resolved }) => {
    const end = index + words.length
    const before = text.slice(read, end)
    read = end
    return [before, ` [= ${resolved}]`]
  })
  return [...parts, text.slice(read)].join("")
}

/** The only relative date of a text that has no other date, resolved; undefined where the text leaves a choice. */
export const onlyResolvedDate = (text: string, saidOn: string | undefined): string | undefined => {
  const spoken = resolvedDates(text, saidOn)
  return spoken.length === 1 && !hasWrittenDate(text) ? spoken[0]!.resolved : undefined
}

/** The days that each written date may mean; one without a year is of the year in which it was said. */
export const daysWritten = (text: string, saidOn: string | undefined): ReadonlyArray<ReadonlyArray<string>> => {
  const year = speakersDay(saidOn)?.slice(0, "2024".length) ?? ""
  return datesInText(text, Number(year)).dates.map((days) =>
    days.length > 1 ? days.filter((day) => day.startsWith(year)) : days
  )
}

/** "7 May", "2023-05-07", "in 2023": dates that stand by themselves. */
export const hasWrittenDate = (text: string): boolean => datesInText(text, anyYear).dates.length > 0

const anyYear = 2000

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
