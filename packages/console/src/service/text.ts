/** Times and sizes as people read them. */
import type { WebhookTrial } from "@muniment/domain/Events"
import { now } from "./browser.ts"
import { clockTime, dayOf } from "./dates.ts"
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
