/** Long texts as several: between paragraphs where they can be cut there, else between lines, else in them. */

/** Pieces of at most `lengthMax` characters each; a text that fits is one. */
export const pieces = (text: string, lengthMax: number): ReadonlyArray<string> =>
  text.length <= lengthMax ? [text] : joined(text.split(/\n\s*\n/), "\n\n", lengthMax)

/** Paragraphs together up to the bound. */
export const joined = (parts: ReadonlyArray<string>, separator: string, lengthMax: number): ReadonlyArray<string> => {
  const found: Array<string> = []
  let isOpen = false
  for (const part of parts) {
    const last = found.at(-1)
    if (isOpen && last !== undefined && last.length + separator.length + part.length <= lengthMax) {
      found[found.length - 1] = `${last}${separator}${part}`
    } else found.push(...(part.length <= lengthMax ? [part] : cut(part, lengthMax)))
    isOpen = true
  }
  return found
}

const cut = (text: string, lengthMax: number): ReadonlyArray<string> => {
  const lines = text.split("\n")
  if (lines.length > 1) return joined(lines, "\n", lengthMax)
  const characters = [...text]
  // A character may be two UTF-16 units.
  const size = characters.length === text.length ? lengthMax : lengthMax >> 1
  const parts: Array<string> = []
  for (let at = 0; at < characters.length; at += size) parts.push(characters.slice(at, at + size).join(""))
  return parts
}
