/** Pieces of a text in Markdown, each with the headings above it. */

/**
 * Long texts as several: between paragraphs where they can be cut there, else between lines, else in them.
 *
 * Pieces of at most `lengthMax` characters each; a text that fits is one.
 */
export const pieces = (text: string, lengthMax: number): ReadonlyArray<string> =>
  text.length <= lengthMax ? [text] : joined(text.split(/\n\s*\n/), "\n\n", lengthMax)

/** Paragraphs together up to the bound. */
const joined = (parts: ReadonlyArray<string>, separator: string, lengthMax: number): ReadonlyArray<string> => {
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

/** Characters; longer texts are cut between paragraphs. */
export const noteLengthMax = 2_000

export const noteTexts = (body: string): ReadonlyArray<string> =>
  sectionsOf(body).flatMap(({ heading, paragraphs }) =>
    joined(paragraphs, "\n\n", noteLengthMax).map((piece) => (heading === "" ? piece : `${heading}: ${piece}`))
  )

/** The same with a piece for each item of a list, with what is indented below it. */
export const noteEntries = (body: string): ReadonlyArray<string> =>
  sectionsOf(body).flatMap(({ heading, paragraphs }) =>
    paragraphs
      .flatMap(entriesOf)
      .flatMap((entry) => joined([entry], "\n\n", noteLengthMax))
      .map((piece) => (heading === "" ? piece : `${heading}: ${piece}`))
  )

const item = /^[-*+] |^\d+[.)] /

const entriesOf = (paragraph: string): ReadonlyArray<string> => {
  if (!item.test(paragraph)) return [paragraph]
  const entries: Array<string> = []
  for (const line of paragraph.split("\n")) {
    if (item.test(line)) entries.push(line.replace(item, ""))
    else entries[entries.length - 1] += `\n${line}`
  }
  return entries
}

interface Section {
  /** With those above it: `Trips > Lisbon`. */
  readonly heading: string
  readonly paragraphs: ReadonlyArray<string>
}

/** Headings and blank lines in fenced code are code. */
const sectionsOf = (body: string): ReadonlyArray<Section> => {
  const sections: Array<Section> = []
  const headings: Array<string> = []
  let paragraphs: Array<string> = []
  let lines: Array<string> = []
  let isCode = false
  const endParagraph = (): void => {
    const paragraph = lines.join("\n").trim()
    if (paragraph !== "") paragraphs.push(paragraph)
    lines = []
  }
  const close = (): void => {
    endParagraph()
    sections.push({ heading: headings.filter((name) => name !== "").join(" > "), paragraphs })
    paragraphs = []
  }
  for (const line of body.split("\n")) {
    if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode
    const [, marks = "", name] = isCode ? [] : (/^(#{1,6})\s+(.*?)\s*#*$/.exec(line) ?? [])
    if (name === undefined) {
      if (line.trim() === "" && !isCode) endParagraph()
      else lines.push(line)
      continue
    }
    close()
    headings.length = Math.min(headings.length, marks.length - 1)
    while (headings.length < marks.length - 1) headings.push("")
    headings.push(name)
  }
  close()
  return sections
}
