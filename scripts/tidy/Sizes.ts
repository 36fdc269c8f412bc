/** Sizes (house style, section 4) and the comment that every module opens with (section 2). */
import type { Finding } from "./Finding.ts"
import { functionsOf, isNode, type SourceFile, type SyntaxNode, walk } from "./SourceFile.ts"

const fileLinesMax = 600
const moduleLinesMax = 350
const largeModulesPercentMax = 10
const functionLinesMax = 70
const patternLengthMax = 200
const headerLinesMin = 2
const headerLinesMax = 8
/** A file that small may say in one line what it owns. */
const oneLineHeaderFileLinesMax = 150

export const sizeFindings = (file: SourceFile): ReadonlyArray<Finding> => {
  const findings: Array<Finding> = []
  if (file.lineCount > fileLinesMax) {
    const message = `${file.lineCount} lines, at most ${fileLinesMax}`
    findings.push({ path: file.path, line: 0, rule: "file-size", message })
  }
  // A suite is a function only in form: it reads from top to bottom as a list of sentences.
  for (const { line, lines } of file.path.startsWith("test/") ? [] : functionsOf(file)) {
    if (lines <= functionLinesMax) continue
    const message = `${lines} lines with those of nested functions, at most ${functionLinesMax}`
    findings.push({ path: file.path, line, rule: "function-size", message })
  }
  return findings
}

/** A longer pattern is a list of words, which is joined by `oneOf`, or several patterns (`either`). */
export const patternFindings = (file: SourceFile): ReadonlyArray<Finding> => {
  if (file.packageName === undefined) return []
  const findings: Array<Finding> = []
  const measure = ({ end, start }: SyntaxNode): void => {
    if (end - start <= patternLengthMax) return
    const message = `a regular expression of ${end - start} characters, at most ${patternLengthMax}`
    findings.push({ path: file.path, line: file.lineAt(start), rule: "pattern-size", message })
  }
  walk(file.program, (node) => {
    if (node.type === "Literal" && node["regex"] !== undefined) measure(node)
    for (const text of node.type === "NewExpression" ? textsOfPattern(node) : []) measure(text)
  })
  return findings
}

/** What is written out in `new RegExp(...)`: texts, and parts of templates. */
const textsOfPattern = ({ arguments: given, callee }: SyntaxNode): ReadonlyArray<SyntaxNode> => {
  const texts: Array<SyntaxNode> = []
  if (!isNode(callee) || callee["name"] !== "RegExp" || !Array.isArray(given) || !isNode(given[0])) return texts
  walk(given[0], (node) => {
    if ((node.type === "Literal" && node["regex"] === undefined) || node.type === "TemplateElement") texts.push(node)
  })
  return texts
}

export const headerFindings = (file: SourceFile): ReadonlyArray<Finding> => {
  if (file.packageName === undefined) return []
  const lines = headerLines(file.text)
  const least = file.lineCount <= oneLineHeaderFileLinesMax ? 1 : headerLinesMin
  if (lines >= least && lines <= headerLinesMax) return []
  const message = `opens with ${lines} lines of comment, wanted are ${least} to ${headerLinesMax}`
  return [{ path: file.path, line: 1, rule: "header", message }]
}

/** Of all modules together, hence one finding at most. */
export const shareFindings = (files: ReadonlyArray<SourceFile>): ReadonlyArray<Finding> => {
  const modules = files.filter(({ packageName }) => packageName !== undefined)
  const large = modules.filter(({ lineCount }) => lineCount >= moduleLinesMax)
  if (large.length * 100 <= modules.length * largeModulesPercentMax) return []
  const names = large.map(({ path, lineCount }) => `${path} (${lineCount})`).join(", ")
  const message = `${large.length} of ${modules.length} modules have ${moduleLinesMax} lines or more: ${names}`
  return [{ path: "packages", line: 0, rule: "module-sizes", message }]
}

/** Lines of text in the comment at the very top; 0 when the file opens with something else. */
const headerLines = (text: string): number => {
  const block = /^\/\*\*?([\s\S]*?)\*\//.exec(text)?.[1]
  const comment = block ?? /^(?:\/\/.*\n)+/.exec(text)?.[0] ?? ""
  return comment.split("\n").filter((line) => /[^\s*/]/.test(line)).length
}
