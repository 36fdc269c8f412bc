/**
 * Gate of every user schema (contract: Schemas), run by the server and again by the validation thread: pure, synchronous,
 * cheap for any text. An accepted text is a valid object schema of 2020-12 or draft-07, bounded in size, depth,
 * references and patterns, so that it is safe to compile.
 */
import { Result } from "effect"
import type { ErrorObject } from "ajv"
import { isJsonObject } from "@muniment/domain/Json"
import type { JsonObject } from "@muniment/domain/Memory"
import { checkPatterns, dialectByUri, makeAjv, type PlacedPattern } from "./SchemaDialects.ts"
import { checkReferences, type Dialect, findPositions, type SchemaPosition } from "./SchemaPositions.ts"
import { faultAt, parseSchemaText, pointerTo, type SchemaFault, shortened } from "./SchemaText.ts"

/** A schema that is within all bounds. */
export interface ParsedSchema {
  readonly schema: JsonObject
  readonly dialect: Dialect
  /** Names under the top-level `properties`, in the order of the text. */
  readonly declaredProperties: ReadonlyArray<string>
  /** First declared property with the format `date-time` or `date`, or a choice of both. */
  readonly temporalProperty: string | undefined
  /** Number of subschemas, which determines the cost of compiling. */
  readonly subschemaCount: number
}

const idLengthMax = 512

/** Checks the text of a schema; fails with the first violated rule. */
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

/** Keywords that would change the meaning of a reference, or that the compiler does not support. */
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
      // An inner `$id` or `$schema` would start another document with its own references.
      if (pointer !== "" && (name === "$id" || name === "$schema")) {
        return faultAt(pointerTo(pointer, name), "only allowed at the top level")
      }
    }
    const fault = checkCompilerRules(pointer, schema)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** Accepted by the meta-schemas, but ajv throws or is wrong. */
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

/** Compiled on first use (60 ms for 2020-12), which the validator's layer does before it serves. */
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

/** A date, a date-time, or a choice of them. */
const isTemporal = (property: unknown): boolean => {
  if (!isJsonObject(property)) return false
  const choices = property["anyOf"] ?? property["oneOf"]
  return (
    property["format"] === "date-time" ||
    property["format"] === "date" ||
    (Array.isArray(choices) && choices.length > 0 && choices.every(isTemporal))
  )
}
