/**
 * The gate in front of every user schema, run by the server and again by the worker: pure, synchronous, and cheap whatever the text holds. What
 * passes is a valid object schema of 2020-12 or draft-07, bounded in size, depth, references and
 * patterns, so that a compiler may be let loose on it (reliability.md, "Hostile schemas";
 * interface.md sections 5.1, 6 and 13).
 */
import * as Result from "effect/Result"
import type { ErrorObject } from "ajv"
import { checkPatterns, type PlacedPattern } from "./PatternBounds.ts"
import { dialectByUri, makeAjv } from "./SchemaDialects.ts"
import { checkReferences, type Dialect, findPositions, type SchemaPosition } from "./SchemaPositions.ts"
import { faultAt, type SchemaFault, shortened } from "./SchemaFault.ts"
import { isJsonObject, type JsonObject, parseSchemaText, pointerTo } from "./SchemaText.ts"

/** A schema that passed every bound. */
export interface ParsedSchema {
  readonly schema: JsonObject
  readonly dialect: Dialect
  /** Names under the top-level `properties`, in the order of the text. */
  readonly declaredProperties: ReadonlyArray<string>
  /** First declared property with the format `date-time` or `date`, or a choice of both. */
  readonly temporalProperty: string | undefined
  /** Subschemas of the document, the measure of what compiling it costs. */
  readonly subschemaCount: number
}

const idLengthMax = 512

/** Checks the text of a schema; the first broken rule is the answer. */
export const parseSchema = (text: string): Result.Result<ParsedSchema, SchemaFault> =>
  Result.gen(function* () {
    const schema = yield* parseSchemaText(text)
    const dialect = yield* dialectOf(schema)
    const positions = yield* findPositions(schema, dialect)
    const fault =
      checkTop(schema) ??
      checkKeywords(positions) ??
      checkReferences(positions) ??
      checkPatterns(patternsOf(positions)) ??
      checkMeta(schema, dialect)
    if (fault !== undefined) return yield* Result.fail(fault)
    const properties = Object.entries(isJsonObject(schema["properties"]) ? schema["properties"] : {})
    return {
      schema,
      dialect,
      declaredProperties: properties.map(([name]) => name),
      temporalProperty: properties.find(([, property]) => isTemporal(property))?.[0],
      subschemaCount: positions.size
    }
  })

const dialectOf = (schema: JsonObject): Result.Result<Dialect, SchemaFault> => {
  const uri = schema["$schema"]
  if (uri === undefined) return Result.succeed("2020-12")
  const dialect = typeof uri === "string" ? dialectByUri.get(uri.replace(/#$/, "")) : undefined
  return dialect === undefined
    ? Result.fail(faultAt("/$schema", `must be absent or one of ${[...dialectByUri.keys()].join(", ")}`))
    : Result.succeed(dialect)
}

const checkTop = (schema: JsonObject): SchemaFault | undefined => {
  if (schema["type"] !== "object") return faultAt("/type", `must be "object" at the top level`)
  const id = schema["$id"]
  return typeof id === "string" && id.length > idLengthMax
    ? faultAt("/$id", `longer than ${idLengthMax} characters`)
    : undefined
}

/** Keywords that would move what a reference means, or that the compiler does not take. */
const refusedKeywords: ReadonlyMap<string, string> = new Map([
  ["$anchor", "not supported; refer to schemas by #/$defs/name"],
  ["$dynamicAnchor", "dynamic references are not supported"],
  ["$dynamicRef", "dynamic references are not supported"],
  ["$recursiveAnchor", "dynamic references are not supported"],
  ["$recursiveRef", "dynamic references are not supported"],
  ["$vocabulary", "only meaningful in a meta-schema"],
  ["$async", "asynchronous schemas are not supported"],
  ["id", `not a keyword here; write "$id", or declare a property of that name under "properties"`]
])

const checkKeywords = (positions: ReadonlyMap<string, SchemaPosition>): SchemaFault | undefined => {
  for (const { pointer, schema } of positions.values()) {
    for (const name of Object.keys(schema)) {
      const refusal = refusedKeywords.get(name)
      if (refusal !== undefined) return faultAt(pointerTo(pointer, name), refusal)
      // An inner `$id` or `$schema` would start another document with references of its own.
      if (pointer !== "" && (name === "$id" || name === "$schema")) {
        return faultAt(pointerTo(pointer, name), "only allowed at the top level")
      }
    }
    const fault = checkCompilerRules(pointer, schema)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** What the meta-schemas let through and ajv either throws on or gets wrong. */
const checkCompilerRules = (pointer: string, schema: JsonObject): SchemaFault | undefined => {
  if (Array.isArray(schema["enum"]) && schema["enum"].length === 0) {
    return faultAt(pointerTo(pointer, "enum"), "must list at least one value")
  }
  const isNullable = schema["nullable"]
  if (isNullable !== undefined && (isNullable !== true || typeof schema["type"] !== "string")) {
    return faultAt(pointerTo(pointer, "nullable"), `must be true beside a single "type"`)
  }
  const properties = isJsonObject(schema["properties"]) ? Object.entries(schema["properties"]) : []
  // ajv reads such a property through the prototype, finds a function and never sets the default.
  const inherited = properties.find(
    ([name, each]) => name in Object.prototype && isJsonObject(each) && each["default"] !== undefined
  )
  return inherited === undefined
    ? undefined
    : faultAt(
        pointerTo(pointerTo(pointer, "properties"), inherited[0]),
        "a property of this name cannot have a default"
      )
}

const patternsOf = (positions: ReadonlyMap<string, SchemaPosition>): ReadonlyArray<PlacedPattern> =>
  [...positions.values()].flatMap(({ pointer, schema }) => {
    const names = isJsonObject(schema["patternProperties"]) ? Object.keys(schema["patternProperties"]) : []
    const at = pointerTo(pointer, "patternProperties")
    const found = names.map((pattern) => ({ pointer: pointerTo(at, pattern), pattern }))
    const own = schema["pattern"]
    return typeof own === "string" ? [...found, { pointer: pointerTo(pointer, "pattern"), pattern: own }] : found
  })

/** Compiled on first use, 60 ms for 2020-12; the validator's layer does so before it serves. */
const metaAjv = new Map<Dialect, ReturnType<typeof makeAjv>>()

const checkMeta = (schema: JsonObject, dialect: Dialect): SchemaFault | undefined => {
  const ajv = metaAjv.get(dialect) ?? makeAjv(dialect, "meta")
  metaAjv.set(dialect, ajv)
  const { $schema: _dialect, ...rest } = schema
  if (ajv.validateSchema(rest) === true) return undefined
  const fault: ErrorObject | undefined = ajv.errors?.[0]
  if (fault === undefined) return faultAt("", `not a valid ${dialect} schema`)
  const allowed = fault.keyword === "enum" ? ` (${JSON.stringify(fault.params["allowedValues"])})` : ""
  return faultAt(fault.instancePath, shortened(`${fault.message ?? "not valid"}${allowed}`, 200))
}

/** A date, a moment, or a choice between such. */
const isTemporal = (property: unknown): boolean => {
  if (!isJsonObject(property)) return false
  const choices = property["anyOf"] ?? property["oneOf"]
  return (
    property["format"] === "date-time" ||
    property["format"] === "date" ||
    (Array.isArray(choices) && choices.length > 0 && choices.every(isTemporal))
  )
}
