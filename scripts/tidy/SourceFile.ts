/**
 * A TypeScript file as the rules see it: its text, its syntax tree (parsed once), its imports and
 * its functions. TypeScript 7 has no parser to call from
 * JavaScript, so the one that comes with vitest is used.
 */
import { parseAst } from "vitest/node"

export interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

export interface Import {
  readonly specifier: string
  readonly isTypeOnly: boolean
  readonly line: number
}

export interface FunctionExtent {
  readonly line: number
  /** Lines of the function, functions nested in it included. */
  readonly lines: number
}

export interface SourceFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string
  readonly text: string
  readonly lineCount: number
  /** `engine` for `packages/engine/src/...`; undefined elsewhere. */
  readonly packageName: string | undefined
  readonly program: SyntaxNode
  readonly lineAt: (offset: number) => number
}

export const makeSourceFile = (path: string, text: string): SourceFile => {
  const starts = [0]
  for (let index = text.indexOf("\n"); index !== -1; index = text.indexOf("\n", index + 1)) starts.push(index + 1)
  return {
    path,
    text,
    lineCount: text.endsWith("\n") ? starts.length - 1 : starts.length,
    packageName: /^packages\/([^/]+)\/src\//.exec(path)?.[1],
    program: nodeOf(parseAst(text, { lang: path.endsWith(".mjs") ? "js" : "ts" }, path)),
    lineAt: (offset) => lineAt(starts, offset)
  }
}

/** Calls `visit` on every node, outer ones first. */
export const walk = (node: SyntaxNode, visit: (node: SyntaxNode) => void): void => {
  visit(node)
  for (const child of childrenOf(node)) walk(child, visit)
}

export const importsOf = (file: SourceFile): ReadonlyArray<Import> => {
  const found: Array<Import> = []
  walk(file.program, (node) => {
    const source = node["source"]
    if (!importingTypes.has(node.type) || !isNode(source) || typeof source["value"] !== "string") return
    const isTypeOnly = node["importKind"] === "type" || node["exportKind"] === "type" || node.type === "TSImportType"
    found.push({ specifier: source["value"], isTypeOnly, line: file.lineAt(node.start) })
  })
  return found
}

export const functionsOf = (file: SourceFile): ReadonlyArray<FunctionExtent> => {
  const found: Array<FunctionExtent> = []
  walk(file.program, (node) => {
    if (!functionTypes.has(node.type)) return
    const line = file.lineAt(node.start)
    found.push({ line, lines: file.lineAt(node.end) - line + 1 })
  })
  return found
}

export const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"

const importingTypes = new Set([
  "ImportDeclaration",
  "ExportNamedDeclaration",
  "ExportAllDeclaration",
  "ImportExpression",
  "TSImportType"
])
const functionTypes = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"])

const childrenOf = (node: SyntaxNode): ReadonlyArray<SyntaxNode> => Object.values(node).flat().filter(isNode)

const nodeOf = (value: unknown): SyntaxNode => {
  if (!isNode(value)) throw new TypeError("the parser gave no syntax tree")
  return value
}

const lineAt = (starts: ReadonlyArray<number>, offset: number): number => {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (starts[middle]! <= offset) low = middle
    else high = middle - 1
  }
  return low + 1
}
