/**
 * Search in the handbook: sections that have all words of a question, those with the words in their heading first.
 * Pages are read at the first search and kept as text; a search is a walk through some 300 KB.
 */
import { marked } from "marked"
import { Limits } from "@muniment/domain/Limits"
import { type HandbookPage, handbookPagePath } from "./HandbookPages.ts"
import { headingId } from "./MarkdownPage.ts"

/** A heading of a page with what stands below it, up to the next one. */
export interface HandbookSection {
  readonly page: string
  readonly heading: string
  /** Path with anchor. */
  readonly link: string
  readonly text: string
}

export interface HandbookMatch extends HandbookSection {
  /** Some words around the first place of a word of the question. */
  readonly excerpt: string
}

const excerptCharacters = 180

export const sectionsOf = (page: HandbookPage, markdown: string): ReadonlyArray<HandbookSection> => {
  const sections: Array<HandbookSection> = []
  let heading = page.title
  let link: string = handbookPagePath(page)
  let text: Array<string> = []
  const close = (): void => {
    if (text.length > 0) sections.push({ page: page.title, heading, link, text: text.join(" ").replace(/\s+/g, " ") })
    text = []
  }
  for (const token of marked.lexer(markdown)) {
    if (token.type === "heading") {
      close()
      heading = token.text.replaceAll("`", "")
      link = `${handbookPagePath(page)}#${headingId(token.text)}`
    }
    text.push(token.raw)
  }
  close()
  return sections
}

/** Best first, at most `Limits.handbookMatchesMax`; nothing for a question without a word. */
export const searchSections = (
  sections: ReadonlyArray<HandbookSection>,
  question: string
): ReadonlyArray<HandbookMatch> => {
  const words = question.toLowerCase().match(/[\p{L}\p{N}_-]+/gu) ?? []
  if (words.length === 0) return []
  return sections
    .flatMap((section) => {
      const text = section.text.toLowerCase()
      if (!words.every((word) => text.includes(word))) return []
      const heading = section.heading.toLowerCase()
      const inHeading = words.filter((word) => heading.includes(word)).length
      const often = words.reduce((sum, word) => sum + Math.min(5, text.split(word).length - 1), 0)
      return [{ section, score: inHeading * 20 + often - section.text.length / 5_000 }]
    })
    .toSorted((one, other) => other.score - one.score)
    .slice(0, Limits.handbookMatchesMax)
    .map(({ section }) => ({ ...section, excerpt: excerptOf(section.text, words[0]!) }))
}

const excerptOf = (text: string, word: string): string => {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - excerptCharacters / 3)
  const start = at === 0 ? 0 : text.indexOf(" ", at) + 1
  const part = text.slice(start, start + excerptCharacters)
  return `${start > 0 ? "… " : ""}${part}${start + excerptCharacters < text.length ? " …" : ""}`
}
