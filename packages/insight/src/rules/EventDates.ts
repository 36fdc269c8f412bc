/**
 * Dates in a sentence, resolved against the day of the conversation (chrono-node). A date is given only
 * when the text fixes the day: `next month` and `last summer` stay words, `12/05/2026` is one of two
 * days and hence none. Times are given only when the text states them.
 */
import { dateHints } from "./lexicon/speech.ts"
import type { EventDate } from "./EventDate.ts"
import { datesFromAnother } from "./DatesFromAnother.ts"
import { oneOf } from "../text/OneOf.ts"
import { casual, type ParsedResult } from "chrono-node/en"
import { monthNames } from "../calendar/CalendarWords.ts"
import { rulesLimits } from "./RulesProtocol.ts"

/** `ahead`: what was booked or signed up for in the past tense, and lies before the speaker. */
export type DateSide = "past" | "future" | "ahead"

/** `anchor` is the day spoken of before, for `on the 14th`; `near` the same day if this message named it. */
export const eventDates = (
  text: string,
  conversationDate: string,
  side: DateSide,
  anchor?: string,
  near?: string
): ReadonlyArray<EventDate> => {
  const hanging = datesFromAnother(text, anchor, near)
  if (hanging.length > 0) return hanging
  if (!hints.test(text)) return []
  const found = [
    // Before the weekday that chrono finds at the same place: `Thursday the 25th`.
    ...bareDays(text, anchor !== undefined && anchor > conversationDate ? anchor : conversationDate, side),
    ...spokenDates(text, conversationDate, side),
    ...seasons(text),
    ...daysBeside(text, anchor)
  ]
  const sorted = found.sort((one, other) => one.index - other.index)
  return sorted
    .filter(({ index }, at) => at === 0 || index >= endOf(sorted[at - 1]))
    .slice(0, rulesLimits.datesPerSentenceMax)
}

/** Cheap reason to look at all; chrono reads a sentence in about 0.3 ms. */
const hints = oneOf(dateHints, { flags: "i" })

const endOf = (date: EventDate | undefined): number => (date === undefined ? 0 : date.index + date.text.length)

const dayMillis = 86_400_000

const spokenDates = (text: string, conversationDate: string, side: DateSide): Array<EventDate> => {
  const reference = new Date(`${conversationDate}T12:00:00Z`)
  const source = withRanges(withHolidays(text))
  // `last Tuesday` would be turned forward too: its own word settles the side.
  const forwardDate = side !== "past" && !/\b(?:last|past|ago|yesterday)\b/i.test(source)
  return casual.parse(source, { instant: reference, timezone: 0 }, { forwardDate }).flatMap((found) => {
    const before = text.slice(Math.max(0, found.index - 40), found.index)
    if (/^\s?(?:m|cm|km|kg|kilos|l|miles|ft|tall|%)\b/i.test(text.slice(found.index + found.text.length))) return []
    const behind = text.slice(found.index + found.text.length)
    if (isNoDate(found.text, before) || isTimeOnly(found.start) || isHabit(found.text, before, behind)) return []
    const padding = source === text ? "" : (/^\s*/.exec(source.slice(found.index + found.text.length))?.[0] ?? "")
    const written = text.slice(found.index, found.index + found.text.length + padding.length).trimEnd()
    const lead = /(?:\ba week (?:(?:on|from) )?|\b(?:on|by|from|in|this|at)\s+(?:the\s+)?)$/i.exec(before)?.[0] ?? ""
    const index = found.index - lead.length
    return [dated({ found, index, side, text: `${lead}${written}`, reference })]
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
  // `a week on Saturday` is the Saturday after.
  const later = /^a week (?:on|from) /i.test(text) ? 7 * dayMillis : 0
  const shift = shiftMillis(found, side, reference) + later
  const startDate = new Date(found.start.date().getTime() + shift)
  const whole = { text, index, start: undefined, end: undefined }
  if (isDoubtful(found, startDate, side, reference)) return { ...whole, absolute: text }
  if (!fixesDay(found)) return { ...whole, absolute: openDay(found, startDate, text) }
  const start = isoOf(found, found.start, startDate)
  if (/\bweekend\b/i.test(found.text)) {
    // chrono takes the day nearest to the conversation, which may be the Sunday.
    if (startDate.getUTCDay() === 0) startDate.setTime(startDate.getTime() - dayMillis)
    const start = dayOf(startDate)
    const end = dayOf(new Date(startDate.getTime() + dayMillis))
    return { ...whole, start, end, absolute: `on the weekend of ${start}` }
  }
  const last = found.end ?? undefined
  const end = last === undefined ? undefined : isoOf(found, last, new Date(last.date().getTime() + shift))
  const range = end === undefined || end === start ? undefined : end
  return { ...whole, start, end: range, absolute: range === undefined ? `on ${start}` : `from ${start} to ${range}` }
}

/** What chrono takes for the nearest day may lie on the wrong side of the conversation. */
const shiftMillis = ({ start, text }: ParsedResult, side: DateSide, reference: Date): number => {
  const isAhead = start.date().getTime() > reference.getTime() + dayMillis / 2
  if (side !== "past" || !isAhead || /\b(?:next|tomorrow|in)\b/i.test(text)) return 0
  if (start.isCertain("weekday") && !start.isCertain("day")) return -7 * dayMillis
  if (!start.isCertain("month") || start.isCertain("year")) return 0
  const earlier = new Date(start.date())
  earlier.setUTCFullYear(earlier.getUTCFullYear() - 1)
  return earlier.getTime() - start.date().getTime()
}

const halfYear = 183 * dayMillis

/**
 * A day without a year whose verb points the other way: the past tense of a day that lies ahead in the year, unless it was
 * within the last half year; and what was signed up for on a day just past, or on a weekday, which may be that of signing.
 */
const isDoubtful = ({ start, text }: ParsedResult, date: Date, side: DateSide, reference: Date): boolean => {
  const distance = date.getTime() - reference.getTime()
  if (/\b(?:ago|in|yesterday|today|tonight|tomorrow|before|after)\b/i.test(text)) return false
  if (start.isCertain("month") && start.isCertain("day") && !start.isCertain("year")) {
    const most = side === "ahead" ? 1.6 * halfYear : 1.8 * halfYear
    return distance > most || (side === "past" && distance < -halfYear) || (side === "ahead" && distance < 0)
  }
  return side === "ahead" && start.isCertain("weekday") && !/\b(?:last|past|next|this|coming)\b/i.test(text)
}

const fixesDay = ({ start, text }: ParsedResult): boolean => {
  if (/^(?:\d{1,2})[/.-](?:\d{1,2})(?:[/.-]\d+)?$/.test(text.trim())) {
    const [one = 0, other = 0] = text.split(/[/.-]/).map(Number)
    return one > 12 || other > 12 || one === other
  }
  if (/\b(?:next|last|this|past|coming) (?:week|month|year)\b/i.test(text)) return false
  if (/\b(?:month|year)s?\b/i.test(text) && !/\bof\b/.test(text)) return false
  return start.isCertain("day") || start.isCertain("weekday")
}

/** The narrowest true statement about a date whose day is open. */
const openDay = ({ start, text: words }: ParsedResult, date: Date, text: string): string => {
  if (/^\d{1,2}[/.-]\d/.test(words)) return text
  const year = date.getUTCFullYear()
  if (/\bweek\b/i.test(words)) return `in the week of ${dayOf(mondayOf(date))}`
  if (start.isCertain("month")) return `in ${monthNames[date.getUTCMonth()]} ${year}`
  return start.isCertain("year") ? `in ${year}` : text
}

const mondayOf = (date: Date): Date => new Date(date.getTime() - ((date.getUTCDay() + 6) % 7) * dayMillis)

/** `at 7` may be morning or evening: no time. */
const isoOf = ({ text }: ParsedResult, parts: ParsedResult["start"], date: Date): string =>
  parts.isCertain("hour") && /\d:\d\d|\d ?[ap]\.?m\b|noon|midnight/i.test(text)
    ? `${date.toISOString().slice(0, 19)}Z`
    : dayOf(date)

const dayOf = (date: Date): string => date.toISOString().slice(0, 10)

/** `at 6am`: no day, hence no date. */
const isTimeOnly = (start: ParsedResult["start"]): boolean =>
  !(["year", "month", "day", "weekday"] as const).some((part) => start.isCertain(part))

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
      /^for\b/i.test(text) ||
      (/\b(?:every|each|since|until|till|for|most|ages?|aged)\s+(?:the\s+)?$/i.test(before) &&
        !/\b(?:booked|eduled|set|planned|arranged|down|flights? to \p{L}+|tickets? to \p{L}+|(?:tickets?|table|room|flights?)\b[^,.]{0,30}) for (?:the )?$/iu.test(
          before
        ))

/** `on Monday afternoons`, `except Thursday`: a day of every week. */
const isHabit = (text: string, before: string, behind: string): boolean =>
  /(?:mon|tues|wednes|thurs|fri|satur|sun)day$/i.test(text) &&
  (/^(?:s\b| (?:mornings|afternoons|evenings|nights)\b)/i.test(behind) ||
    /\b(?:except|but|besides) (?:on )?$/i.test(before))

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

/** `on the 14th`: the nearest such day on the side that is meant, counted from `anchor`. */
const bareDays = (text: string, anchor: string, side: DateSide): Array<EventDate> =>
  [
    ...text.matchAll(
      /\b(?:(?:(?:on|by|from|to) )?([A-Za-z]{3,6})day,? the|(?:on|by|from) the) (\d{1,2})(?:st|nd|rd|th)\b(?! (?:of|floor|street|avenue|century|grade|birthday|anniversary|[A-Z]))/g
    )
  ].map((match) => {
    const day = Number(match[2])
    const date = new Date(`${anchor.slice(0, 10)}T12:00:00Z`)
    const step = side === "past" ? -1 : 1
    const isPassed = side === "past" ? day > date.getUTCDate() : day < date.getUTCDate()
    if (isPassed) date.setUTCMonth(date.getUTCMonth() + step, 1)
    date.setUTCDate(day)
    const isSaid = match[1] === undefined || weekdays.format(date).toLowerCase() === `${match[1]}day`.toLowerCase()
    const start = date.getUTCDate() === day && isSaid ? dayOf(date) : undefined
    return {
      text: match[0],
      index: match.index,
      start,
      end: undefined,
      absolute: start === undefined ? match[0] : `on ${start}`
    }
  })

const weekdays = new Intl.DateTimeFormat("en", { weekday: "long", timeZone: "UTC" })

/** `that day`, `the day after`: beside the day spoken of last, when there is one. */
const daysBeside = (text: string, anchor: string | undefined): Array<EventDate> =>
  anchor === undefined
    ? []
    : [
        ...text.matchAll(
          /\b(?:on )?(?:that (?:same |very )?day|the (?:day after|next day|following day|day before))(?=[,.!;]|$| (?:at|in|with|we|I|my|there)\b)/gi
        )
      ].map((match) => {
        const step = /before$/i.test(match[0]) ? -1 : /that/i.test(match[0]) ? 0 : 1
        const start = dayOf(new Date(Date.parse(`${anchor.slice(0, 10)}T12:00:00Z`) + step * dayMillis))
        return { text: match[0], index: match.index, start, end: undefined, absolute: `on ${start}` }
      })

const seasons = (text: string): Array<EventDate> =>
  [
    ...text.matchAll(
      /\b(?:in (?:the )?|this |next |last )(?:(?:late |early )?(?:spring|summer|autumn|fall|winter)|(?:19|20)\d\d)\b/gi
    )
  ].map((match) => ({ text: match[0], index: match.index, start: undefined, end: undefined, absolute: match[0] }))
