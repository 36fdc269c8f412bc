/**
 * ajv instances of both dialects (JSON Schema 2020-12 and draft-07), configured so that no keyword costs more than its
 * data: patterns run in re2js, `uniqueItems` uses a hash set instead of comparing all pairs, formats are ajv's fast ones,
 * except dates and times, whose full forms check the calendar without backtracking.
 */
import { Ajv, type Options } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import { fullFormats } from "ajv-formats/dist/formats.js"
import { RE2JS } from "re2js"
import addFormatsModule from "ajv-formats"
import type { Dialect } from "./SchemaPositions.ts"
import { faultAt, type SchemaFault, shortened } from "./SchemaText.ts"

// The package is CommonJS without a named export, so Node hands its function over as `default`.
const addFormats = addFormatsModule.default

/** Supported `$schema` values, without a trailing `#`; the first dialect is the default. */
export const dialectByUri: ReadonlyMap<string, Dialect> = new Map([
  ["https://json-schema.org/draft/2020-12/schema", "2020-12"],
  ["http://json-schema.org/draft-07/schema", "draft-07"],
  ["https://json-schema.org/draft-07/schema", "draft-07"]
])

/** `meta` checks schemas against their meta-schema; `data` compiles them and fills defaults in. */
type Purpose = "meta" | "data"

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

/**
 * User-supplied regular expressions are compiled by re2js only, which never backtracks, so that matching is linear in the
 * data. Look-around and back-references, which RE2 does not support, are refused. RE2 expands counted repetitions:
 * `(…500 characters…){1000}` takes half a second to compile, so an estimate runs before the compiler.
 */
const patternLimits = {
  countMax: 32,
  lengthMax: 512,
  /** Instructions of one pattern: a date needs 20, a host name about 700, `.{1,1000}` 2,003. */
  instructionsMax: 3_000,
  /** Instructions of all patterns of a schema, which bounds their compilation to about 30 ms. */
  instructionsTotalMax: 12_000,
  /** Uses of `\p{…}` in a schema: each merges tables of hundreds of ranges. */
  unicodeClassesMax: 64
} as const

/** ajv's interface of a regular expression engine; `toString` is its cache key. */
interface CompiledPattern {
  readonly test: (text: string) => boolean
  readonly toString: () => string
}

/** A pattern and its place in the schema. */
export interface PlacedPattern {
  readonly pointer: string
  readonly pattern: string
}

/** The first pattern that RE2 refuses, or with which the schema exceeds `patternLimits`. */
export const checkPatterns = (placed: ReadonlyArray<PlacedPattern>): SchemaFault | undefined => {
  let instructions = 0
  let unicodeClasses = 0
  for (const [index, { pointer, pattern }] of placed.entries()) {
    if (index >= patternLimits.countMax) return faultAt(pointer, `more than ${patternLimits.countMax} patterns`)
    // Sums before compiling, because they bound the compilation.
    if (pattern.length <= patternLimits.lengthMax) {
      instructions += estimatedInstructions(RE2JS.translateRegExp(pattern))
      unicodeClasses += pattern.match(/\\[pP]/g)?.length ?? 0
    }
    if (unicodeClasses > patternLimits.unicodeClassesMax) {
      return faultAt(pointer, `more than ${patternLimits.unicodeClassesMax} Unicode classes in all patterns`)
    }
    const fault = patternFault(pattern)
    if (fault !== undefined) return faultAt(pointer, fault)
    if (instructions > patternLimits.instructionsTotalMax) {
      return faultAt(pointer, `the patterns expand to more than ${patternLimits.instructionsTotalMax} steps in all`)
    }
  }
  return undefined
}

/** Undefined if RE2 accepts the pattern and it is within the bounds of a single one; otherwise the reason. */
const patternFault = (pattern: string): string | undefined => {
  if (pattern.length > patternLimits.lengthMax) return `a pattern is longer than ${patternLimits.lengthMax} characters`
  const translated = RE2JS.translateRegExp(pattern)
  // `\Q…\E` quotes parentheses, which would blind the estimate; ECMA-262 does not know it either.
  if (translated.includes("\\Q")) return "a pattern must not use \\Q"
  // Case folding of Unicode classes costs 30 ms a pattern, and ECMA-262 patterns have no inline flags.
  if (/\(\?[imsU-]/.test(translated)) return "a pattern must not use inline flags"
  if (estimatedInstructions(translated) > patternLimits.instructionsMax) {
    return `the counted repetitions of a pattern expand to more than ${patternLimits.instructionsMax} steps`
  }
  try {
    RE2JS.compile(translated)
    return undefined
  } catch (cause) {
    return `a pattern is not supported, only RE2 syntax is (${shortened(String(cause), 120)})`
  }
}

/** Compiles a pattern that `patternFault` has accepted; throws otherwise. Matches anywhere in the text. */
const compilePattern = (pattern: string): CompiledPattern => {
  const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern))
  return { test: (text) => compiled.test(text), toString: () => pattern }
}

const tokenPattern = /\\[pPx]\{[^}]*\}|\\[pP].|\\[^]|\[\^?\]?(?:[^\]\\]|\\[^])*\]|\{(\d+)(,?)(\d*)\}|[()]|[^]/g

/**
 * Upper bound of the program size: every character weighs 1, every `{n,m}` multiplies the atom in
 * front of it. Malformed patterns get some number; RE2 refuses them afterwards.
 */
const estimatedInstructions = (pattern: string): number => {
  const groups: Array<number> = []
  let total = 0
  let atom = 0
  for (const [token, least, comma, most] of pattern.matchAll(tokenPattern)) {
    if (token === "(") {
      groups.push(total)
      total = 0
      atom = 0
    } else if (token === ")") {
      atom = total + 2
      total = (groups.pop() ?? 0) + atom
    } else if (least !== undefined) {
      const times = most !== "" && most !== undefined ? Number(most) : Number(least) + (comma === "," ? 1 : 0)
      const repeated = atom * Math.max(times, 1)
      // Optional copies cost one more step each: x{0,m} is (x(x(x)?)?)?.
      total += repeated - atom + times
      atom = repeated + times
    } else {
      // `*`, `+` and `?` repeat in place; `(…)*{n}` is refused by RE2, so the atom may stay as it is.
      const isOperator = token === "*" || token === "+" || token === "?"
      total += 1
      atom = isOperator ? atom + 1 : 1
    }
  }
  return groups.reduce((sum, size) => sum + size, total)
}
