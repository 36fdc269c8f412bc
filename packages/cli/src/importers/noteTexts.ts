/** Pieces of a text in Markdown, each with the headings above it. */
import { joined } from "./pieces.ts"

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
