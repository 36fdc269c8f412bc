/**
 * Dates that are counted from the day of saying: "yesterday", "next Saturday", "a fortnight ago", "on the 31st", "in
 * January". The only place where they are resolved: for extraction, for the times that a question names, for answers, and
 * for checks of what a model wrote. Written dates ("7 May 2026") are read by chrono-node, by those who need them.
 *
 * Invariants: the same words said on the same day are the same days everywhere. Days are of the speaker's calendar. What
 * the words leave open ("a few weeks ago", "the Friday after next" said on a Monday) is no date.
 */
import { DateTime } from "effect"
import { dayMillis } from "@muniment/domain/CalendarDay"
import { MONTH, monthIndex, monthNames, numberWords, WEEKDAY as anyWeekday, weekdayIndex } from "./CalendarWords.ts"

export type Precision = "day" | "weekend" | "week" | "month" | "season" | "year"

/** Which way a day lies whose words do not say it: "on Friday". */
export type DateSide = "past" | "future"

export interface SpokenDate {
  readonly text: string
  readonly index: number
  readonly precision: Precision
  /** First and last day, `YYYY-MM-DD`. */
  readonly from: string
  readonly to: string
  /** The day itself that was counted to, in "two weeks ago". */
  readonly day: string
}

/** A time without a known offset (`Z`) with that of the speaker's time zone; another one as it is. */
export const speakersTime = (sentAt: string, timeZone: string | undefined): string => {
  const millis = Date.parse(sentAt)
  if (timeZone === undefined || !sentAt.endsWith("Z") || Number.isNaN(millis)) return sentAt
  const zone = DateTime.zoneMakeNamed(timeZone)
  return zone._tag === "None"
    ? sentAt
    : DateTime.formatIsoOffset(DateTime.makeZonedUnsafe(millis, { timeZone: zone.value }))
}

/** `sentAt`: with the speaker's offset. Undefined: no time. */
export const speakersDay = (sentAt: string | undefined): string | undefined =>
  sentAt === undefined || Number.isNaN(Date.parse(sentAt)) ? undefined : sentAt.slice(0, "2026-01-31".length)

/** Today in the speaker's time zone; default UTC. */
export const todayIn = (timeZone: string | undefined, atMillis: number): string =>
  speakersTime(dateOf(atMillis / dayMillis).toISOString(), timeZone).slice(0, "2026-01-31".length)

/** Days are numbers, 0 is 1 January 1970; weekdays are counted from Monday. */
interface Period {
  readonly from: number
  readonly to: number
  readonly day?: number
}

interface SpokenForm {
  readonly precision: Precision
  readonly pattern: RegExp
  readonly read: (words: ReadonlyArray<string>, today: number, side: DateSide | undefined) => Period | undefined
  readonly example: string
  readonly counterexample: string
}

const SPOKEN_MAX = 8

/** In the order of the text. `today`: `YYYY-MM-DD`, when it was said. Without a side what has none is not resolved. */
export const spokenDates = (text: string, today: string | undefined, side?: DateSide): ReadonlyArray<SpokenDate> => {
  const now = Math.floor(Date.parse(today ?? "") / dayMillis)
  if (Number.isNaN(now) || !hints.test(text)) return []
  const found: Array<SpokenDate> = []
  for (const { pattern, precision, read } of spokenForms) {
    for (const match of text.matchAll(pattern)) {
      const { 0: words, index } = match
      if (found.some((other) => index < other.index + other.text.length && other.index < index + words.length)) continue
      if (repeated.test(text.slice(0, index))) continue
      const parts = match.slice(1).map((part) => part?.toLowerCase() ?? "")
      // What lasts since Tuesday began on the one behind.
      const period = read(parts, now, /\bsince (?:the )?$/i.test(text.slice(0, index)) ? "past" : side)
      if (period === undefined) continue
      const { day = period.from, from, to } = period
      found.push({ text: words, index, precision, from: isoDay(from), to: isoDay(to), day: isoDay(day) })
    }
  }
  return found.sort((left, right) => left.index - right.index).slice(0, SPOKEN_MAX)
}

/** Cheap reason to look at all. */
const hints =
  /\b(?:to(?:day|night|morrow)|yesterday|ago|last|past|this|next|coming|in|before|week|the \d|on|by|mon|tue|wed|thu|fri|sat|sun)/i

/** Habits, and beginnings and ends of what lasts. */
const repeated = /\b(?:every|each|most|except|but)(?: (?:on|the))? $/i

const isoDay = (day: number): string => new Date(day * dayMillis).toISOString().slice(0, "2026-01-31".length)
const single = (day: number | undefined): Period | undefined => (day === undefined ? undefined : { from: day, to: day })

const COUNT = `(an?|${numberWords.slice(1).join("|")}|\\d{1,3})`
export const numberOf = (words: string): number =>
  /^an?$/.test(words) ? 1 : numberWords.includes(words) ? numberWords.indexOf(words) : Number(words)

const WEEKDAY = `(${anyWeekday})`
/** Also shortened, beside a word of its own: "sat" and "sun" alone are words. */
const SHORT_WEEKDAY = `(${anyWeekday}|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\\b`
/** Not "Fridays" and "Friday mornings": days of every week. */
const ONCE = "(?!s\\b|['’]s\\b| (?:mornings|afternoons|evenings|nights)\\b)"
const weekdayOf = (day: number): number => (((day + 3) % 7) + 7) % 7
const mondayOf = (day: number): number => day - weekdayOf(day)
const thisWeeks = (name: string, today: number): number => mondayOf(today) + weekdayIndex(name)
/** The nearest such day behind. */
const lastOf = (name: string, today: number): number => today - ((weekdayOf(today) - weekdayIndex(name) + 7) % 7 || 7)
/** The nearest such day from today on. */
const comingOf = (name: string, today: number): number => today + ((weekdayIndex(name) - weekdayOf(today) + 7) % 7)

const weekAround = (day: number): Period => ({ from: mondayOf(day), to: mondayOf(day) + 6, day })
const weekendOf = (day: number): Period => ({ from: mondayOf(day) + 5, to: mondayOf(day) + 6 })

const dateOf = (day: number): Date => new Date(day * dayMillis)
const dayAt = (year: number, month: number, date: number): number => Date.UTC(year, month, date) / dayMillis
/** `month` may lie outside of its year. */
const monthOf = (year: number, month: number): Period => ({
  from: dayAt(year, month, 1),
  to: dayAt(year, month + 1, 1) - 1
})
const yearOf = (year: number): Period => ({ from: dayAt(year, 0, 1), to: dayAt(year, 11, 31) })

/** The period `count` units from today; negative: ago. A day of the month that is not there is the last one. */
export const counted = (count: number, unit: string, today: number): Period => {
  const date = dateOf(today)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  if (unit.startsWith("day")) return { from: today + count, to: today + count }
  if (unit.startsWith("week")) return weekAround(today + 7 * count)
  if (unit.startsWith("fortnight")) return weekAround(today + 14 * count)
  if (unit.startsWith("year")) return { ...yearOf(year + count), day: sameDay(year + count, month, date.getUTCDate()) }
  return { ...monthOf(year, month + count), day: sameDay(year, month + count, date.getUTCDate()) }
}
const sameDay = (year: number, month: number, date: number): number =>
  Math.min(dayAt(year, month, date), monthOf(year, month).to)

const steps: Readonly<Record<string, number>> = {
  last: -1,
  past: -1,
  previous: -1,
  this: 0,
  current: 0,
  next: 1,
  coming: 1
}
const stepOf = (word: string): number => steps[word.replace("this past", "last").replace("this coming", "next")] ?? 0
const NEIGHBOUR = "(this past|this coming|last|past|previous|this|current|next|coming)"

/** First month of each season of the northern half, in which it is named. */
export const seasonStarts: Readonly<Record<string, number>> = { spring: 2, summer: 5, autumn: 8, fall: 8, winter: 11 }

/** Three months; a winter has the year of its December. The nearest whole one on the named side. */
const seasonBeside = (step: number, name: string, today: number): Period => {
  const start = seasonStarts[name] ?? 0
  const date = dateOf(today)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  const isPassed = step < 0 ? month > start + 2 : step > 0 ? month >= start : false
  const of = step < 0 ? (isPassed ? year : year - 1) : isPassed ? year + 1 : year
  return { from: dayAt(of, start, 1), to: dayAt(of, start + 3, 1) - 1 }
}

/** "On the 31st": the nearest month on that side that has such a day. */
const ordinalDay = (date: number, today: number, side: DateSide): number | undefined => {
  const now = dateOf(today)
  for (let step = 0; step <= 2; step++) {
    const month = monthOf(now.getUTCFullYear(), now.getUTCMonth() + (side === "past" ? -step : step))
    const day = month.from + date - 1
    if (date >= 1 && day <= month.to && (side === "past" ? day <= today : day >= today)) return day
  }
  return undefined
}

const MONTH_BEGINS = `(?:${monthNames.map((name) => name.slice(0, 3)).join("|")})`

/** "In January": the nearest on that side. Said of what is to come in January itself it may be this one or the next. */
const monthBeside = (name: string, today: number, side: DateSide): Period | undefined => {
  const now = dateOf(today)
  const distance = monthIndex(name) - now.getUTCMonth()
  if (distance === 0 && side === "future") return undefined
  const isOther = side === "past" ? distance > 0 : distance < 0
  const year = now.getUTCFullYear() + (isOther ? (side === "past" ? -1 : 1) : 0)
  return monthOf(year, monthIndex(name))
}

/** "The Monday after next" is certain once this week's has begun: else the next one is this week's to some. */
const afterNext = (name: string, today: number): number | undefined =>
  thisWeeks(name, today) <= today ? thisWeeks(name, today) + 14 : undefined

/** If two match at the same words, the upper one holds. A row's example is a form of it, its counterexample none. */
export const spokenForms: ReadonlyArray<SpokenForm> = [
  {
    precision: "day",
    pattern: new RegExp(`\\b(?:on )?the ${WEEKDAY} (before last|after next)\\b`, "gi"),
    read: ([name = "", which], today) =>
      single(which === "after next" ? afterNext(name, today) : lastOf(name, today) - 7),
    example: "I saw it the Friday before last.",
    counterexample: "I saw it the Friday before the match."
  },
  {
    precision: "weekend",
    pattern: /\b(?:on |at )?the weekend (before last|after next)\b/gi,
    read: ([which], today) => weekendOf(today + (which === "after next" ? 14 : -14)),
    example: "We camped the weekend before last.",
    counterexample: "We camped the weekend before Easter."
  },
  {
    precision: "week",
    pattern: /\bthe week (before last|after next)\b/gi,
    read: ([which], today) => weekAround(today + (which === "after next" ? 14 : -14)),
    example: "I moved the week before last.",
    counterexample: "I moved the week before the exam."
  },
  {
    precision: "month",
    pattern: /\bthe month (before last|after next)\b/gi,
    read: ([which], today) => counted(which === "after next" ? 2 : -2, "month", today),
    example: "I moved the month before last.",
    counterexample: "I moved the month before the exam."
  },
  {
    precision: "year",
    pattern: /\bthe year (before last|after next)\b/gi,
    read: ([which], today) => counted(which === "after next" ? 2 : -2, "year", today),
    example: "I moved the year before last.",
    counterexample: "I moved the year before the war."
  },
  {
    precision: "day",
    pattern: new RegExp(`\\b(?:${COUNT} weeks? (?:on|from) ${WEEKDAY}|(?:on )?${WEEKDAY} week)\\b`, "gi"),
    read: ([count = "", name = "", other = ""], today) =>
      single(comingOf(name === "" ? other : name, today) + 7 * (count === "" ? 1 : numberOf(count))),
    example: "The fair is a week on Saturday.",
    counterexample: "The fair takes a week on the coast."
  },
  {
    precision: "weekend",
    pattern: new RegExp(`\\b(?:on )?${NEIGHBOUR} weekend\\b`, "gi"),
    read: ([which = ""], today) => weekendOf(today + 7 * stepOf(which)),
    example: "We camped last weekend.",
    counterexample: "We camp every weekend."
  },
  {
    precision: "day",
    pattern: new RegExp(`\\b(?:on )?(this past|last|past)(?: week['’]s)? ${SHORT_WEEKDAY}${ONCE}`, "gi"),
    read: ([, name = ""], today) => single(lastOf(name, today)),
    example: "I saw it last Friday.",
    counterexample: "I swim on Fridays."
  },
  {
    precision: "day",
    // Of the next week, which begins on Monday: the day before it is "tomorrow", and this week's is "this Saturday".
    pattern: new RegExp(`\\b(?:on )?(?:next ${SHORT_WEEKDAY}${ONCE}|${WEEKDAY} (?:of )?next week)\\b`, "gi"),
    read: ([name = "", other = ""], today) => single(thisWeeks(name === "" ? other : name, today) + 7),
    example: "We meet next Saturday.",
    counterexample: "We meet on Saturdays."
  },
  {
    precision: "day",
    pattern: new RegExp(`\\b(?:on )?(?:this coming|the coming|coming) ${SHORT_WEEKDAY}${ONCE}`, "gi"),
    read: ([name = ""], today) => single(comingOf(name, today + 1)),
    example: "We meet this coming Saturday.",
    counterexample: "We met one Saturday."
  },
  {
    precision: "day",
    pattern: new RegExp(`\\b(?:on )?this ${SHORT_WEEKDAY}${ONCE}`, "gi"),
    read: ([name = ""], today, side) => {
      const day = thisWeeks(name, today)
      return single(day < today && side !== "past" ? (side === "future" ? day + 7 : undefined) : day)
    },
    example: "We meet this Sunday.",
    counterexample: "We meet this once."
  },
  {
    precision: "day",
    pattern: /\bthe day (before yesterday|after tomorrow)\b/gi,
    read: ([which], today) => single(which === "after tomorrow" ? today + 2 : today - 2),
    example: "I ran the day before yesterday.",
    counterexample: "I ran the day before."
  },
  {
    precision: "day",
    pattern: new RegExp(
      `\\b${COUNT} (?:(day|week|fortnight|month|year)s? (ago|from),? (today|tomorrow|yesterday)|(week|fortnight)s? (today|tomorrow))\\b(?!['’])`,
      "gi"
    ),
    read: ([count = "", unit = "", way = "", near = "", other = "", later = ""], today) => {
      const named = near === "" ? later : near
      const day = today + (named === "tomorrow" ? 1 : named === "yesterday" ? -1 : 0)
      const { day: same, from } = counted(numberOf(count) * (way === "ago" ? -1 : 1), unit === "" ? other : unit, day)
      return single(same ?? from)
    },
    example: "I moved a year ago today.",
    counterexample: "I moved a while ago."
  },
  {
    precision: "day",
    pattern: /\b(?:(yesterday|last night)|(today|tonight|this (?:morning|afternoon|evening))|(tomorrow))\b/gi,
    read: ([before, , after], today) => single(today + (before === "" ? 0 : -1) + (after === "" ? 0 : 1)),
    example: "I ran a race yesterday.",
    counterexample: "I ran a race some day."
  },
  ...(["day", "week|fortnight", "month", "year"] as const).map((unit, at): SpokenForm => ({
    precision: (["day", "week", "month", "year"] as const)[at]!,
    pattern: new RegExp(
      `\\b(?:${COUNT} (${unit})s? (ago|from now)|in ${COUNT} (${unit})s?(?: time|['’]s? time)?)\\b`,
      "gi"
    ),
    read: ([count = "", there = "", way = "", ahead = "", later = ""], today, side) => {
      if (later === "") return counted(numberOf(count) * (way.startsWith("from") ? 1 : -1), there, today)
      // "Finished in two weeks" is how long it took.
      return side === "past" ? undefined : counted(numberOf(ahead), later, today)
    },
    example: `I moved two ${unit.split("|")[0]}s ago.`,
    counterexample: `I moved a few ${unit.split("|")[0]}s ago.`
  })),
  {
    precision: "week",
    pattern: new RegExp(`\\b${NEIGHBOUR} week\\b`, "gi"),
    read: ([which = ""], today) => weekAround(today + 7 * stepOf(which)),
    example: "I moved last week.",
    counterexample: "I moved within a week."
  },
  {
    precision: "month",
    pattern: new RegExp(`\\b${NEIGHBOUR} month\\b`, "gi"),
    read: ([which = ""], today) => counted(stepOf(which), "month", today),
    example: "We adopted her last month.",
    counterexample: "We see her twice a month."
  },
  {
    precision: "season",
    pattern: new RegExp(`\\b${NEIGHBOUR} (${Object.keys(seasonStarts).join("|")})\\b`, "gi"),
    read: ([which = "", name = ""], today) => seasonBeside(stepOf(which), name, today),
    example: "We sailed last summer.",
    counterexample: "We sail in summer."
  },
  {
    precision: "year",
    pattern: new RegExp(`\\b${NEIGHBOUR} year\\b`, "gi"),
    read: ([which = ""], today) => counted(stepOf(which), "year", today),
    example: "I painted it last year.",
    counterexample: "I paint one each year."
  },
  {
    precision: "day",
    pattern: new RegExp(
      `\\b(?:(?:on |by |from )?${WEEKDAY},? the|(?:on|by|from) the) (\\d{1,2})(?:st|nd|rd|th)\\b` +
        `(?! (?:of|floor|street|avenue|century|grade|birthday|anniversary|${MONTH_BEGINS}))`,
      "gi"
    ),
    read: ([name = "", date = ""], today, side) => {
      const day = side === undefined ? undefined : ordinalDay(Number(date), today, side)
      return day === undefined || (name !== "" && weekdayOf(day) !== weekdayIndex(name)) ? undefined : single(day)
    },
    example: "We meet on the 31st.",
    counterexample: "We meet on the 31st of May."
  },
  {
    precision: "day",
    // "The Friday of the party" and "some Friday" are other days.
    pattern: new RegExp(
      `\\b(?<!\\b(?:the|an?|some|any|one|that|first|second|third) )(?:(?:on|by) ${SHORT_WEEKDAY}|${WEEKDAY})${ONCE}\\b(?!,? (?:the )?(?:\\d|${MONTH_BEGINS})| (?:before|after)\\b)`,
      "gi"
    ),
    read: ([short = "", long = ""], today, side) => {
      const name = short === "" ? long : short
      return side === undefined ? undefined : single(side === "past" ? lastOf(name, today + 1) : comingOf(name, today))
    },
    example: "We meet on Friday.",
    counterexample: "We meet on Fridays."
  },
  {
    precision: "month",
    pattern: new RegExp(
      `\\bin (?:early |mid |late )?(${MONTH})\\b(?!,? (?:of )?(?:the )?(?:this |last |next |\\d))`,
      "gi"
    ),
    read: ([name = ""], today, side) => (side === undefined ? undefined : monthBeside(name, today, side)),
    example: "We meet in October.",
    counterexample: "We met in October 2024."
  }
]
