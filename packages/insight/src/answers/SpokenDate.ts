/**
 * Relative days in a quoted message: "yesterday", "last week", "two weeks ago" are resolved against the day of the message
 * and added in brackets, `yesterday [= 17 January 2024]`. Words are never replaced.
 *
 * Only forms of `relativeForms` are resolved; "a while ago" or a bare "Friday" stay words, because the text does not fix
 * them. The date of a form is read by chrono-node, its precision by the form. Days are UTC.
 */
import { casual } from "chrono-node/en"
import { monthNames } from "../calendar/CalendarWords.ts"
import { datesInText } from "../prompts/DatesInText.ts"
import { dateText } from "./DateText.ts"

type Precision = "day" | "weekend" | "week" | "month" | "season" | "year"

interface RelativeForm {
  readonly precision: Precision
  readonly pattern: RegExp
  readonly example: string
  readonly counterexample: string
}

const COUNT = "(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\\d{1,2})"
const WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"

/** If two match at the same word, the upper one holds. A row's example is a form of its precision, its counterexample none. */
export const relativeForms: ReadonlyArray<RelativeForm> = [
  {
    precision: "weekend",
    pattern: /\b(?:last|this past|next) weekend\b/gi,
    example: "We camped last weekend.",
    counterexample: "We camp every weekend."
  },
  {
    precision: "day",
    pattern: new RegExp(`\\b(?:last|this past|next) ${WEEKDAY}\\b`, "gi"),
    example: "I saw it last Friday.",
    counterexample: "I swim on Fridays."
  },
  {
    precision: "day",
    pattern: new RegExp(
      `\\b(?:the day before yesterday|yesterday|last night|today|tonight|the day after tomorrow|tomorrow|${COUNT} days? ago|in ${COUNT} days)\\b`,
      "gi"
    ),
    example: "I ran a race yesterday.",
    counterexample: "I ran a race a few days ago."
  },
  {
    precision: "week",
    pattern: new RegExp(`\\b(?:(?:last|this past|next) week|${COUNT} weeks? ago|in ${COUNT} weeks)\\b`, "gi"),
    example: "I moved two weeks ago.",
    counterexample: "I moved some weeks ago."
  },
  {
    precision: "month",
    pattern: new RegExp(`\\b(?:(?:last|this|next) month|${COUNT} months? ago|in ${COUNT} months)\\b`, "gi"),
    example: "We adopted her last month.",
    counterexample: "We see her twice a month."
  },
  {
    precision: "season",
    pattern: /\b(?:last|this|next) (?:spring|summer|autumn|fall|winter)\b/gi,
    example: "We sailed last summer.",
    counterexample: "We sail in summer."
  },
  {
    precision: "year",
    pattern: new RegExp(`\\b(?:(?:last|this|next) year|${COUNT} years? ago|in ${COUNT} years)\\b`, "gi"),
    example: "I painted it last year.",
    counterexample: "I paint one each year."
  }
]

/** A relative date of a text, and what it means. */
export interface SpokenDate {
  readonly text: string
  readonly index: number
  readonly precision: Precision
  /** "17 January 2024", "the week of 8 January 2024", "December 2023", "2023". */
  readonly resolved: string
}

const SPOKEN_MAX = 8

/** In the order of the text. `saidOn`: ISO 8601, when the text was said; an invalid one resolves nothing. */
export const spokenDates = (text: string, saidOn: string | undefined): ReadonlyArray<SpokenDate> => {
  const said = new Date(saidOn ?? Number.NaN)
  if (Number.isNaN(said.getTime())) return []
  // Noon: no step of hours leaves the day.
  const day = new Date(Date.UTC(said.getUTCFullYear(), said.getUTCMonth(), said.getUTCDate(), 12))
  const found: Array<SpokenDate> = []
  for (const { pattern, precision } of relativeForms) {
    for (const { 0: words, index } of text.matchAll(pattern)) {
      const isTaken = found.some(
        (other) => index < other.index + other.text.length && other.index < index + words.length
      )
      const resolved = isTaken ? undefined : resolve(words.toLowerCase(), precision, day)
      if (resolved !== undefined) found.push({ text: words, index, precision, resolved })
    }
  }
  return found.sort((left, right) => left.index - right.index).slice(0, SPOKEN_MAX)
}

/** "Tomorrow", "next week", "in two days": not yet when it was said. */
export const isAhead = ({ text }: SpokenDate): boolean => /^(?:tomorrow|the day after|next|in )/i.test(text)

/** The text with every relative date resolved behind it. */
export const withResolvedDates = (text: string, saidOn: string | undefined): string => {
  let read = 0
  const parts = spokenDates(text, saidOn).flatMap(({ text: words, index, resolved }) => {
    const end = index + words.length
    const before = text.slice(read, end)
    read = end
    return [before, ` [= ${resolved}]`]
  })
  return [...parts, text.slice(read)].join("")
}

/** The only relative date of a text that has no other date, resolved; undefined where the text leaves a choice. */
export const onlySpokenDate = (text: string, saidOn: string | undefined): string | undefined => {
  const spoken = spokenDates(text, saidOn)
  return spoken.length === 1 && !hasWrittenDate(text) ? spoken[0]!.resolved : undefined
}

/** "7 May", "2023-05-07", "in 2023": dates that stand by themselves. */
export const hasWrittenDate = (text: string): boolean => datesInText(text, anyYear).dates.length > 0

const anyYear = 2000

const resolve = (words: string, precision: Precision, said: Date): string | undefined => {
  if (precision === "season") return season(words, said)
  const moved = precision === "weekend" ? weekendOf(words, said) : dateOf(words, said)
  if (moved === undefined) return undefined
  switch (precision) {
    case "day":
      return shown(moved)
    case "weekend":
      return `the weekend of ${shown(moved)}`
    case "week":
      return `the week of ${shown(monday(moved))}`
    case "month":
      return `${monthNames[moved.getUTCMonth()]} ${moved.getUTCFullYear()}`
    case "year":
      return String(moved.getUTCFullYear())
  }
}

const dateOf = (words: string, said: Date): Date | undefined => {
  const weekday = /^(last|this past|next) (\w+day)$/.exec(words)
  if (weekday !== null) return weekdayBeside(weekday[2]!, weekday[1] === "next", said)
  const plain =
    words === "last night" ? "yesterday" : words === "tonight" ? "today" : words.replace("this past", "last")
  return casual.parseDate(plain, { instant: said, timezone: 0 }) ?? undefined
}

const dayMillis = 86_400_000
const weekdays = "sunday monday tuesday wednesday thursday friday saturday".split(" ")

/** The nearest such day before or after the day it was said. */
const weekdayBeside = (name: string, isAhead: boolean, said: Date): Date => {
  const wanted = weekdays.indexOf(name)
  const ahead = (wanted - said.getUTCDay() + 7) % 7 || 7
  const back = (said.getUTCDay() - wanted + 7) % 7 || 7
  return new Date(said.getTime() + (isAhead ? ahead : -back) * dayMillis)
}

/** Its Saturday. */
const weekendOf = (words: string, said: Date): Date => {
  const start = monday(said).getTime() + 5 * dayMillis
  return new Date(words.startsWith("next") ? start + 7 * dayMillis : start - 7 * dayMillis)
}

const monday = (day: Date): Date => new Date(day.getTime() - ((day.getUTCDay() + 6) % 7) * dayMillis)

const shown = (day: Date): string => dateText(day.toISOString().slice(0, 10))

/** First month of each season of the northern half, in which it is named. */
const seasonStarts: Readonly<Record<string, number>> = { spring: 2, summer: 5, autumn: 8, fall: 8, winter: 11 }

/** The nearest whole season on the named side; "this summer" is the one of the year. */
const season = (words: string, said: Date): string | undefined => {
  const [side, name = ""] = words.split(" ")
  const start = seasonStarts[name]
  if (start === undefined) return undefined
  const year = said.getUTCFullYear()
  const month = said.getUTCMonth()
  const isOver = month > start + 2
  const isBegun = month >= start
  const named = side === "last" ? (isOver ? year : year - 1) : side === "next" ? (isBegun ? year + 1 : year) : year
  return `${name} ${named}`
}
