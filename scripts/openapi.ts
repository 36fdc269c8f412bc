/**
 * Checks the OpenAPI document that the contract generates: every operation has a unique id, a summary and a 200, every
 * parameter of a path is declared, every reference resolves. `--print` writes the document to standard output instead.
 */
import { openApiDocument } from "@muniment/domain/api/OpenApiDocument"

interface Operation {
  readonly operationId?: string
  readonly summary?: string
  readonly responses?: Readonly<Record<string, unknown>>
  readonly parameters?: ReadonlyArray<{ readonly in: string; readonly name: string }>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

export const openApiFaults = (document: Document): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const ids = new Set<string>()
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const where = `${method.toUpperCase()} ${path}`
      const { operationId = "" } = operation
      if (operationId === "" || ids.has(operationId))
        faults.push(`${where}: operationId "${operationId}" is missing or taken`)
      ids.add(operationId)
      if (!operation.summary) faults.push(`${where}: no summary`)
      if (operation.responses?.["200"] === undefined) faults.push(`${where}: no answer with status 200`)
      const declared = new Set((operation.parameters ?? []).filter((one) => one.in === "path").map(({ name }) => name))
      for (const [, name = ""] of path.matchAll(/\{(\w+)\}/g)) {
        if (!declared.has(name)) faults.push(`${where}: path parameter ${name} is not declared`)
      }
    }
  }
  return [...faults, ...danglingReferences(document)]
}

const danglingReferences = (document: object): ReadonlyArray<string> => {
  const references = new Set(
    [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = ""]) => path)
  )
  return [...references].filter((path) => !leadsSomewhere(document, path)).map((path) => `#/${path}: leads nowhere`)
}

const leadsSomewhere = (document: object, path: string): boolean => {
  let value: unknown = document
  for (const part of path.split("/").map((text) => text.replaceAll("~1", "/").replaceAll("~0", "~"))) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return false
    value = (value as Record<string, unknown>)[part]
  }
  return true
}

if (import.meta.main) {
  const document = openApiDocument()
  if (process.argv.includes("--print")) {
    process.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
  } else {
    // As JSON, the form that readers of the document get.
    const faults = openApiFaults(JSON.parse(JSON.stringify(document)) as Document)
    process.stdout.write(faults.length === 0 ? "openapi: sound\n" : `${faults.join("\n")}\n`)
    process.exitCode = faults.length === 0 ? 0 : 1
  }
}
