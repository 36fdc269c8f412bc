/**
 * Checks whether a day that a model wrote follows from a message. A model resolves "next Friday" in any language; the
 * check goes the other way: from the day to the expressions that may denote it, one of which the message must contain
 * (weekday and month names, counts and relative days in the languages of `locales`, from Node's Unicode CLDR data).
 * English expressions that count from the day of saying are resolved by `SpokenDates`, as everywhere else, and
 * are no evidence for other days.
 *
 * Vague expressions have wide bounds ("next week" is any of fourteen days). A day in a language that is not listed is
 * unsupported unless written in digits.
 */
import { spokenDates } from "./SpokenDates.ts"
import { datesInText, numberWords } from "./CalendarWords.ts"

export interface DateSupport {
  /** Whether `text` states `day`. Both days as `YYYY-MM-DD`; the day of the conversation is no exception. */
  readonly isTold: (day: string, text: string, today: string) => boolean
}

const locales = [
  "en",
  "es",
  "fr",
  "de",
  "it",
  "pt",
  "nl",
  "pl",
  "ru",
  "tr",
  "sv",
  "ja",
  "zh",
  "ko",
  "ar",
  "hi"
] as const
const dayMillis = 86_400_000
/** A month without a year belongs to one of the two years around today. */
const yearReachMax = 1
const weekdayReachDays = 14
const ordinalReachDays = 31

/** A day of the calendar in UTC, and how far it is from today. */
interface Day {
  readonly year: number
  readonly month: number
  readonly date: number
  readonly weekday: number
  readonly offsetDays: number
  readonly todayYear: number
  readonly todayMonth: number
}

interface Words {
  readonly months: ReadonlyArray<ReadonlyArray<string>>
  readonly weekdays: ReadonlyArray<ReadonlyArray<string>>
  readonly counted: (count: number, unit: "day" | "week" | "month" | "year") => ReadonlyArray<string>
  readonly relative: (offset: number, unit: "day" | "week" | "month" | "year") => ReadonlyArray<string>
}

let support: DateSupport | undefined
/** Made once, when first needed. */
export const dateSupport = (): DateSupport => (support ??= makeDateSupport())

/** Takes about 40 ms. */
export const makeDateSupport = (): DateSupport => {
  const words = makeWords()
  return {
    isTold: (day, text, today) => {
      const parts = dayOf(day, today)
      if (parts === undefined) return false
      const spoken = spokenDates(text, today)
      if (spoken.some(({ from, to }) => from <= day && day <= to)) return true
      const rest = spoken.reduce((left, { text: words }) => left.replace(words, " "), text)
      const folded = foldedWords(rest)
      return (
        isWritten(parts, folded, words) ||
        isWeekday(parts, folded, words) ||
        isCounted(parts, folded, words) ||
        isRelative(parts, folded, words)
      )
    }
  }
}

const dayOf = (day: string, today: string): Day | undefined => {
  const [at, now] = [new Date(`${day}T00:00:00Z`), new Date(`${today}T00:00:00Z`)]
  if (Number.isNaN(at.getTime()) || Number.isNaN(now.getTime())) return undefined
  return {
    year: at.getUTCFullYear(),
    month: at.getUTCMonth() + 1,
    date: at.getUTCDate(),
    weekday: at.getUTCDay(),
    offsetDays: Math.round((at.getTime() - now.getTime()) / dayMillis),
    todayYear: now.getUTCFullYear(),
    todayMonth: now.getUTCMonth() + 1
  }
}

/** "3 May", "May 3rd 2026", "3/5/26", "5月3日", "the 3rd"; "in May" and "in 2019" mean their first or last day. */
const isWritten = (day: Day, text: string, words: Words): boolean => {
  const isNear = Math.abs(day.year - day.todayYear) <= yearReachMax
  const hasYear = hasPhrase(text, String(day.year)) || hasPhrase(text, `'${String(day.year).slice(2)}`)
  const hasMonth = words.months[day.month - 1]?.some((name) => hasPhrase(text, name)) === true
  const isNumeric = numericDates(text).some(
    ([a, b, c]) => isPair(day, a, b) && (c === undefined ? isNear : c === day.year || c === day.year % 100)
  )
  if (isNumeric || new RegExp(`\\b${day.year}-0?${day.month}-0?${day.date}(?!\\d)`).test(text)) return true
  const isEdgeOfYear = (day.month === 1 && day.date === 1) || (day.month === 12 && day.date === 31)
  if (hasYear && isEdgeOfYear) return true
  const hasDate = new RegExp(
    `(?<!\\d)0?${day.date}(?:st|nd|rd|th|er|º|ª|日|일)?(?![\\p{L}\\d])|(?<!\\d)${day.date}[日일号]`,
    "u"
  ).test(text)
  const isEdgeOfMonth = day.date === 1 || new Date(Date.UTC(day.year, day.month, 0)).getUTCDate() === day.date
  if (hasMonth && (hasDate || isEdgeOfMonth)) return isNear || hasYear
  const isOrdinal = new RegExp(`\\b${day.date}(?:st|nd|rd|th|er)\\b|\\b(?:am|el|le|il|dia|den|op) ${day.date}\\b`).test(
    text
  )
  return isOrdinal && Math.abs(day.offsetDays) <= ordinalReachDays
}

const numericDates = (text: string): ReadonlyArray<ReadonlyArray<number>> =>
  [...text.matchAll(/(?<!\d)(\d{1,4})[/.](\d{1,2})(?:[/.](\d{2,4}))?(?!\d)/g)].map((match) => {
    const [a, b, c] = match
      .slice(1)
      .filter((part) => part !== undefined)
      .map(Number)
    // 2026/05/03 begins with its year.
    return a !== undefined && a > 31 ? [b ?? 0, c ?? 0, a] : [a ?? 0, b ?? 0, ...(c === undefined ? [] : [c])]
  })

const isPair = (day: Day, a: number | undefined, b: number | undefined): boolean =>
  (a === day.month && b === day.date) || (a === day.date && b === day.month)

const isWeekday = (day: Day, text: string, words: Words): boolean =>
  Math.abs(day.offsetDays) <= weekdayReachDays &&
  (words.weekdays[day.weekday]?.some((name) => hasPhrase(text, name)) === true ||
    (day.weekday % 6 === 0 && /\b(?:weekend|wochenende|fin de semana|week-end)\b/.test(text)))

/** "in three weeks", "2 years ago", "vor 3 Tagen". */
const isCounted = (day: Day, text: string, words: Words): boolean => {
  const far = Math.abs(day.offsetDays)
  const counts = [
    ["day", [far - 1, far, far + 1]],
    ["week", [Math.floor(far / 7), Math.ceil(far / 7)]],
    ["month", [Math.floor(far / 30.4), Math.ceil(far / 30.4)]],
    ["year", [Math.abs(day.year - day.todayYear), Math.floor(far / 365), Math.ceil(far / 366)]]
  ] as const
  return counts.some(([unit, numbers]) =>
    numbers.some((count) => count > 0 && words.counted(count, unit).some((phrase) => hasPhrase(text, phrase)))
  )
}

/** "tomorrow", "pasado mañana", "next month", "this summer", "at Christmas". */
const isRelative = (day: Day, text: string, words: Words): boolean => {
  const months = (day.year - day.todayYear) * 12 + day.month - day.todayMonth
  const years = day.year - day.todayYear
  const weeks = day.offsetDays > 0 ? [0, 1] : [0, -1]
  const phrases = [
    ...(Math.abs(day.offsetDays) <= 2 ? words.relative(day.offsetDays, "day") : []),
    ...(Math.abs(day.offsetDays) <= weekdayReachDays ? weeks.flatMap((week) => words.relative(week, "week")) : []),
    ...(Math.abs(months) <= 1 ? words.relative(months, "month") : []),
    ...(Math.abs(years) <= 1 ? words.relative(years, "year") : [])
  ]
  return (
    phrases.some((phrase) => hasPhrase(text, phrase)) ||
    (day.offsetDays === -1 && /\blast (?:night|evening)\b/.test(text)) ||
    (Math.abs(years) <= yearReachMax && occasions.some(([pattern, holds]) => pattern.test(text) && holds(day)))
  )
}

const inMonths =
  (...months: ReadonlyArray<number>) =>
  ({ month }: Day): boolean =>
    months.includes(month)
const occasions: ReadonlyArray<readonly [RegExp, (day: Day) => boolean]> = [
  [/\b(?:christmas|xmas|navidad|noel|weihnachten|natale|natal)\b/, (day) => day.month === 12 && day.date >= 24],
  [/\bboxing day\b/, (day) => day.month === 12 && day.date === 26],
  [/\b(?:easter|good friday|ostern|paques|pascua|pasqua)\b/, (day) => isNearEaster(day)],
  [/\bnew year/, (day) => (day.month === 12 && day.date === 31) || (day.month === 1 && day.date === 1)],
  [/\bhalloween\b/, (day) => day.month === 10 && day.date === 31],
  [/\bvalentine/, (day) => day.month === 2 && day.date === 14],
  [/\b(?:spring|primavera|printemps|fruhling)\b/, inMonths(3, 4, 5, 6)],
  [/\b(?:summer|verano|ete|sommer|estate|verao)\b/, inMonths(6, 7, 8, 9)],
  [/\b(?:autumn|fall|otono|automne|herbst|autunno|outono)\b/, inMonths(9, 10, 11, 12)],
  [/\b(?:winter|invierno|hiver|inverno)\b/, inMonths(12, 1, 2, 3)]
]

/** From Good Friday to Easter Monday, by the Gregorian computus (Meeus, Astronomical Algorithms, chapter 8). */
const isNearEaster = ({ date, month, year }: Day): boolean => {
  const [golden, century, rest] = [year % 19, Math.floor(year / 100), year % 100]
  const correction = Math.floor((century - Math.floor((century + 8) / 25) + 1) / 3)
  const epact = (19 * golden + century - Math.floor(century / 4) - correction + 15) % 30
  const weekday = (32 + 2 * (century % 4) + 2 * Math.floor(rest / 4) - epact - (rest % 4)) % 7
  const shift = epact + weekday - 7 * Math.floor((golden + 11 * epact + 22 * weekday) / 451) + 114
  const easter = Date.UTC(year, Math.floor(shift / 31) - 1, (shift % 31) + 1)
  const days = (Date.UTC(year, month - 1, date) - easter) / dayMillis
  return days >= -2 && days <= 1
}

const makeWords = (): Words => {
  const named = (locale: string, options: Intl.DateTimeFormatOptions, millis: number): ReadonlyArray<string> =>
    (["long", "short"] as const)
      .map((width) => {
        const widths = options.month === undefined ? { weekday: width } : { month: width, day: options.day }
        return new Intl.DateTimeFormat(locale, { ...widths, timeZone: "UTC" })
          .formatToParts(millis)
          .flatMap(({ type, value }) => (type === "month" || type === "weekday" ? [foldedWords(value).trim()] : []))
          .join("")
      })
      .filter((name) => /\p{L}{2}|[月월]/u.test(name))
  const names = (options: Intl.DateTimeFormatOptions, millis: number) => [
    ...new Set(locales.flatMap((locale) => named(locale, options, millis)))
  ]
  const relatives = locales.map((locale) => new Intl.RelativeTimeFormat(locale, { numeric: "auto" }))
  const countedRelatives = locales.map((locale) => new Intl.RelativeTimeFormat(locale, { numeric: "always" }))
  const units = locales.map(
    (locale) =>
      [
        locale,
        (unit: string) =>
          new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "long", useGrouping: false })
      ] as const
  )
  const counters = new Map(
    ["day", "week", "month", "year"].map((unit) => [unit, units.map(([, format]) => format(unit))])
  )
  return {
    months: Array.from({ length: 12 }, (_, month) => [
      // A month is in the genitive with a day (3 мая), else in the nominative.
      ...names({ month: "long", day: "numeric" }, Date.UTC(2026, month, 3)),
      ...names({ month: "long" }, Date.UTC(2026, month, 3))
    ]),
    // 1 February 2026 is a Sunday.
    weekdays: Array.from({ length: 7 }, (_, weekday) => names({ weekday: "long" }, Date.UTC(2026, 1, 1 + weekday))),
    counted: (count, unit) => [
      ...(counters.get(unit) ?? []).map((format) => foldedWords(format.format(count)).trim()),
      ...countedRelatives
        .flatMap((format) => [format.format(count, unit), format.format(-count, unit)])
        .map((each) => foldedWords(each).trim())
    ],
    relative: (offset, unit) =>
      relatives
        .map((format) => foldedWords(format.format(offset, unit)).trim())
        .concat(offset === 0 && unit === "day" ? ["tonight"] : [])
  }
}

/** Lower case without diacritics; English number words as digits; "a week" is 1. */
const foldedWords = (text: string): string =>
  ` ${text
    .toLowerCase()
    .normalize("NFKD")
    .replaceAll(/[\u0300-\u036f]/g, "")
    .normalize("NFC")
    .replaceAll(/[’‘]/g, "'")
    .replaceAll(/\b(?:a couple of|a pair of)\b/g, "2")
    .replaceAll(/\ba few\b/g, "3")
    .replaceAll(/\ban? (?=(?:day|week|month|year)\b)/g, "1 ")
    .replaceAll(/\b[a-z]{3,6}\b/g, (word) => (numberWords.includes(word) ? String(numberWords.indexOf(word)) : word))
    .replaceAll(
      /\b(next|last|this|past|coming) (?:business )?/g,
      (_, word: string) => `${word === "past" ? "last" : word === "coming" ? "next" : word} `
    )
    .replaceAll(/\s+/g, " ")} `

/** Matches whole words, except in scripts without spaces. */
const hasPhrase = (text: string, phrase: string): boolean => {
  if (phrase === "") return false
  const isSpaced = !/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Hangul}]/u.test(phrase)
  for (let at = text.indexOf(phrase); at !== -1; at = text.indexOf(phrase, at + 1)) {
    if (!isSpaced) return true
    if (!/[\p{L}\p{N}]/u.test(text[at - 1] ?? "") && !/[\p{L}\p{N}]/u.test(text[at + phrase.length] ?? "")) return true
  }
  return false
}

/** Text that was said on a day, `YYYY-MM-DD`. */
export interface SaidOn {
  readonly day: string
  readonly texts: ReadonlyArray<string>
}

/** "the 24th" */
const toldReachDays = 62

export const tellsDay = (day: string, { day: saidOn, texts }: SaidOn, dates: DateSupport): boolean => {
  if (day === saidOn || (day.endsWith("-01") && saidOn.startsWith(prefixOf(day)))) return true
  const isNear = Math.abs(Date.parse(day) - Date.parse(saidOn)) <= toldReachDays * dayMillis
  const ordinal = new RegExp(`\\b${Number(day.slice(-2))}(?:st|nd|rd|th)\\b`, "i")
  return texts.some((text) => {
    if (dates.isTold(day, text, saidOn) || (isNear && ordinal.test(text))) return true
    return datesInText(text, Number(saidOn.slice(0, 4)))
      .dates.flat()
      .some((told) => told.startsWith(prefixOf(day)))
  })
}

/** A month is read as its first day, a year as that of January. */
export const prefixOf = (day: string): string =>
  day.endsWith("-01-01") ? day.slice(0, 4) : day.endsWith("-01") ? day.slice(0, 7) : day
