/**
 * Times that a question names, as ranges: "last week", "yesterday", "before June", "in 2023", "last summer",
 * "3 May 2023", "12.5.2024" (day first). Days are those of the caller's time zone. What counts from today is resolved by
 * `SpokenDates`, as in the messages themselves; written dates are read by chrono-node, periods by the rows below.
 *
 * What is open stays open: a bare number, a lone "may", "sun" or "mon", and 11/22/63 are no dates. A date without a
 * year is the latest one that is not ahead of `nowMillis`: messages are about what was said. Seasons are those of the
 * northern hemisphere.
 */
import { DateTime } from "effect"
import { Chrono, type ParsedComponents, type ParsedResult } from "chrono-node"
import { casual } from "chrono-node/en"
import { dayMillis, dayOf } from "@muniment/domain/CalendarDay"
import { monthForms, monthIndex, monthNames, WEEKDAY } from "./CalendarWords.ts"
import { counted, numberOf, seasonStarts, type SpokenDate, spokenDates } from "./SpokenDates.ts"

/** Milliseconds since the epoch, `to` exclusive; infinite where the question leaves a side open. */
export interface TimeRange {
  readonly from: number
  readonly to: number
}

/** The caller's clock. */
export interface AskedAt {
  readonly nowMillis: number
  /** IANA name that the runtime knows; default UTC. */
  readonly timeZone?: string | undefined
}

export const RANGES_MAX = 4
/** Longest part of a question that is read for dates. chrono takes 1 ms for it at worst. */
export const DATED_TEXT_LENGTH_MAX = 400

/** In the order of the question, at most `RANGES_MAX`. A range ends late: what happened in it is told a little later. */
export const questionDates = (question: string, { nowMillis, timeZone }: AskedAt): ReadonlyArray<TimeRange> => {
  const text = question.slice(0, DATED_TEXT_LENGTH_MAX)
  if (!hints.test(text) && !writtenHints.test(text)) return []
  const zone = timeZone === undefined ? utc : DateTime.zoneMakeNamedUnsafe(timeZone)
  const today = startOfDay(wallTime(nowMillis, zone))
  const spans = bounded(text, spansOf(text, today))
  return spans.slice(0, RANGES_MAX).map(({ from, slackDays, to }) => ({
    from: instantOf(from, zone),
    to: instantOf(to + slackDays * dayMillis, zone)
  }))
}

/** An offset is added; a named zone asks the runtime's calendar for each time. */
const utc = DateTime.zoneMakeOffset(0)

/** In the caller's calendar: wall time written as if it were UTC. */
interface Period extends TimeRange {
  readonly slackDays: number
}

/** A period, and where the question names it. */
interface Span extends Period {
  readonly index: number
  readonly length: number
}

const spansOf = (text: string, today: number): ReadonlyArray<Span> => {
  const spans: Array<Span> = []
  // "January the 4th" is "January 4th" at the same places.
  let rest = text.replace(monthAndThe, (match) => match.replace(/the/i, "   "))
  for (const [pattern, read] of periods) {
    rest = rest.replace(pattern, (match: string, ...groups: Array<string | number | undefined>) => {
      const index = Number(groups.find((group) => typeof group === "number"))
      const period = read(groups.filter((group) => typeof group !== "number").map(String), today)
      if (period !== undefined) spans.push({ index, length: match.length, ...period })
      return period === undefined ? match : " ".repeat(match.length)
    })
  }
  const side = /\b(?:next|this|coming|will|going to)\b/i.test(text) ? "future" : "past"
  for (const date of spokenDates(rest, dayOf(today), side)) {
    spans.push({ index: date.index, length: date.text.length, ...spokenPeriod(date) })
    rest = rest.slice(0, date.index) + " ".repeat(date.text.length) + rest.slice(date.index + date.text.length)
  }
  return [...spans, ...writtenDates(rest, today)].sort((left, right) => left.index - right.index)
}

const spokenPeriod = ({ day, from, precision, text, to }: SpokenDate): Period => {
  const days = looseDays[precision]
  if (days !== undefined && / ago$/i.test(text)) return around(Date.parse(day), days)
  const slackDays = ["day", "week", "weekend"].includes(precision) ? DAY_SLACK_DAYS : LONG_SLACK_DAYS
  return { from: Date.parse(from), to: Date.parse(to) + dayMillis, slackDays }
}

/** "Two weeks ago" is said loosely: half a unit on either side. */
const looseDays: Readonly<Record<string, number | undefined>> = { week: 3, month: 15, year: 180 }

const around = (there: number, days: number): Period => ({
  from: there - days * dayMillis,
  to: there + (days + 1) * dayMillis,
  slackDays: DAY_SLACK_DAYS
})

const year = "((?:19|20)\\d\\d)(?![\\d/:-])(?![.,]\\d)"
const numbers = "a|an|one|two|three|four|five|six|seven|eight|nine|ten|twelve|(?:a )?few|a couple of|several|\\d{1,3}"
const units = "days?|weeks?|months?|years?"
/** A year must be announced: "in 2023", "the summer of 2023"; 2023 alone may count anything. */
const yearLead =
  "(?<=\\b(?:in|during|since|before|after|until|till|by|of|from|to|through|throughout|early|late|mid)[ -](?:the year )?)"
const seasonLead = "(?<=\\b(?:in|during|over|since|before|after|until|by|this|next)(?: the)? )"
const seasons = `(${Object.keys(seasonStarts).join("|")})`

const month = `(${monthNames.map((name) => name.slice(0, 3)).join("|")})[a-z]*`
/** Cheap reasons to look at all: names of times, and units of what is counted ("in two weeks"); and for written dates. */
const hints = new RegExp(
  `\\b(?:to(?:day|night|morrow)|yesterday|recent(?:ly)?|lately|noon|(?:${units}|fortnights?|\\w+days?|(?:weekend|night|morning|afternoon|evening)s?)|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun|${seasons}|christmas|halloween|valentine)\\b`,
  "i"
)
const writtenHints = new RegExp(`\\d|\\b(?:${monthForms.join("|")}|sept)\\b`, "i")
const monthAndThe = new RegExp(`\\b${month} the (?=\\d)`, "gi")
/** First month and day, and how many days, of what has a name. */
const feasts: ReadonlyArray<readonly [pattern: string, month: number, day: number, days: number]> = [
  ["new year['\u2019]?s eve", 12, 31, 1],
  ["new year['\u2019]?s(?: day)?", 1, 1, 1],
  ["valentine['\u2019]?s(?: day)?", 2, 14, 1],
  ["halloween", 10, 31, 1],
  ["christmas eve", 12, 24, 1],
  ["boxing day", 12, 26, 1],
  ["christmas(?: day)?", 12, 25, 2]
]

const row = (pattern: string, read: (groups: ReadonlyArray<string>, today: number) => Period | undefined) =>
  [new RegExp(pattern, "gi"), read] as const

const periods = [
  row("\\b(\\d{1,2})\\.(\\d{1,2})\\.(\\d{4})\\b", ([day, month, of]) =>
    calendarDay(Number(of), Number(month), Number(day))
  ),
  row(
    `\\b(first|second|third|fourth|last) (day|week|weekend|half|quarter) of (?:the year )?(?:${month} ?)?(?:${year})?`,
    ([which = "", unit = "", named = "", of = ""], today) => partOf(which, unit, withinOf(named, of, today))
  ),
  ...feasts.map(([pattern, first, day, days]) =>
    row(`\\b${pattern}(?:,? (?:of |in )?${year})?(?![a-z])`, ([of = ""], today) => feastOf(first, day, days, of, today))
  ),
  row(`\\b${seasons} (?:of )?${year}`, ([season = "", of], today) => seasonOf(season, Number(of), today)),
  row(`${seasonLead}${seasons}\\b`, ([season = ""], today) => seasonOf(season, undefined, today)),
  row(`${yearLead}${year}(?: (?:and|or|to|until) ${year})?`, ([from, to]) => {
    const last = to === "undefined" ? from : to
    return { from: Date.UTC(Number(from), 0), to: Date.UTC(Number(last) + 1, 0), slackDays: LONG_SLACK_DAYS }
  }),
  row(`\\b(few|a few|a couple of|several) (${units}) ago\\b`, ([count = "", unit = ""], today) =>
    around(
      shifted(today, -countOf(count), unit),
      looseDays[unit.toLowerCase().replace(/s$/, "")] ?? (countOf(count) > 3 ? 2 : 0)
    )
  ),
  row(`\\b(?:last|past|previous|recent) (${numbers}) (${units})\\b`, ([count = "", unit = ""], today) =>
    upToNow(shifted(today, -countOf(count), unit), today)
  ),
  row("(?<=\\bthe )(?:last|past) (week|month|year)\\b(?! of )", ([unit = ""], today) =>
    upToNow(shifted(today, -1, unit), today)
  ),
  row("\\b(?:recently|lately|these days)\\b", (_, today) => upToNow(today - RECENT_DAYS * dayMillis, today))
]

const upToNow = (from: number, today: number): Period => ({ from, to: today + dayMillis, slackDays: 0 })

const DAY_SLACK_DAYS = 1
const LONG_SLACK_DAYS = 3
const RECENT_DAYS = 30

const countOf = (words: string): number => {
  const said = words.toLowerCase()
  return /few|several/.test(said) ? 5 : /couple/.test(said) ? 2 : numberOf(said)
}

const shifted = (from: number, count: number, unit: string): number => {
  const there = counted(count, unit.toLowerCase(), from / dayMillis)
  return (there.day ?? there.from) * dayMillis
}

/** Of a period that has no year the latest that has begun. */
const latest = (read: (ofYear: number) => Period, today: number): Period => {
  const thisYear = new Date(today).getUTCFullYear()
  const current = read(thisYear)
  return current.from <= today ? current : read(thisYear - 1)
}

const monthOf = (ofYear: number, month: number): Period => ({
  from: Date.UTC(ofYear, month),
  to: Date.UTC(ofYear, month + 1),
  slackDays: LONG_SLACK_DAYS
})

const calendarDay = (ofYear: number, month: number, day: number): Period | undefined => {
  const from = Date.UTC(ofYear, month - 1, day)
  const date = new Date(from)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined
  return { from, to: from + dayMillis, slackDays: DAY_SLACK_DAYS }
}

/** The month or the year that a part is of; undefined if neither is named. */
const withinOf = (named: string, of: string, today: number): Period | undefined => {
  const at = monthIndex(named)
  if (at < 0) return /^\d/.test(of) ? { ...monthOf(Number(of), 0), to: Date.UTC(Number(of) + 1, 0) } : undefined
  return /^\d/.test(of) ? monthOf(Number(of), at) : latest((atYear) => monthOf(atYear, at), today)
}

/** "The last week of May", counted from its ends; a weekend from its Saturday. */
const partOf = (which: string, unit: string, within: Period | undefined): Period | undefined => {
  if (within === undefined) return undefined
  const place = ["first", "second", "third", "fourth"].indexOf(which.toLowerCase())
  const { from, to } = within
  const saturday = from + ((13 - new Date(from).getUTCDay()) % 7) * dayMillis
  const lastSaturday = to - (new Date(to).getUTCDay() + 1) * dayMillis
  const part = (start: number, length: number): Period => ({
    from: start,
    to: start + length,
    slackDays: DAY_SLACK_DAYS
  })
  const days = { day: 1, week: 7 }[unit.toLowerCase()]
  if (/^weekend$/i.test(unit)) return part(place < 0 ? lastSaturday : saturday + place * 7 * dayMillis, 2 * dayMillis)
  const length = days === undefined ? (to - from) / (/^half$/i.test(unit) ? 2 : 4) : days * dayMillis
  return part(place < 0 ? to - length : from + place * length, length)
}

const feastOf = (first: number, day: number, days: number, of: string, today: number): Period => {
  const feast = (atYear: number): Period => {
    const from = Date.UTC(atYear, first - 1, day)
    return { from, to: from + days * dayMillis, slackDays: DAY_SLACK_DAYS }
  }
  return /^\d/.test(of) ? feast(Number(of)) : latest(feast, today)
}

/** Three months; a winter has the year of its December. */
const seasonOf = (name: string, ofYear: number | undefined, today: number): Period => {
  const start = seasonStarts[name.toLowerCase()] ?? 0
  const season = (first: number): Period => ({ ...monthOf(first, start), to: Date.UTC(first, start + 3) })
  return ofYear === undefined ? latest(season, today) : season(ofYear)
}

/**
 * chrono without its parsers of times and durations: those compile regular expressions for 0.4 s at their first use.
 * Its version is pinned, and a test reads a date by each parser.
 */
const dateParsers = new Set([
  "ENYearMonthDayParser",
  "ISOFormatParser",
  "SlashDateFormatParser",
  "ENMonthNameLittleEndianParser",
  "ENMonthNameMiddleEndianParser",
  "ENMonthNameParser"
])
const dates = new Chrono({
  parsers: casual.parsers.filter((parser) => dateParsers.has(parser.constructor.name)),
  refiners: casual.refiners
})

const writtenDates = (text: string, today: number): ReadonlyArray<Span> => {
  if (!writtenHints.test(text)) return []
  const reference = { instant: new Date(today + dayMillis / 2), timezone: 0 }
  const results = dates.parse(text, reference)
  return results.flatMap((found, at): ReadonlyArray<Span> => {
    const next = results[at + 1]
    const end = found.index + found.text.length
    // "June and July 2023" names one year for both.
    const isShared = next !== undefined && /^ (?:and|or|to|until|till) $/i.test(text.slice(end, next.index))
    const sharedYear = isShared && next.start.isCertain("year") ? (next.start.get("year") ?? undefined) : undefined
    const period = isNoDate(found, text) ? undefined : periodOf(found, text, today, sharedYear)
    return period === undefined ? [] : [{ index: found.index, length: found.text.length, ...period }]
  })
}

/** Words that are dates beside a preposition or a number only. */
const ambiguous = /^(?:may|march|mar|now|second)$/i
const announced =
  /\b(?:in|on|of|by|since|before|after|until|till|during|last|this|next|from|to|through|and|early|late|mid|every)[ -]$/i

const isNoDate = ({ index, start, text: found }: ParsedResult, text: string): boolean => {
  const before = text.slice(0, index)
  if (/^\d{1,2}[/.-]\d{1,2}(?:[/.-]\d{1,2})?$/.test(found)) return true
  if (/\b(?:every|each)\s*$/i.test(before)) return true
  if (ambiguous.test(found) && !announced.test(before)) return true
  return !(["year", "month", "day"] as const).some((part) => start.isCertain(part))
}

const periodOf = (
  { end, start, text }: ParsedResult,
  whole: string,
  today: number,
  sharedYear: number | undefined
): Period | undefined => {
  const [one = 0, other = 0] = text.split("/").map(Number)
  // 5/6/2023 is one of two days.
  if (/^\d+\/\d+\/\d{4}$/.test(text) && one <= 12 && other <= 12 && one !== other) return undefined
  const first = dateOf(start, whole, today, sharedYear)
  return end === undefined || end === null ? first : { ...first, to: dateOf(end, whole, today, sharedYear).to }
}

const dateOf = (parts: ParsedComponents, whole: string, today: number, sharedYear: number | undefined): Period => {
  const ofYear = parts.get("year") ?? 0
  const month = parts.get("month") ?? 1
  const day = parts.isCertain("day") ? (parts.get("day") ?? undefined) : undefined
  const read = (atYear: number): Period =>
    (day === undefined ? undefined : calendarDay(atYear, month, day)) ?? monthOf(atYear, month - 1)
  if (parts.isCertain("year")) return read(ofYear)
  if (sharedYear !== undefined) return read(sharedYear)
  const found = read(ofYear)
  return found.from <= today || /\b(?:next|this|coming|will|going to)\b/i.test(whole) ? found : read(ofYear - 1)
}

/** Opens a side for "before" and "since", gives "the week before" its week, joins "between ... and ...". */
const bounded = (text: string, spans: ReadonlyArray<Span>): ReadonlyArray<Span> => {
  const found: Array<Span> = []
  for (const span of spans) {
    const first = found.at(-1)
    const end = span.index + span.length
    if (first !== undefined && isJoined(text, first, span))
      found[found.length - 1] = { ...first, length: end - first.index, to: span.to, slackDays: span.slackDays }
    else found.push(oriented(span, text.slice(0, span.index)))
  }
  return found
}

const isJoined = (text: string, first: Span, second: Span): boolean =>
  /\b(?:between|from) $/i.test(text.slice(0, first.index)) &&
  /^ (?:and|to|until|till) $/i.test(text.slice(first.index + first.length, second.index))

const besideDay = new RegExp(`\\b(?:days?|week|weekend|${WEEKDAY}) (?:before|after|prior to) $`, "i")

const oriented = (span: Span, before: string): Span => {
  const side = /\b(before|until|till|by|prior to|after|since)(?: the)? $/i.exec(before)?.[1]?.toLowerCase()
  const isNear = besideDay.test(before)
  switch (side) {
    case undefined:
      return span
    case "since":
      return { ...span, to: Number.POSITIVE_INFINITY }
    case "after":
      return { ...span, from: span.to, to: isNear ? span.to + 7 * dayMillis : Number.POSITIVE_INFINITY }
    case "by":
      return { ...span, from: Number.NEGATIVE_INFINITY }
    default: {
      const from = isNear ? span.from - 7 * dayMillis : Number.NEGATIVE_INFINITY
      return { ...span, from, to: span.from, slackDays: isNear ? DAY_SLACK_DAYS : 0 }
    }
  }
}

const startOfDay = (millis: number): number => Math.floor(millis / dayMillis) * dayMillis

/** The local time as if it were UTC. */
const wallTime = (instantMillis: number, zone: DateTime.TimeZone): number =>
  instantMillis + DateTime.zonedOffset(DateTime.makeZonedUnsafe(instantMillis, { timeZone: zone }))

const instantOf = (wallMillis: number, zone: DateTime.TimeZone): number =>
  Number.isFinite(wallMillis)
    ? DateTime.toEpochMillis(DateTime.makeZonedUnsafe(wallMillis, { timeZone: zone, adjustForTimeZone: true }))
    : wallMillis
