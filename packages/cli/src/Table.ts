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
