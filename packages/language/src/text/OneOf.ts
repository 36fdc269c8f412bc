/** Regular expressions of many alternatives, which stand as lists of words and phrases. */

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

/** Whole words and phrases, in any case. */
export const wordOf = (alternatives: ReadonlyArray<string>, flags = "i"): RegExp =>
  oneOf(alternatives, { before: String.raw`\b`, after: String.raw`\b`, flags })

/** Any of some patterns, which have the same flags. */
export const either = (first: RegExp, ...others: ReadonlyArray<RegExp>): RegExp => {
  const patterns = [first, ...others]
  if (others.some(({ flags }) => flags !== first.flags)) throw new Error(`flags of ${first} differ from another's`)
  return new RegExp(patterns.map(({ source }) => source).join("|"), first.flags)
}
