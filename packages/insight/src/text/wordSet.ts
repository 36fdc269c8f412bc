/** Words of a list, as it stands in the source: any white space between them. */
export const wordSet = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ""))

/** Phrases of a list, one a line or separated by ` / `. */
export const phrases = (text: string): ReadonlyArray<string> =>
  text.split(/\s*\n\s*|\s+\/\s+/).filter((phrase) => phrase !== "")

/** Rows of a table, one a line, their cells between ` :: `. */
export const rowsOf = (table: string): ReadonlyArray<ReadonlyArray<string>> =>
  table
    .trim()
    .split("\n")
    .map((line) => line.trim().split(" :: "))
