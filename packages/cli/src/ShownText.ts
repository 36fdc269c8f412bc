/**
 * Untrusted text (a grant, an attestation) made safe for a terminal: characters that move the cursor, or hide or reorder
 * the text beside them, are written as escapes.
 */
import type { Answer } from "@muniment/client/Contract"

// Controls, and the invisible and bidirectional marks of Unicode.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

export const shownText = (text: string): string =>
  text.replaceAll(hidden, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)

/** Rows of text as aligned columns for a terminal; the last column is not padded. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths: Array<number> = []
  for (const row of rows) {
    for (const [column, text] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, text.length)
  }
  return rows
    .map((row) =>
      row.map((text, column) => (column === row.length - 1 ? text : text.padEnd(widths[column]!))).join("  ")
    )
    .join("\n")
}

/** Milliseconds since the epoch -> `2026-11-21 09:14` in UTC; undefined -> a dash. */
export const timeText = (millis: number | undefined): string =>
  millis === undefined ? "-" : new Date(millis).toISOString().slice(0, 16).replace("T", " ")

const charactersMax = 300

/** A memory as one line for a terminal: its kind, the fields of its data, its id. */
export const memoryLine = ({ data, id, kind }: Pick<Answer<"get">["memory"], "data" | "id" | "kind">): string => {
  const text = Object.entries(data)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ")
  const cut = text.length > charactersMax ? `${text.slice(0, charactersMax)}...` : text
  return `${shownText(kind)}  ${shownText(cut)}  (${id})`
}
