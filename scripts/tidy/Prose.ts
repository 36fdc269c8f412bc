/** Text for readers: the comments of a source file, the paragraphs of a Markdown page. */
import { isNode, type SourceFile, walk } from "./SourceFile.ts"

export interface Prose {
  readonly path: string
  /** Where it begins. */
  readonly line: number
  /** One line, without marks of comments. */
  readonly text: string
}

export const commentsOf = (file: SourceFile): ReadonlyArray<Prose> =>
  [...withoutLiterals(file).matchAll(commentPattern)].map(({ index, 0: comment }) => ({
    path: file.path,
    line: file.lineAt(index),
    text: asOneLine(file.text.slice(index, index + comment.length).replace(commentMarks, ""))
  }))

export const paragraphsOf = (path: string, markdown: string): ReadonlyArray<Prose> => {
  let line = 1
  return markdown.split(/(?<=\n)(?=\n)/).map((paragraph) => {
    const prose = { path, line, text: asOneLine(paragraph) }
    line += paragraph.split("\n").length - 1
    return prose
  })
}

/** Line comments that follow each other are one. */
const commentPattern = /\/\*[\s\S]*?\*\/|\/\/.*(?:\n[ \t]*\/\/.*)*/g
const commentMarks = /^[ \t]*(?:\/\*\*?|\*\/|\/\/|\*)|\*\/$/gm

const asOneLine = (text: string): string => text.replace(/\s+/g, " ").trim()

/** The text with blanks for strings, templates and regular expressions, which may hold what looks like a comment. */
const withoutLiterals = (file: SourceFile): string => {
  let text = ""
  let end = 0
  walk(file.program, (node) => {
    if (node.type !== "TemplateElement" && !(node.type === "Literal" && isText(node["raw"]))) return
    if (!isNode(node) || node.start < end) return
    text += file.text.slice(end, node.start) + " ".repeat(node.end - node.start)
    end = node.end
  })
  return text + file.text.slice(end)
}

const isText = (raw: unknown): boolean => typeof raw === "string" && /^["'/]/.test(raw)
