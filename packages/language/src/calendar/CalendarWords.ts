/**
 * English names of months and weekdays: the only place where they stand. A reader that folds case folds the names too, but
 * `may` and `march` are also verbs. Sources of patterns are in lower case and have no group that captures.
 */

/** Index = number of the month - 1. */
export const monthNames: ReadonlyArray<string> =
  "January February March April May June July August September October November December".split(" ")

/** From Monday. */
export const weekdayNames: ReadonlyArray<string> = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(" ")

const lowerMonths = monthNames.map((name) => name.toLowerCase())
/** Full names. */
export const MONTH = `(?:${lowerMonths.join("|")})`
export const WEEKDAY = `(?:${weekdayNames.map((name) => name.toLowerCase()).join("|")})`
/** Index = number of the month - 1: `jan(?:uary)?`. */
export const monthForms: ReadonlyArray<string> = lowerMonths.map((name) => `${name.slice(0, 3)}(?:${name.slice(3)})?`)

/** By its first three letters, in any case; -1: none. */
export const monthIndex = (name: string): number => indexIn(monthNames, name)
/** 0: Monday. */
export const weekdayIndex = (name: string): number => indexIn(weekdayNames, name)

const indexIn = (names: ReadonlyArray<string>, name: string): number => {
  const begin = name.slice(0, 3).toLowerCase()
  return names.findIndex((known) => known.slice(0, 3).toLowerCase() === begin)
}

/** Index = number. */
export const numberWords: ReadonlyArray<string> =
  "zero one two three four five six seven eight nine ten eleven twelve".split(" ")

export interface DatesInText {
  /** For each date the days that it may mean, `YYYY-MM-DD`; one of them must be supported. */
  readonly dates: ReadonlyArray<ReadonlyArray<string>>
  /** The text without them. */
  readonly rest: string
}

const month = `(${monthForms.join("|")})`
const dayOfMonth = "(\\d{1,2})(?:st|nd|rd|th)?"
const year = "((?:19|20)\\d{2})"

/** Each gives year, month and day of its match; most specific first. */
const forms: ReadonlyArray<readonly [RegExp, (parts: ReadonlyArray<string | undefined>) => DateParts]> = [
  [
    /\b((?:19|20)\d{2})-(\d{2})(?!\d)(?:-(\d{2})(?!\d))?(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?/g,
    ([y, m, d]) => [y, m, d]
  ],
  [new RegExp(`\\b${dayOfMonth} (?:of )?${month}\\b,?(?: ${year}\\b)?`, "gi"), ([d, m, y]) => [y, m, d]],
  [new RegExp(`\\b${month} ${dayOfMonth}\\b,?(?: ${year}\\b)?`, "gi"), ([m, d, y]) => [y, m, d]],
  [new RegExp(`\\b${month} ${year}\\b`, "gi"), ([m, y]) => [y, m, undefined]],
  [new RegExp(`(?<![\\d.,])${year}(?![\\d.,]\\d|\\d)`, "g"), ([y]) => [y, undefined, undefined]]
]
type DateParts = readonly [year: string | undefined, month: string | undefined, day: string | undefined]

/** `todayYear`: a date without a year belongs to this year or to one beside it. */
export const datesInText = (text: string, todayYear: number): DatesInText => {
  const dates: Array<ReadonlyArray<string>> = []
  let rest = text
  for (const [pattern, partsOf] of forms) {
    rest = rest.replaceAll(pattern, (...match: ReadonlyArray<unknown>) => {
      const groups = match.slice(1, 4).map((group) => (typeof group === "string" ? group : undefined))
      dates.push(daysOf(partsOf(groups), todayYear))
      return " "
    })
  }
  return { dates, rest }
}

const daysOf = ([y, m, d]: DateParts, todayYear: number): ReadonlyArray<string> => {
  const years = y === undefined ? [todayYear - 1, todayYear, todayYear + 1] : [Number(y)]
  const number = m === undefined ? 1 : /^\d/.test(m) ? Number(m) : monthIndex(m) + 1
  return years.map((each) => `${each}-${twoDigits(number)}-${twoDigits(Number(d ?? 1))}`)
}

/** `2023-05-08` in the words of questions: `2023 05 08 May 8 Monday` (UTC); other text is kept. */
export const dateWords = (iso: string): string => {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return iso
  const [month, day] = [date.getUTCMonth(), date.getUTCDate()]
  const year = String(date.getUTCFullYear()).padStart(4, "0")
  const weekday = weekdayNames[(date.getUTCDay() + 6) % 7]
  return `${year} ${twoDigits(month + 1)} ${twoDigits(day)} ${monthNames[month]} ${day} ${weekday}`
}

const twoDigits = (value: number): string => String(value).padStart(2, "0")

export const dayAndTime = (millis: number, timeZone: string): string => {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23"
  }).format(millis)
  return parts.replaceAll(",", "").replace(" at ", " ")
}

/** Without the time. */
export const dayOnly = (moment: string): string => moment.replace(/ \d\d:\d\d$/, "")

/** Moment of an ISO 8601 date-time, in its own offset; undefined: it is none. */
export const spokenMoment = (saidOn: string | undefined): string | undefined => {
  const [local] = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.exec(saidOn ?? "") ?? []
  const millis = Date.parse(local === undefined ? (saidOn ?? "") : `${local}Z`)
  return Number.isNaN(millis) ? undefined : dayAndTime(millis, "UTC")
}
