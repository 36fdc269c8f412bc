/** JSON values for a prompt: long texts clipped; and the list of all texts in a value. */
import type { Schema } from "effect"

/** The same value with every text at most `lengthMax` characters long. */
export const clippedJson = (value: Schema.Json, lengthMax: number): Schema.Json => {
  if (typeof value === "string") return clippedText(value, lengthMax)
  if (value === null || typeof value !== "object") return value
  if (isJsonArray(value)) return value.map((inner) => clippedJson(inner, lengthMax))
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, clippedJson(inner, lengthMax)]))
}

export const clippedText = (text: string, lengthMax: number): string =>
  text.length <= lengthMax
    ? text
    : `${text
        .slice(0, lengthMax - 1)
        .replace(/[\ud800-\udbff]$/, "")
        .toWellFormed()}…`

/** All texts in a value, in order; numbers as text. */
export const leafTexts = (value: Schema.Json): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (typeof value === "number") return [String(value)]
  if (value === null || typeof value !== "object") return []
  return (isJsonArray(value) ? value : Object.values(value)).flatMap(leafTexts)
}

export const isJsonArray = (value: Schema.Json): value is ReadonlyArray<Schema.Json> => Array.isArray(value)
