/** Times and sizes as people read them. */
import type { WebhookTrial } from "@muniment/domain/Events"
import { now } from "./browser.ts"
import { count } from "./words.ts"

/** Outcome of an action, as a notice shows it. */
export type Outcome = { readonly tone: "good" | "bad"; readonly text: string }

export const trialOutcome = ({ delivered, reason, tookMillis }: WebhookTrial): Outcome =>
  delivered
    ? { tone: "good", text: `The receiver took it after ${count(tookMillis)} ms.` }
    : { tone: "bad", text: `The receiver did not take it: ${reason ?? "no reason is known"}.` }

const short = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 })

/** Text of a rate or a share: three digits. */
export const decimal = (value: number): string => short.format(value)

export const millis = (value: number): string =>
  value >= 10_000 ? `${decimal(value / 1_000)} s` : `${decimal(value)} ms`

export const bytes = (value: number): string => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"]
  let unit = 0
  let amount = value
  while (amount >= 1_024 && unit < units.length - 1) {
    amount /= 1_024
    unit += 1
  }
  return `${unit === 0 ? amount : amount.toFixed(1)} ${units[unit]}`
}

const minute = 60
const hour = 3_600
const day = 86_400

/** 65 -> "1 min". */
export const duration = (seconds: number): string => {
  const size = Math.abs(seconds)
  if (size < minute - 0.5) return `${Math.round(size)} s`
  if (size < hour - minute / 2) return `${Math.round(size / minute)} min`
  if (size < 2 * day) return `${Math.round(size / hour)} h`
  return `${Math.round(size / day)} days`
}

export const ago = (at: number): string => {
  const seconds = (now() - at) / 1_000
  return seconds < 0 ? `in ${duration(seconds)}` : `${duration(seconds)} ago`
}

/** A dash for what was not measured. */
export const shownIf = (value: number | null | undefined, text: (value: number) => string): string =>
  value === null || value === undefined ? "–" : text(value)

/** 2026-11-25 09:30:05 */
export const exactMoment = (at: number): string => `${moment(at)}:${String(new Date(at).getSeconds()).padStart(2, "0")}`

/** 2026-11-25 09:30, in the reader's time zone. */
export const moment = (at: number): string => `${dayOf(at)} ${clockTime(at)}`

const two = (value: number): string => String(value).padStart(2, "0")

/**
 * Days, times of day and marks of a time axis in the reader's time zone.
 *
 * 2026-11-25
 */
const dayOf = (at: number): string => {
  const date = new Date(at)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** 09:30 */
const clockTime = (at: number): string => {
  const date = new Date(at)
  return `${two(date.getHours())}:${two(date.getMinutes())}`
}

interface TimeMark {
  readonly at: number
  readonly text: string
}

const hourMinutes = 60
const dayMinutes = 24 * hourMinutes

/** Minutes between marks. Of more than a day and a quarter each mark is a day. */
const steps = [
  1,
  2,
  5,
  10,
  15,
  30,
  hourMinutes,
  2 * hourMinutes,
  3 * hourMinutes,
  6 * hourMinutes,
  dayMinutes,
  2 * dayMinutes,
  7 * dayMinutes
]
const intervalsMax = 5
const minuteMillis = 60_000

/** Marks of a time axis at round times, few enough for a narrow chart: one at midnight says the day, others the time. */
export const timeMarks = (from: number, to: number): ReadonlyArray<TimeMark> => {
  const step = steps.find((minutes) => (to - from) / (minutes * minuteMillis) <= intervalsMax) ?? 7 * dayMinutes
  const first = new Date(from)
  const marks: Array<TimeMark> = []
  for (let minutes = 0; ; minutes += step) {
    // By the clock of the wall, which some days turn forward or back.
    const date = new Date(first.getFullYear(), first.getMonth(), first.getDate(), 0, minutes)
    const at = date.getTime()
    if (at > to) return marks
    const isMidnight = date.getHours() === 0 && date.getMinutes() === 0
    if (at >= from && at !== marks.at(-1)?.at) {
      marks.push({ at, text: isMidnight ? dayOf(at).slice("2026-".length) : clockTime(at) })
    }
  }
}
