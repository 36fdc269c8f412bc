/**
 * ajv instances of both dialects (JSON Schema 2020-12 and draft-07), configured so that no keyword costs more than its
 * data: patterns run in re2js, `uniqueItems` uses a hash set instead of comparing all pairs, formats are ajv's fast ones,
 * except dates and times, whose full forms check the calendar without backtracking.
 */
import { Ajv, type Options } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import addFormatsModule from "ajv-formats"
import { fullFormats } from "ajv-formats/dist/formats.js"
import { compilePattern, patternFault } from "./PatternBounds.ts"
import type { Dialect } from "./SchemaPositions.ts"

// The package is CommonJS without a named export, so Node hands its function over as `default`.
const addFormats = addFormatsModule.default

/** Supported `$schema` values, without a trailing `#`; the first dialect is the default. */
export const dialectByUri: ReadonlyMap<string, Dialect> = new Map([
  ["https://json-schema.org/draft/2020-12/schema", "2020-12"],
  ["http://json-schema.org/draft-07/schema", "draft-07"],
  ["https://json-schema.org/draft-07/schema", "draft-07"]
])

/** `meta` checks schemas against their meta-schema; `data` compiles them and fills defaults in. */
export type Purpose = "meta" | "data"

export const makeAjv = (dialect: Dialect, purpose: Purpose): Ajv | Ajv2020 => {
  const isMeta = purpose === "meta"
  const options: Options = {
    strict: false,
    logger: false,
    allErrors: !isMeta,
    useDefaults: !isMeta,
    ownProperties: true,
    // The schema is known to be valid, and without meta-schemas no `$ref` can reach them.
    meta: isMeta,
    validateSchema: isMeta,
    // Inlining copies the target into every reference: 500 nodes would compile as 2,000.
    inlineRefs: false,
    code: { regExp: regularExpression, optimize: false }
  }
  const ajv = dialect === "2020-12" ? new Ajv2020(options) : new Ajv(options)
  addFormats(ajv, { mode: "fast" })
  for (const name of ["date", "time", "date-time", "iso-time", "iso-date-time"] as const) {
    ajv.addFormat(name, fullFormats[name])
  }
  ajv.addFormat("regex", (text: string) => patternFault(text) === undefined)
  return useHashedUniqueItems(ajv)
}

const regularExpression = Object.assign((pattern: string) => compilePattern(pattern), { code: "compilePattern" })

const useHashedUniqueItems = <A extends Ajv | Ajv2020>(ajv: A): A => {
  ajv.removeKeyword("uniqueItems")
  ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    error: { message: "must NOT have duplicate items" },
    validate: (isRequired: boolean, items: ReadonlyArray<unknown>): boolean => {
      if (!isRequired) return true
      const seen = new Set<string>()
      for (const item of items) {
        seen.add(canonicalText(item))
      }
      return seen.size === items.length
    }
  })
  return ajv
}

/** JSON with sorted names: equal texts exactly for values equal in JSON Schema. */
const canonicalText = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))
  return `{${entries.map(([name, each]) => `${JSON.stringify(name)}:${canonicalText(each)}`).join(",")}}`
}
