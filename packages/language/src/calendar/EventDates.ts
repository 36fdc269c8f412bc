/**
 * Dates in a sentence, against the day of the conversation: what counts from it is resolved by `SpokenDates`,
 * written dates and clock times are read by chrono-node. A date is given only when the text fixes the day: `next month` and
 * `last summer` name a time, `12/05/2026` is one of two days and hence none. Times are given only when the text states them.
 */
import { type SpokenDate, spokenDates } from "./SpokenDates.ts"
import { oneOf, phrases } from "../text/OneOf.ts"
import { casual, type ParsedResult } from "chrono-node/en"
import { monthNames, WEEKDAY } from "./CalendarWords.ts"

/** A date that a sentence names. */
export interface EventDate {
  /** As written, and where. */
  readonly text: string
  readonly index: number
  /** ISO 8601 date, or date and time (UTC) when a time was written; undefined when the day is open. */
  readonly start: string | undefined
  readonly end: string | undefined
  /** Words for a sentence that stands alone: `on 2026-11-19`, `in December 2026`. */
  readonly absolute: string
}

/** `ahead`: what was booked or signed up for in the past tense, and lies before the speaker. */
export type DateSide = "past" | "future" | "ahead"

/** `anchor` is the day spoken of before, for `on the 14th`. */
export const eventDates = (
  text: string,
  conversationDate: string,
  side: DateSide,
  anchor?: string
): ReadonlyArray<EventDate> => {
  if (!hints.test(text) || fromAnother.some((form) => form.test(text))) return []
  // `On the 14th` is in the month spoken of before, if that is still to come.
  const counted = anchor !== undefined && anchor > conversationDate ? anchor.slice(0, 10) : conversationDate
  const spoken = [
    ...spokenDates(text, conversationDate, side === "past" ? "past" : "future").filter((date) => !isOrdinal(date)),
    ...spokenDates(text, counted, side === "past" ? "past" : "future").filter(isOrdinal)
  ].filter(({ index, text: words }) => !isNoDate(words, text.slice(Math.max(0, index - 40), index)))
  const found = [
    ...spoken.flatMap((date) => openDate(date, side) ?? []),
    ...writtenDates(
      text,
      spoken.filter((date) => openDate(date, side) === undefined),
      conversationDate,
      side
    ),
    ...seasons(text)
  ]
  const sorted = found.sort((one, other) => one.index - other.index)
  return sorted.filter(({ index }, at) => at === 0 || index >= endOf(sorted[at - 1])).slice(0, DATES_MAX)
}

/** Dates of one sentence that are read. */
const DATES_MAX = 8

/** Counted from another event than the message: `a week later`, `the Saturday before the wedding`. */
const fromAnother: ReadonlyArray<RegExp> = [
  /\b(?!the|that)\w+ (?:day|week|month|year)s? (?:later|earlier|after|before|prior|from (?:then|that|the|my|our))\b/i,
  /\bthe (?:\w+day|weekend|week|month|year|day) (?:after|before|following)\b(?! (?:next|last|tomorrow|yesterday)\b)/i,
  /\b(?:the|that) following \w+|\blater that \w+/i
]

/** Alternatives of a cheap reason to look at all. */
export const dateHints = phrases(String.raw`
  \d / \bto(?:day|night|morrow) / \byesterday / \blast / \bnext / \bthis / \bcoming / \bago
  \bin (?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|twelve) / \bcouple / \bmon / \btue / \bwed / \bthu
  \bfri / \bsat / \bsun / \bweekend / \bjan / \bfeb / \bmar / \bapr / \bmay / \bjun / \bjul / \baug / \bsep / \boct
  \bnov / \bdec / \bchristmas / \bhalloween / \bvalentine / \bnew year / \bspring / \bsummer / \bautumn / \bfall
  \bwinter
`)

/** chrono reads a sentence in about 0.3 ms. */
const hints = oneOf(dateHints, { flags: "i" })

const endOf = (date: EventDate | undefined): number => (date === undefined ? 0 : date.index + date.text.length)

const dayMillis = 86_400_000

const isOrdinal = ({ text }: SpokenDate): boolean => /\d(?:st|nd|rd|th)$/i.test(text)

const weekdayAlone = new RegExp(`^(?:on |by )?${WEEKDAY}$`, "i")

/** A spoken date that fixes no single day; undefined: it does. */
const openDate = ({ from, index, precision, text, to }: SpokenDate, side: DateSide): EventDate | undefined => {
  const open = { text, index, start: undefined, end: undefined }
  // What was signed up for "on Friday" is on that day, or was signed up for on it.
  if (side === "ahead" && weekdayAlone.test(text)) return { ...open, absolute: text }
  if (precision === "weekend") return { ...open, start: from, end: to, absolute: `on the weekend of ${from}` }
  const [year = "", month = ""] = from.split("-")
  if (precision === "day" || (precision === "week" && /\bago$|^in\b|^\S+ \S+ from\b/i.test(text))) return undefined
  if (precision === "week") return { ...open, absolute: `in the week of ${from}` }
  if (precision === "month") return { ...open, absolute: `in ${monthNames[Number(month) - 1]} ${year}` }
  return { ...open, absolute: precision === "season" ? text : `in ${year}` }
}

/** The text with its spoken days written out, so that a clock time or the end of a range beside them is read with them. */
const writtenOut = (text: string, spoken: ReadonlyArray<SpokenDate>) => {
  const pieces: Array<{ readonly at: number; readonly end: number; readonly from: number; readonly to: number }> = []
  let source = ""
  let read = 0
  for (const { day, index, text: words } of spoken.toSorted((one, other) => one.index - other.index)) {
    source += text.slice(read, index)
    read = index + words.length
    pieces.push({ at: source.length, end: source.length + day.length, from: index, to: read })
    source += day
  }
  source += text.slice(read)
  /** Place in the text of a place in the source. */
  const placeOf = (place: number, isEnd: boolean): number => {
    const before = pieces.findLast(({ at }) => at < place || (at === place && !isEnd))
    if (before === undefined) return place
    return place < before.end || (place === before.end && isEnd)
      ? isEnd
        ? before.to
        : before.from
      : place - before.end + before.to
  }
  return { source, placeOf }
}

const writtenDates = (
  text: string,
  spoken: ReadonlyArray<SpokenDate>,
  conversationDate: string,
  side: DateSide
): Array<EventDate> => {
  const reference = new Date(`${conversationDate}T12:00:00Z`)
  const { placeOf, source: exact } = writtenOut(text, spoken)
  const source = withRanges(withHolidays(exact))
  const results = casual.parse(source, { instant: reference, timezone: 0 }, { forwardDate: side !== "past" })
  return results.flatMap((found) => {
    const start = placeOf(found.index, false)
    const end = placeOf(found.index + found.text.length, true)
    const before = text.slice(Math.max(0, start - 40), start)
    if (/^\s?(?:m|cm|km|kg|kilos|l|miles|ft|tall|%)\b/i.test(text.slice(end))) return []
    if (isNoDate(found.text, before) || !isWritten(found.start)) return []
    const padding = source === exact ? "" : (/^\s*/.exec(source.slice(found.index + found.text.length))?.[0] ?? "")
    const lead = /\b(?:on|by|from|in|this|at)\s+(?:the\s+)?$/i.exec(before)?.[0] ?? ""
    const written = text.slice(start, placeOf(found.index + found.text.length + padding.length, true)).trimEnd()
    return [dated({ found, index: start - lead.length, side, text: `${lead}${written}`, reference })]
  })
}

interface Found {
  readonly found: ParsedResult
  readonly index: number
  readonly text: string
  readonly side: DateSide
  readonly reference: Date
}

const dated = ({ found, index, reference, side, text }: Found): EventDate => {
  const shift = shiftMillis(found, side, reference)
  const startDate = new Date(found.start.date().getTime() + shift)
  const whole = { text, index, start: undefined, end: undefined }
  if (isDoubtful(found, startDate, side, reference)) return { ...whole, absolute: text }
  if (!fixesDay(found)) return { ...whole, absolute: openDay(found, startDate, text) }
  const start = isoOf(found, found.start, startDate)
  const last = found.end ?? undefined
  const end = last === undefined ? undefined : isoOf(found, last, new Date(last.date().getTime() + shift))
  const range = end === undefined || end === start ? undefined : end
  return { ...whole, start, end: range, absolute: range === undefined ? `on ${start}` : `from ${start} to ${range}` }
}

/** What chrono takes for the nearest day may lie on the wrong side of the conversation. */
const shiftMillis = ({ start }: ParsedResult, side: DateSide, reference: Date): number => {
  const isAhead = start.date().getTime() > reference.getTime() + dayMillis / 2
  if (side !== "past" || !isAhead) return 0
  if (!start.isCertain("month") || start.isCertain("year")) return 0
  const earlier = new Date(start.date())
  earlier.setUTCFullYear(earlier.getUTCFullYear() - 1)
  return earlier.getTime() - start.date().getTime()
}

const halfYear = 183 * dayMillis

/**
 * A day without a year whose verb points the other way: the past tense of a day that lies ahead in the year, unless it was
 * within the last half year; and what was signed up for on a day just past.
 */
const isDoubtful = ({ start }: ParsedResult, date: Date, side: DateSide, reference: Date): boolean => {
  const distance = date.getTime() - reference.getTime()
  if (!start.isCertain("month") || !start.isCertain("day") || start.isCertain("year")) return false
  const most = side === "ahead" ? 1.6 * halfYear : 1.8 * halfYear
  return distance > most || (side === "past" && distance < -halfYear) || (side === "ahead" && distance < 0)
}

const fixesDay = ({ start, text }: ParsedResult): boolean => {
  if (/^(?:\d{1,2})[/.-](?:\d{1,2})(?:[/.-]\d+)?$/.test(text.trim())) {
    const [one = 0, other = 0] = text.split(/[/.-]/).map(Number)
    return one > 12 || other > 12 || one === other
  }
  return start.isCertain("day")
}

/** The narrowest true statement about a date whose day is open. */
const openDay = ({ start, text: words }: ParsedResult, date: Date, text: string): string => {
  if (/^\d{1,2}[/.-]\d/.test(words)) return text
  const year = date.getUTCFullYear()
  if (start.isCertain("month")) return `in ${monthNames[date.getUTCMonth()]} ${year}`
  return start.isCertain("year") ? `in ${year}` : text
}

/** `at 7` may be morning or evening: no time. */
const isoOf = ({ text }: ParsedResult, parts: ParsedResult["start"], date: Date): string =>
  parts.isCertain("hour") && /\d:\d\d|\d ?[ap]\.?m\b|noon|midnight/i.test(text)
    ? `${date.toISOString().slice(0, 19)}Z`
    : dayOf(date)

const dayOf = (date: Date): string => date.toISOString().slice(0, 10)

/** `at 6am` has no day, hence no date; a weekday alone is spoken. */
const isWritten = (start: ParsedResult["start"]): boolean =>
  (["year", "month", "day"] as const).some((part) => start.isCertain(part))

/** chrono reads `7 - 9 July`, not `from 7 to 9 July`; the lengths agree. */
const withRanges = (text: string): string =>
  text
    .replace(/\b(?:from|between) (?=\d|[A-Z][a-z]+ \d)/g, (lead) => " ".repeat(lead.length))
    .replace(
      /(\d(?:st|nd|rd|th)?|\d [A-Z][a-z]+) (?:to|until|till|through) (?=\d|[A-Z][a-z]{2,8} \d)/g,
      (range, first: string) => `${first} -`.padEnd(range.length)
    )

/** Durations (`for ten years`), repetitions (`every Monday`), beginnings (`since May`), and `may` or `sun` as words. */
const isNoDate = (text: string, before: string): boolean =>
  /^(?:for|sun|sat|wed|mar|now|right now|may|march|second|this|the)$/i.test(text) && !/^(?:May|March)$/.test(text)
    ? true
    : /^(?:the )?day after$/i.test(text) ||
      /\b(?:a few|several|some|a couple(?: of)?) (?:years?|months?|weeks?|days?)\b/i.test(text) ||
      /^(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|several|a few|\w+teen|\w+ty) (?:years?|months?|weeks?|days?|hours?|minutes?)$/i.test(
        text
      ) ||
      /^for\b|\b(?:days?|nights?|hours?|times?|weeks?|months?) (?:an?|per|each|every) (?:day|week|fortnight|month|year)\b/i.test(
        text
      ) ||
      (/\b(?:every|each|since|until|till|for|most|ages?|aged)\s+(?:the\s+)?$/i.test(before) &&
        !/\b(?:booked|eduled|set|planned|arranged|down|flights? to \p{L}+|tickets? to \p{L}+|(?:tickets?|table|room|flights?)\b[^,.]{0,30}) for (?:the )?$/iu.test(
          before
        ))

const holidays: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bchristmas eve\b/i, "Dec 24"],
  [/\bchristmas(?: day)?\b/i, "Dec 25"],
  [/\bnew year's eve\b/i, "Dec 31"],
  [/\bnew year's day\b/i, "Jan 1"],
  [/\bvalentine's day\b/i, "Feb 14"],
  [/\bhalloween\b/i, "Oct 31"]
]

/** The same text with feasts as dates; padded, so that positions stay. */
const withHolidays = (text: string): string =>
  holidays.reduce((result, [pattern, date]) => result.replace(pattern, (name) => date.padEnd(name.length)), text)

const seasons = (text: string): Array<EventDate> =>
  [...text.matchAll(/\bin (?:the )?(?:(?:late |early )?(?:spring|summer|autumn|fall|winter)|(?:19|20)\d\d)\b/gi)].map(
    (match) => ({ text: match[0], index: match.index, start: undefined, end: undefined, absolute: match[0] })
  )
