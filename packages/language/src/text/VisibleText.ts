/**
 * Removes invisible characters, which can carry orders to a model unseen by people (Unicode TR 36, UTS 39): bidi controls,
 * tag characters, zero-width text, variation selectors that encode bytes. Runs before any other check.
 *
 * Kept: joiners and variation selectors in emoji and in Indic or Persian words, line feeds and tabs.
 */
import type { Schema } from "effect"

const lineBreak = /\r\n?|[\u0085\u2028\u2029]/g
const controls = /[^\P{Cc}\n\t]/gu
/** Bidi controls, zero-width characters, selectors, tags, fillers, annotation marks. */
const ignorable = /[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]+/gu
/** One selector and one joiner are typography (some emoji have both); longer runs are hidden bytes. */
const typographyLengthMax = 2

export const visibleText = (text: string): string =>
  text
    .toWellFormed()
    .replace(lineBreak, "\n")
    .replace(controls, "")
    .replace(ignorable, (run) => (run.length <= typographyLengthMax && [...run].every(isTypography) ? run : ""))

/** The same on one line. */
export const visibleLine = (text: string): string => visibleText(text).replaceAll(/\s+/g, " ").trim()

const isTypography = (character: string): boolean =>
  character === "\u200c" || character === "\u200d" || (character >= "\ufe00" && character <= "\ufe0f")

/** At most `lengthMax` UTF-16 units. A clipped text ends at a word if possible, with an ellipsis. */
export const plainText = (text: string, lengthMax: number): string => {
  // Clipped before cleaning, with a margin: the cost depends on the bound, not on the text.
  const line = visibleLine(text.slice(0, lengthMax * 2))
  if (line.length <= lengthMax) return line
  const room = line.slice(0, lengthMax - 1)
  const lastBlank = room.lastIndexOf(" ")
  return `${(lastBlank > lengthMax / 2 ? room.slice(0, lastBlank) : room).toWellFormed().trimEnd()}…`
}

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
