/**
 * Markdown of the handbook to HTML, by `marked`.
 *
 * Invariants: HTML inside Markdown is shown as text; a link leads to a page of the handbook or to the web. A link to
 * another file of the repository becomes its text and, unless that says it, the file's path; any other becomes its text.
 */
import { posix } from "node:path"
import { marked, Marked, type Tokens } from "marked"
import { escapeHtml, handbookPagePath, handbookPages } from "./HandbookPages.ts"

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
export const headingId = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-")
