/**
 * Durations on the wire (`ttl`, `expiresIn`): a positive integer and one unit of `s m h d w`, at most
 * `Limits.durationDaysMax`.
 */
import { Schema } from "effect"
import { Limits } from "./Limits.ts"

const unitMillis = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const
const pattern = /^([1-9][0-9]{0,11})([smhdw])$/

/** Milliseconds of a duration text, or undefined when its form or size is not allowed. */
export const durationMillis = (text: string, daysMax: number = Limits.durationDaysMax): number | undefined => {
  const match = pattern.exec(text)
  if (match === null) return undefined
  const millis = Number(match[1]) * unitMillis[match[2] as keyof typeof unitMillis]
  return millis <= daysMax * unitMillis.d ? millis : undefined
}

/** Regular expression of the integers from 1 to `max`. */
const upTo = (max: number): string => {
  const digits = String(max)
  const shorter = digits.length === 1 ? [] : [`[1-9][0-9]{0,${digits.length - 2}}`]
  const smaller = [...digits].flatMap((digit, at) => {
    const [low, high] = [at === 0 ? 1 : 0, Number(digit) - 1]
    return high < low ? [] : [`${digits.slice(0, at)}[${low}-${high}][0-9]{${digits.length - at - 1}}`]
  })
  return [...shorter, ...smaller, digits].join("|")
}

/** What `durationMillis` accepts, for those who read the document of the API. */
const documentedPattern = (daysMax: number): string =>
  `^(?:${Object.entries(unitMillis)
    .map(([unit, millis]) => `(?:${upTo(Math.floor((daysMax * unitMillis.d) / millis))})${unit}`)
    .join("|")})$`

/** A duration text of at most `daysMax`. */
export const durationUpTo = (daysMax: number) =>
  Schema.String.check(
    Schema.makeFilter((text: string) => durationMillis(text, daysMax) !== undefined, {
      expected: `a number and a unit (s, m, h, d, w), above zero and at most ${daysMax} days, as in 24h`,
      toJsonSchema: () => ({ pattern: documentedPattern(daysMax) })
    })
  ).annotate({ description: "Duration: a number and a unit (s, m, h, d, w).", examples: ["24h"] })

export const DurationText = durationUpTo(Limits.durationDaysMax)
