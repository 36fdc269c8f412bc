/**
 * Times that callers give, each bounded on both sides (contract: Conventions): a number in another unit, or a year that
 * nobody means, is refused, and the refusal says how it was read and what was probably meant. A text that is no time
 * and looks like a number is read as one. Durations (`ttl`, `expiresIn`) are a positive integer and one unit of
 * `s m h d w`, at most `Limits.durationDaysMax`.
 */
import { DateTime, Effect, Option, Schema, SchemaGetter } from "effect"
import { Limits } from "./Limits.ts"

/** Milliseconds of one, by the names that messages use. */
const units = { seconds: 1_000, milliseconds: 1, microseconds: 1e-3, nanoseconds: 1e-6 } as const
type TimeUnit = keyof typeof units

const yearStart = (year: number): number => new Date(0).setUTCFullYear(year, 0, 1)
const yearMillis = 31_556_952_000

/** First and last moment of a time that is given as a number, whatever it is a time of. */
const earliest = yearStart(Limits.epochYearMin)
const latest = yearStart(Limits.momentYearMax + 1) - 1

const isPlausible = (millis: number): boolean => millis >= earliest && millis <= latest

/** `1970-01-21T18:53:20Z`, as far as a calendar has it. */
export const timeText = (millis: number): string =>
  Math.abs(millis) <= 8.64e15 ? new Date(millis).toISOString().replace(".000Z", "Z") : "beyond every calendar"

/** The unit in which a number is a time of these centuries. */
const unitOf = (value: number, isMeant = isPlausible): TimeUnit | undefined =>
  (Object.keys(units) as ReadonlyArray<TimeUnit>).find((each) => isMeant(value * units[each]))

/** Why a number is not the time that is wanted: how it was read, and in which unit it was probably meant. */
const misreadTime = (value: number, unit: TimeUnit, wanted: string, isMeant = isPlausible): string => {
  const read = `expected ${wanted}; ${value} is ${timeText(value * units[unit])}`
  const meant = unitOf(value, isMeant)
  if (meant === undefined || meant === unit) return read
  const millis = value * units[meant]
  return `${read}; if it is meant in ${meant} (${timeText(millis)}), give ${Math.round(millis / units[unit])}`
}

/** Whether something may end then: in the future, and not too far ahead. */
const isExpiry = (millis: number, nowMillis: number): boolean =>
  millis > nowMillis && millis <= nowMillis + Limits.expiryYearsMax * yearMillis

const whenExpiry = `in the future, at most ${Limits.expiryYearsMax} years ahead`
const wantedExpiry = `whole milliseconds since the epoch, ${whenExpiry}`

/** Why a memory cannot end at this time in milliseconds. */
const whyNoExpiry = (millis: number, nowMillis: number): string | undefined => {
  if (Number.isInteger(millis) && isExpiry(millis, nowMillis)) return undefined
  const isMeant = (meant: number) => isExpiry(meant, nowMillis)
  const why = misreadTime(millis, "milliseconds", wantedExpiry, isMeant)
  return isPlausible(millis) && millis <= nowMillis ? `${why}, in the past; to remove a memory, delete it` : why
}

/** Why a grant cannot end at this time in seconds, other than that it has ended. */
export const whyNoGrantExpiry = (seconds: number, nowMillis: number): string | undefined =>
  seconds > 0 && seconds * units.seconds <= nowMillis + Limits.expiryYearsMax * yearMillis
    ? undefined
    : misreadTime(seconds, "seconds", `whole seconds since the epoch, ${whenExpiry}`)

/** Says of a text in place of a number of milliseconds which number it is; undefined: it is no time. */
const meantBy = (given: unknown): string | undefined => {
  const text = typeof given === "string" ? momentOf(given) : undefined
  return text === undefined ? undefined : `if ${timeText(Date.parse(text))} is meant, give ${Date.parse(text)}`
}

/** When a memory ends, milliseconds since the epoch. */
export const ExpiresAt = Schema.Finite.annotate({
  expected: wantedExpiry,
  meantBy,
  description: `Explicit expiry: ${wantedExpiry}.`,
  examples: [1_893_456_000_000]
}).pipe(
  Schema.decode({
    decode: SchemaGetter.checkEffect((millis: number) =>
      Effect.clockWith((clock) => Effect.succeed(whyNoExpiry(millis, clock.currentTimeMillisUnsafe())))
    ),
    encode: SchemaGetter.passthrough()
  })
)

const recordedTime = (yearMax: number) => {
  const expected = `whole milliseconds since the epoch, of a year from ${Limits.epochYearMin} to ${yearMax}`
  return Schema.Finite.annotate({ expected, meantBy }).check(
    Schema.makeFilter(
      (millis: number) =>
        Number.isInteger(millis) && millis >= earliest && millis < yearStart(yearMax + 1)
          ? undefined
          : misreadTime(millis, "milliseconds", expected),
      { expected, meantBy }
    )
  )
}

/** Time at which a record was stored elsewhere, milliseconds. */
export const RecordedAt = recordedTime(Limits.momentYearMax)
/** The same of its end, which may have passed, and may be "never" as other services write it. */
export const RecordedExpiry = recordedTime(9_999)

/** Years that a text may name: events are older than the services that keep them. */
interface Years {
  readonly min: number
  readonly max: number
}
const saidYears: Years = { min: Limits.momentYearMin, max: Limits.momentYearMax }
const eventYears: Years = { min: 1, max: 9_999 }

const numeric = /^-?\d{1,20}(?:\.\d{1,9})?$/

/** Why a text is not the time that is wanted; a number is read as one. */
const misreadText = (text: string, wanted: string, millis: number, { max, min }: Years): string => {
  if (!Number.isNaN(millis)) return `expected ${wanted}, of a year from ${min} to ${max}; this is ${timeText(millis)}`
  const number = numeric.test(text) ? Number(text) : Number.NaN
  const meant = unitOf(number)
  return meant === undefined
    ? `expected ${wanted}`
    : `expected ${wanted}; ${text} looks like ${meant} since the epoch: give ${timeText(number * units[meant])}`
}

const timeAs = (form: string, wanted: string, millisOf: (text: string) => number, years: Years) =>
  Schema.String.annotate({ expected: wanted }).check(
    Schema.makeFilter(
      (text: string) => {
        const millis = millisOf(text)
        return millis >= yearStart(years.min) && millis < yearStart(years.max + 1)
          ? undefined
          : misreadText(text, wanted, millis, years)
      },
      { expected: wanted, toJsonSchema: () => ({ format: form }) }
    )
  )

const dayIn = (text: string): number => {
  const millis = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(millis) && new Date(millis).toISOString().startsWith(text) ? millis : Number.NaN
}

/** `YYYY-MM-DD`, an existing day. */
export const CalendarDay = timeAs("date", "a day of the calendar, YYYY-MM-DD", dayIn, saidYears)

const moment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/
/** Moment on a day that exists: `Date.parse` takes 30 February for 1 March. */
const momentIn = (text: string): number =>
  moment.test(text) && !Number.isNaN(dayIn(text.slice(0, dayLength))) ? Date.parse(text) : Number.NaN
const dayLength = "2026-01-31".length

/** ISO 8601 date-time with its offset. */
export const Moment = timeAs(
  "date-time",
  "an ISO 8601 date-time with its offset, such as 2026-01-31T09:30:00Z or 2026-01-31T10:30:00+01:00",
  momentIn,
  saidYears
)

/** A text of any of these forms, or a number of seconds or milliseconds, as a text with its offset; else undefined. */
const momentOf = (given: string | number): string | undefined => {
  const text = String(given).trim()
  if (numeric.test(text)) {
    const unit = unitOf(Number(text))
    return unit === "seconds" || unit === "milliseconds"
      ? new Date(Math.round(Number(text) * units[unit])).toISOString()
      : undefined
  }
  if (typeof given === "number") return undefined
  const iso = text.replace(/^(\d{4}-\d{2}-\d{2}) (?=\d)/, "$1T")
  const whole = /^\d{4}-\d{2}-\d{2}$/.test(iso) ? `${iso}T00:00:00Z` : hasOffset.test(iso) ? iso : `${iso}Z`
  return Number.isNaN(momentIn(whole)) ? undefined : whole
}

/** The moment that `SaidAt` or `AnyMoment` has let through, ISO 8601 with its offset; without one in UTC. */
export const momentText = (given: string | number): string => momentOf(given)!

/** Why a text, or a number, is not a moment in a form that is taken; undefined: it is one. */
const momentFault = (wanted: string, isForm: (text: string) => boolean) => (given: string | number) => {
  const isNumber = numeric.test(String(given))
  const millis = isNumber || isForm(String(given)) ? momentIn(momentOf(given) ?? "") : Number.NaN
  if (millis >= yearStart(saidYears.min) && millis < yearStart(saidYears.max + 1)) return undefined
  return isNumber
    ? misreadTime(Number(given), "milliseconds", wanted)
    : misreadText(String(given), wanted, millis, saidYears)
}

const anyMoment = (wanted: string, isForm: (text: string) => boolean) =>
  Schema.Union([Schema.String, Schema.Finite])
    .annotate({ expected: wanted })
    .check(Schema.makeFilter(momentFault(wanted, isForm), { expected: wanted }))

const saidForms =
  "an ISO 8601 date-time with its offset, such as 2026-01-31T09:30:00Z, or seconds or milliseconds since the epoch"

/** When something was said, as this service names it: its text has an offset. */
export const SaidAt = anyMoment(saidForms, (text) => moment.test(text))

/** The same in a URL. */
export const SaidAtText = Schema.String.annotate({ expected: saidForms }).check(
  Schema.makeFilter(
    momentFault(saidForms, (text) => moment.test(text)),
    {
      expected: saidForms,
      toJsonSchema: () => ({ format: "moment" })
    }
  )
)

/** The same as model APIs and chat exports name it: a text without an offset is in UTC. */
export const AnyMoment = anyMoment("an ISO 8601 date-time, or seconds or milliseconds since the epoch", () => true)

/** Milliseconds of what `IsoInstant` has let through, without an offset in UTC; of a date its beginning. */
export const instantIn = (text: string): number =>
  text.length === dayLength ? dayIn(text) : momentIn(hasOffset.test(text) ? text : `${text}Z`)
const hasOffset = /(?:Z|[+-]\d{2}:\d{2})$/

/** ISO 8601 date or date-time. */
export const IsoInstant = timeAs("date-time", "an ISO 8601 date or date-time", instantIn, eventYears)

const zoneLengthMax = 64

/** The calendar of a person. */
export const TimeZone = Schema.String.check(
  Schema.makeFilter((text: string) => text.length <= zoneLengthMax && Option.isSome(DateTime.zoneMakeNamed(text)), {
    expected: "the IANA name of a time zone, such as Europe/Berlin",
    toJsonSchema: () => ({ minLength: 1, maxLength: zoneLengthMax, format: "iana-time-zone" })
  })
).annotate({ examples: ["Europe/Berlin"] })

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

/** Pattern that `durationMillis` accepts, for readers of the API's document. */
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
