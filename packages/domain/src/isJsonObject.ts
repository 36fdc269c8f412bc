/** Whether a parsed JSON value is an object: neither null nor an array. Loads nothing, for threads and the console. */
import type { JsonObject } from "./Memory.ts"

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
