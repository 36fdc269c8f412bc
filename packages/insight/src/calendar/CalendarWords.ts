/**
 * English names of months and weekdays, capitalised. A reader that folds case folds these too, but `may` and `march` are
 * also verbs.
 */

/** Index = number of the month - 1. */
export const monthNames: ReadonlyArray<string> =
  "January February March April May June July August September October November December".split(" ")

/** From Monday. */
export const weekdayNames: ReadonlyArray<string> = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(" ")
