/** Days and times of day in the reader's time zone. */

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
