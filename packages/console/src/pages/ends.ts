/** Ends of memories that a form offers: words, and milliseconds from now; null: none. */
const hourMillis = 3_600_000
const dayMillis = 24 * hourMillis

export const ends = {
  hour: ["in an hour", hourMillis],
  day: ["in a day", dayMillis],
  week: ["in 7 days", 7 * dayMillis],
  month: ["in 30 days", 30 * dayMillis],
  year: ["in 365 days", 365 * dayMillis],
  never: ["never", null]
} as const

export type End = keyof typeof ends

export const endNames = Object.keys(ends) as ReadonlyArray<End>
