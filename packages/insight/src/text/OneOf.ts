/** A regular expression of many alternatives, which stand in the lexicon as data. */

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
