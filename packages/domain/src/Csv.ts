/**
 * CSV (RFC 4180) that a spreadsheet shows as it is: texts that it would take for a formula get an apostrophe before
 * them (OWASP: CSV injection). Numbers are written as they are, negative ones too.
 */
export type CsvCell = string | number | null

/** Rows of cells, the heading first; lines end with CR LF. */
export const csvOf = (rows: ReadonlyArray<ReadonlyArray<CsvCell>>): string =>
  rows.map((row) => `${row.map(cellText).join(",")}\r\n`).join("")

/** The last four are full width, which spreadsheets of some languages read as the first ones. */
const formulaStart = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const needsQuotes = /[",\r\n]/

const cellText = (cell: CsvCell): string => {
  if (cell === null) return ""
  if (typeof cell === "number") return String(cell)
  const text = formulaStart.test(cell) ? `'${cell}` : cell
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
