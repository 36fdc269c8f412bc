/**
 * Compiles schemas with ajv, caches them, and validates data. Runs in the validation thread: compiling 500 subschemas
 * takes about 100 ms, and evaluating them as long as a hostile author wants. The cache is bounded by entries and by
 * subschemas, which measure its heap.
 */
import { Result } from "effect"
import type { ErrorObject, ValidateFunction } from "ajv"
import { LRUCache } from "lru-cache"
import { createHash } from "node:crypto"
import { Limits } from "@muniment/domain/Limits"
import { isUnsafeInteger } from "@muniment/domain/Json"
import { parseSchema } from "./SchemaGate.ts"
import { makeAjv } from "./SchemaDialects.ts"
import { pointerTo, shortened } from "./SchemaText.ts"

/** The data with defaults filled in, or the issues. */
export type Outcome =
  | { readonly ok: true; readonly data: unknown }
  | {
      readonly ok: false
      readonly issues: ReadonlyArray<Issue>
      /** The data was not looked at: its schema is not tried until then. */
      readonly waitSeconds?: number
    }

export const compiledLimits = {
  entriesMax: 256,
  subschemasMax: 8_000,
  issuesMax: 20,
  issueLengthMax: 256
} as const

interface CompiledSchemas {
  /** Validates `data` in place: defaults of missing properties are set on it. Never throws. */
  readonly validate: (schemaText: string, data: unknown) => Outcome
  readonly size: () => { readonly entries: number; readonly subschemas: number }
}

export interface CompiledSchema {
  /** As that of `CompiledSchemas`. */
  readonly validate: (data: unknown) => Outcome
  readonly subschemaCount: number
}

export const makeCompiledSchemas = (): CompiledSchemas => {
  const entries = new LRUCache<string, CompiledSchema>({
    max: compiledLimits.entriesMax,
    maxSize: compiledLimits.subschemasMax,
    sizeCalculation: ({ subschemaCount }) => subschemaCount
  })
  const compiledFor = (schemaText: string): CompiledSchema => {
    const key = createHash("sha256").update(schemaText).digest("base64")
    const known = entries.get(key)
    if (known !== undefined) return known
    const compiled = compileSchema(schemaText)
    entries.set(key, compiled)
    return compiled
  }
  return {
    validate: (schemaText, data) => compiledFor(schemaText).validate(data),
    size: () => ({ entries: entries.size, subschemas: entries.calculatedSize })
  }
}

/** Never throws: a schema that cannot be compiled refuses all data. */
export const compileSchema = (schemaText: string): CompiledSchema => {
  const checked = parseSchema(schemaText)
  if (Result.isFailure(checked)) return refusing(checked.failure.reason)
  const { dialect, schema, subschemaCount } = checked.success
  // References are pointers into the document, so its name is not needed, and cannot reach out.
  const { $id: _id, $schema: _dialect, ...anonymous } = schema
  try {
    // A separate instance (0.3 ms) shares no names with other schemas and is garbage collected with the schema.
    const validate = makeAjv(dialect, "data").compile(anonymous)
    const setsDefaults = JSON.stringify(anonymous).includes('"default"')
    return { validate: (data) => run(validate, data, setsDefaults), subschemaCount }
  } catch (cause) {
    return refusing(`the schema cannot be compiled (${shortened(String(cause), 160)})`)
  }
}

const refusing = (message: string): CompiledSchema => ({
  validate: () => ({ ok: false, issues: [{ path: "", message: shortened(message, compiledLimits.issueLengthMax) }] }),
  subschemaCount: 1
})

const run = (validate: ValidateFunction, data: unknown, setsDefaults: boolean): Outcome => {
  try {
    if (validate(data)) {
      // Defaults multiply: one of 30 KB, set on each of 20,000 items, would be copied to the server's thread.
      const issue = setsDefaults ? checkData(data) : undefined
      return issue === undefined ? { ok: true, data } : { ok: false, issues: [issue] }
    }
    const errors = validate.errors ?? []
    return { ok: false, issues: errors.slice(0, compiledLimits.issuesMax).map(issueOf) }
  } catch (cause) {
    // ajv's equality calls `valueOf` of the data if it exists.
    return {
      ok: false,
      issues: [{ path: "", message: `cannot be compared with the schema (${shortened(String(cause), 160)})` }]
    }
  } finally {
    // The cached function would keep the errors, up to one for each value, until its next call.
    validate.errors = null
  }
}

/** ajv puts the name of the property into `params`; the message needs it. */
const issueOf = (error: ErrorObject): Issue => {
  const offender = error.params["additionalProperty"] ?? error.params["unevaluatedProperty"]
  const allowed = error.params["allowedValues"] ?? error.params["allowedValue"]
  const detail =
    offender !== undefined
      ? `: ${JSON.stringify(offender)}`
      : allowed !== undefined
        ? `: ${JSON.stringify(allowed)}`
        : ""
  return {
    path: shortened(error.instancePath, compiledLimits.issueLengthMax),
    message: shortened(`${error.message ?? error.keyword}${detail}`, compiledLimits.issueLengthMax)
  }
}

const pathLengthMax = 256

/** One finding: JSON pointer into the data, and a sentence. */
export interface Issue {
  readonly path: string
  readonly message: string
}

/**
 * Length as JSON, or the first violated bound of any data (contract: Limits): a JSON value of bounded depth and size without
 * `__proto__` names, so that it can be copied to the validator, merged and stored safely.
 * Visits each value once; cyclic data violates the depth bound.
 */
export const dataBytes = (data: unknown): number | Issue => {
  const issue = findIssue(data, 1)
  if (issue !== undefined) return issue
  const bytes = Buffer.byteLength(JSON.stringify(data))
  return bytes > Limits.memoryDataBytesMax
    ? { path: "", message: `must NOT be longer than ${Limits.memoryDataBytesMax} bytes as JSON` }
    : bytes
}

/** The first violated bound, or undefined. */
const checkData = (data: unknown): Issue | undefined => {
  const bytes = dataBytes(data)
  return typeof bytes === "number" ? undefined : bytes
}

/** Builds the path on the way back from an issue, so that valid data costs nothing extra. */
const findIssue = (value: unknown, depth: number): Issue | undefined => {
  if (value === null || typeof value === "boolean" || typeof value === "string") return undefined
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return { path: "", message: "must be a finite number" }
    return isUnsafeInteger(value) ? { path: "", message: "must NOT be an integer beyond 2^53" } : undefined
  }
  if (typeof value !== "object") return { path: "", message: "must be a JSON value" }
  if (depth > Limits.memoryDataDepthMax) {
    return { path: "", message: `must NOT nest deeper than ${Limits.memoryDataDepthMax} levels` }
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const issue = findIssue(value[index], depth + 1)
      if (issue !== undefined) return within(index, issue)
    }
    return undefined
  }
  for (const [name, each] of Object.entries(value)) {
    if (name === "__proto__") return { path: "", message: "must NOT have a property named __proto__" }
    const issue = findIssue(each, depth + 1)
    if (issue !== undefined) return within(name, issue)
  }
  return undefined
}

const within = (token: string | number, issue: Issue): Issue => ({
  path: shortened(`${pointerTo("", token)}${issue.path}`, pathLengthMax),
  message: issue.message
})
