/** A regular expression of many alternatives, which stand in the lexicon as data. */

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

export interface Surroundings {
  /** Sources of what stands before and behind the alternative. */
  readonly before?: string
  readonly after?: string
  readonly flags?: string
}

export const oneOf = (alternatives: ReadonlyArray<string>, around: Surroundings = {}): RegExp => {
  const { after = "", before = "", flags = "" } = around
  return new RegExp(`${before}(?:${alternatives.join("|")})${after}`, flags)
}
