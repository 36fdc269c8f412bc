/** A date that a sentence names. */
export interface EventDate {
  /** As written, and where. */
  readonly text: string
  readonly index: number
  /** ISO 8601 date, or date and time (UTC) when a time was written; undefined when the day is open. */
  readonly start: string | undefined
  readonly end: string | undefined
  /** What a sentence that stands alone says instead: `on 2026-11-19`, `in December 2026`. */
  readonly absolute: string
}
