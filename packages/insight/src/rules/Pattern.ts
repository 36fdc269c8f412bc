/**
 * Patterns of the rules: short regular expressions with names of word lists in braces (`{be}`, `{month}`) and values in
 * angle brackets (`<city>`), which become named groups. The lists are data (lexicon/), so that no pattern is long.
 */
import { lists, values } from "./lexicon/lists.ts"

/** Matches from the beginning, up to the end of a word. */
export const pattern = (says: string): RegExp => new RegExp(`^(?:${expanded(says)})(?![\\p{L}\\p{N}])`, "u")

/** Matches anywhere, without regard to case. */
export const anywhere = (says: string): RegExp => new RegExp(expanded(says), "iu")

export const expanded = (says: string): string =>
  says
    .replace(/(?<!\\p)\{([a-z]\w*)\}/gi, (_, name: string) => `(?:${alternatives(name)})`)
    .replace(/<(\w+)>/g, (_, name: string) => `(?<${name}>${valueOf(name)})`)

const alternatives = (name: string): string => {
  const words = lists[name]
  if (words === undefined) throw new Error(`no list ${name}`)
  return words.toSorted((one, other) => other.length - one.length).join("|")
}

const valueOf = (name: string): string => {
  const value = values[name]
  if (value === undefined) throw new Error(`no value ${name}`)
  return expanded(value)
}
