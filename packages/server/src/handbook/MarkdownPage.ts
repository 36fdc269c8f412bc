/**
 * Markdown of the handbook to HTML, by `marked`.
 *
 * Invariants: HTML inside Markdown is shown as text; a link leads to a page of the handbook or to the web. A link to
 * another file of the repository becomes its text and, unless that says it, the file's path; any other becomes its text.
 */
import { posix } from "node:path"
import { Marked, type Tokens, marked } from "marked"
import { Limits } from "@muniment/domain/Limits"
import { type HandbookPage, escapeHtml, handbookPagePath, handbookPages } from "./HandbookPages.ts"

/** `file` is where the text stands in the repository: its links are relative to that. */
export const renderMarkdown = (markdown: string, file: string): string =>
  new Marked({
    gfm: true,
    renderer: {
      html: ({ text }) => escapeHtml(text),
      image: ({ text }) => escapeHtml(text),
      heading({ depth, text, tokens }) {
        return `<h${depth} id="${headingId(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens)
        const target = linkTarget(href, file)
        return target === undefined
          ? text + pathHint(href, file, text)
          : `<a href="${escapeHtml(target)}" rel="noreferrer">${text}</a>`
      }
    }
  })
    .parse(markdown, { async: false })
    // They scroll sideways, by keyboard too.
    .replace(/<(pre|table)>/g, '<$1 tabindex="0">')

/** Links to the sections of a page that has several, folded. */
export const contentsOf = (markdown: string): string => {
  const headings = marked.lexer(markdown).filter((token) => token.type === "heading" && token.depth === 2)
  if (headings.length < 3) return ""
  const links = headings.map(
    ({ text }: Tokens.Generic) => `<li><a href="#${headingId(text)}">${escapeHtml(text.replaceAll("`", ""))}</a></li>`
  )
  return `<aside aria-label="Contents"><details open><summary>Contents</summary>\n<ul>\n${links.join("\n")}\n</ul></details></aside>\n`
}

/** Undefined: a file that the handbook does not have. */
const linkTarget = (href: string, file: string): string | undefined => {
  if (href.startsWith("#") || /^https?:\/\//.test(href)) return href
  const [path = "", anchor] = href.split("#")
  const target = posix.join(posix.dirname(file), path)
  const page = handbookPages.find((each) => each.file === target)
  if (page === undefined) return undefined
  return anchor === undefined ? handbookPagePath(page) : `${handbookPagePath(page)}#${anchor}`
}

/** Where to find a file that the handbook does not have; empty if `text` names it, or if it is outside. */
const pathHint = (href: string, file: string, text: string): string => {
  const path = posix.join(posix.dirname(file), href.split("#")[0]!)
  const name = text
    .replace(/<[^>]*>/g, "")
    .split("/")
    .at(-1)!
  const isNamed = path.endsWith(name) || posix.basename(path) === `${name}.ts`
  if (/^[a-z]+:|^\//i.test(href) || path.startsWith("..") || isNamed) return ""
  return ` (<code>${escapeHtml(path)}</code>)`
}

/** As GitHub makes them, so that an anchor works in both places. */
const headingId = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-")

/**
 * Search in the handbook: sections that have all words of a question, those with the words in their heading first.
 * Pages are read at the first search and kept as text; a search is a walk through some 300 KB.
 *
 * A heading of a page with what stands below it, up to the next one.
 */
interface HandbookSection {
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
