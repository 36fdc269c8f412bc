/** Questions about parsed JSON. Loads nothing, for threads and the console. */
import type { JsonObject } from "./Memory.ts"

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const exponentFrom = 1e21

/**
 * From here on JSON is written with an exponent, which every reader takes for a double.
 *
 * Whether a number is written in JSON as the digits of an integer that not every reader keeps: 2^53 and more, below
 * 1e21. It may have come with a point or an exponent.
 */
export const isUnsafeInteger = (value: number): boolean =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < exponentFrom
