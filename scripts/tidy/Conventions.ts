/**
 * One convention each for private members and imports: `#name`, and imports by name. JavaScript has no private
 * constructors, so `private` and `protected` may stand before a constructor.
 */
import type { Finding } from "./Finding.ts"
import { type SourceFile, type SyntaxNode, walk } from "./SourceFile.ts"

/** Path -> modules of Effect that it imports as a namespace, and why. */
const namespaceImports: Readonly<Record<string, string>> = Object.fromEntries(
  ["CompiledSchemas", "SchemaGate", "SchemaPositions", "SchemaText"].map((name) => [
    `packages/schemas/src/${name}.ts`,
    "loaded by the validation worker, to whose every start the index of effect would add 0.2 s and 13 MB"
  ])
)

export const conventionFindings = (file: SourceFile): ReadonlyArray<Finding> => {
  const findings: Array<Finding> = []
  walk(file.program, (node) => {
    const [rule, message] = faultOf(node) ?? []
    if (rule === undefined || message === undefined) return
    if (rule === "namespace-import" && namespaceImports[file.path] !== undefined) return
    findings.push({ path: file.path, line: file.lineAt(node.start), rule, message })
  })
  return findings
}

const faultOf = (node: SyntaxNode): readonly [rule: string, message: string] | undefined => {
  const accessibility = node["accessibility"]
  if ((accessibility === "private" || accessibility === "protected") && node["kind"] !== "constructor") {
    return ["private-member", `${accessibility}: write #name`]
  }
  return node.type === "ImportNamespaceSpecifier" ? ["namespace-import", "import * as: import by name"] : undefined
}
