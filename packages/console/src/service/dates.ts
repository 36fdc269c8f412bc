/** Days, times of day and marks of a time axis in the reader's time zone. */

const two = (value: number): string => String(value).padStart(2, "0")

/** 2026-11-25 */
export const dayOf = (at: number): string => {
  const date = new Date(at)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** 09:30 */
export const clockTime = (at: number): string => {
  const date = new Date(at)
  return `${two(date.getHours())}:${two(date.getMinutes())}`
}

interface TimeMark {
  readonly at: number
  readonly text: string
}

const hour = 60
const day = 24 * hour

/** Minutes between marks. Of more than a day and a quarter each mark is a day. */
const steps = [1, 2, 5, 10, 15, 30, hour, 2 * hour, 3 * hour, 6 * hour, day, 2 * day, 7 * day]
const intervalsMax = 5
const minuteMillis = 60_000

/** Marks of a time axis at round times, few enough for a narrow chart: one at midnight says the day, others the time. */
export const timeMarks = (from: number, to: number): ReadonlyArray<TimeMark> => {
  const step = steps.find((minutes) => (to - from) / (minutes * minuteMillis) <= intervalsMax) ?? 7 * day
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
