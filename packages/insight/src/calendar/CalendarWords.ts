/**
 * English names of months and weekdays, as they are written. Readers that fold case fold these too; `May` and
 * `March` are verbs in lower case, so not every reader may.
 */

/** The index of a month is its number less one. */
export const monthNames: ReadonlyArray<string> =
  "January February March April May June July August September October November December".split(" ")

/** From Monday. */
export const weekdayNames: ReadonlyArray<string> = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(" ")
