/** Numbers that follow from those of a few texts: sums, differences, counts, and the time between days. */
import { dayMillis } from "@muniment/domain/CalendarDay"
import { datesInText, numberWords } from "@muniment/language/calendar/CalendarWords"

export interface DerivedFrom {
  readonly nowMillis: number | undefined
  /** On which the texts were said. */
  readonly days: ReadonlyArray<string>
  /** Number of the texts' memories. */
  readonly count: number
}

/** More of them make any number. */
const numbersMax = 12

/** As texts. */
export const derivedNumbers = (
  texts: ReadonlyArray<string>,
  { count, days, nowMillis }: DerivedFrom
): ReadonlyArray<string> => {
  const found = texts.map((text) => datesInText(text, Number(days[0]?.slice(0, 4) ?? 0)))
  const numbers = [...new Set(found.flatMap(({ rest }) => numbersIn(rest)))].slice(0, numbersMax)
  const moments = [...new Set([...found.flatMap(({ dates }) => dates.flat()), ...days])]
    .slice(0, numbersMax)
    .map((day) => Date.parse(day))
    .filter((millis) => !Number.isNaN(millis))
  const pairs = numbers.flatMap((one, at) =>
    numbers.slice(at + 1).flatMap((other) => [one + other, Math.abs(one - other)])
  )
  const spans = [...moments, ...(nowMillis === undefined ? [] : [nowMillis])].flatMap((from, at, all) =>
    all.slice(at + 1).flatMap((to) => spansOf(Math.min(from, to), Math.max(from, to)))
  )
  const sum = numbers.reduce((total, one) => total + one, 0)
  const hours = numbers.filter((one) => one > 12 && one < 24).map((one) => one - 12)
  const counts = Array.from({ length: count }, (_, at) => at + 1)
  return [...pairs, sum, ...spans, ...hours, ...counts].map((one) => String(Math.round(one * 100) / 100))
}

const numbersIn = (text: string): ReadonlyArray<number> => [
  ...[...text.replaceAll(/(?<=\d)[,' ](?=\d{3}(?!\d))/g, "").matchAll(/\d+(?:[.,]\d+)?/g)].map(([digits]) =>
    Number(digits.replace(",", "."))
  ),
  ...[...text.toLowerCase().matchAll(/\p{L}+/gu)].flatMap(([word]) => {
    const number = numberWords.indexOf(word)
    return number < 0 ? [] : [number]
  })
]

const yearDays = 365.2425

/** Whole days, weeks, months and years, each rounded down, to the nearest and up. */
const spansOf = (from: number, to: number): ReadonlyArray<number> => {
  const days = (to - from) / dayMillis
  return [1, 7, yearDays / 12, yearDays].flatMap((unit) => [
    Math.floor(days / unit),
    Math.round(days / unit),
    Math.ceil(days / unit)
  ])
}
