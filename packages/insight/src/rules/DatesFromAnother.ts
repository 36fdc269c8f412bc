/**
 * Days counted from another event than the message: `a week later`, `two days after that`, `the Saturday before the
 * wedding`. They are resolved from the day spoken of before, if this message named it or `the 21st` beside them agrees;
 * else they are none.
 */
import type { EventDate } from "./EventDate.ts"

const dayMillis = 86_400_000

/** All dates of `text` if one hangs on another event, else none; `near` is the day that this message named before. */
export const datesFromAnother = (
  text: string,
  anchor: string | undefined,
  near: string | undefined
): ReadonlyArray<EventDate> => {
  const match = counted.exec(text) ?? named.exec(text)
  if (match === null) return []
  const days = [...text.matchAll(ordinal)].slice(0, 1)
  const start = resolved(match, near ?? anchor)
  const agrees = days.length === 0 ? near !== undefined : days[0]?.[1] === String(Number(start?.slice(-2)))
  const day = agrees ? start : undefined
  return [match, ...days].map((part) => ({
    text: part[0],
    index: part.index,
    start: day,
    end: undefined,
    absolute: day === undefined ? part[0] : `on ${day}`
  }))
}

const counted =
  /\b((?!the|that)\w+|couple of) (day|week|month|year)s? (later|earlier|after|before|prior|from (?:then|that|the|my|our))\b(?: that)?( (?:the(?! \d)|my|our|\w+'s) \w+| \w+ing)?/i
const named =
  /\b(?:the (?:\w+day|weekend|week|month|year) (?:after|before|following)\b(?! (?:next|last)\b)|(?:the|that) following \w+|later that \w+|the day (?:after|before) (?=the|my|our|\w+'s))/i
const ordinal = /(?:\bon )?\bthe (\d{1,2})(?:st|nd|rd|th)\b(?! (?:of|floor|street|grade|birthday|anniversary))/g

const numbers = ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
const unitDays: Readonly<Record<string, number>> = { day: 1, week: 7 }

const resolved = (match: RegExpExecArray, from: string | undefined): string | undefined => {
  const [, count = "", unit = "", way = "", event] = match
  const days = unitDays[unit.toLowerCase()]
  const many = /^an?$/i.test(count) ? 1 : Number(count) || numbers.indexOf(count.toLowerCase())
  const isLater = /^(?:later|after)$/i.test(way)
  if (from === undefined || days === undefined || many < 1 || !isLater || event !== undefined) return undefined
  const millis = Date.parse(`${from.slice(0, 10)}T12:00:00Z`) + many * days * dayMillis
  return new Date(millis).toISOString().slice(0, 10)
}
