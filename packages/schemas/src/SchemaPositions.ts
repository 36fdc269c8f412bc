/**
 * Positions of the subschemas of a document, and how many an evaluation can visit. `$ref` may only point to a subschema of
 * the same document; a reference that leads back to itself, and references that double at every step, are refused: 1.4 KB
 * of the latter killed Node.
 */
import { Result } from "effect"
import { isJsonObject } from "@muniment/domain/Json"
import type { JsonObject } from "@muniment/domain/Memory"
import { faultAt, pointerTo, type SchemaFault } from "./SchemaText.ts"

export type Dialect = "2020-12" | "draft-07"

/** One subschema, addressed by its JSON pointer in the document. */
export interface SchemaPosition {
  readonly pointer: string
  readonly schema: JsonObject
  /** Subschemas evaluated with this one; definitions are reached only by `$ref`. */
  readonly applied: ReadonlyArray<string>
}

const positionLimits = {
  subschemaDepthMax: 16,
  /** Subschemas after every reference is replaced by a copy of its target. */
  expandedMax: 2_000
} as const

type Holds = "schema" | "list" | "map"

/** Keywords whose values are schemas: one, a list of them, or a map by name. */
const sharedKeywords: Readonly<Record<string, ReadonlyArray<Holds>>> = {
  additionalProperties: ["schema"],
  allOf: ["list"],
  anyOf: ["list"],
  contains: ["schema"],
  definitions: ["map"],
  dependencies: ["map"],
  else: ["schema"],
  if: ["schema"],
  items: ["schema"],
  not: ["schema"],
  oneOf: ["list"],
  patternProperties: ["map"],
  properties: ["map"],
  propertyNames: ["schema"],
  then: ["schema"]
}

const keywordsOf: Readonly<Record<Dialect, ReadonlyMap<string, ReadonlyArray<Holds>>>> = {
  "2020-12": new Map(
    Object.entries({
      ...sharedKeywords,
      $defs: ["map"],
      contentSchema: ["schema"],
      dependentSchemas: ["map"],
      prefixItems: ["list"],
      unevaluatedItems: ["schema"],
      unevaluatedProperties: ["schema"]
    })
  ),
  "draft-07": new Map(Object.entries({ ...sharedKeywords, additionalItems: ["schema"], items: ["schema", "list"] }))
}

const definitionKeywords: ReadonlySet<string> = new Set(["$defs", "definitions"])

/** All subschemas by pointer, in the order of the document. */
export const findPositions = (
  root: JsonObject,
  dialect: Dialect
): Result.Result<ReadonlyMap<string, SchemaPosition>, SchemaFault> => {
  const positions = new Map<string, SchemaPosition>()
  const visit = (schema: JsonObject, pointer: string, depth: number): SchemaFault | undefined => {
    if (depth > positionLimits.subschemaDepthMax) {
      return faultAt(pointer, `schemas nested deeper than ${positionLimits.subschemaDepthMax} levels`)
    }
    const inner = subschemasOf(schema, pointer, dialect)
    const applied = inner.filter((each) => each.isApplied).map((each) => each.pointer)
    positions.set(pointer, { pointer, schema, applied })
    for (const each of inner) {
      const fault = visit(each.schema, each.pointer, depth + 1)
      if (fault !== undefined) return fault
    }
    return undefined
  }
  const fault = visit(root, "", 0)
  return fault === undefined ? Result.succeed(positions) : Result.fail(fault)
}

/** Refuses references that leave the document, have no target, are circular, or expand beyond the bound. */
export const checkReferences = (positions: ReadonlyMap<string, SchemaPosition>): SchemaFault | undefined => {
  const sizes = new Map<string, number | "open">()
  const measure = (position: SchemaPosition): number | SchemaFault => {
    const known = sizes.get(position.pointer)
    if (known === "open") return faultAt(position.pointer, "refers to itself; recursive schemas are not supported")
    if (known !== undefined) return known
    sizes.set(position.pointer, "open")
    const target = referenceOf(position, positions)
    if (target !== undefined && "reason" in target) return target
    let size = 1
    const next = position.applied.map((pointer) => positions.get(pointer))
    for (const each of [...next, target]) {
      const inner = each === undefined ? 0 : measure(each)
      if (typeof inner !== "number") return inner
      size += inner
    }
    if (size > positionLimits.expandedMax) {
      return faultAt(position.pointer, `its references expand to more than ${positionLimits.expandedMax} schemas`)
    }
    sizes.set(position.pointer, size)
    return size
  }
  // Every position is a start: a circle among unused definitions would otherwise be missed.
  for (const position of positions.values()) {
    const size = measure(position)
    if (typeof size !== "number") return size
  }
  return undefined
}

interface Subschema {
  readonly schema: JsonObject
  readonly pointer: string
  readonly isApplied: boolean
}

/** Values of the wrong type are skipped: the meta-schema refuses them with a better message. */
const subschemasOf = (schema: JsonObject, pointer: string, dialect: Dialect): ReadonlyArray<Subschema> => {
  const found: Array<Subschema> = []
  const add = (value: unknown, at: string, isApplied: boolean) => {
    // A boolean schema applies nothing further, so `{}` stands for it.
    const inner = typeof value === "boolean" ? {} : value
    if (isJsonObject(inner)) found.push({ schema: inner, pointer: at, isApplied })
  }
  for (const [keyword, value] of Object.entries(schema)) {
    const holds = keywordsOf[dialect].get(keyword)
    if (holds === undefined) continue
    const at = pointerTo(pointer, keyword)
    const isApplied = !definitionKeywords.has(keyword)
    if (Array.isArray(value)) {
      if (holds.includes("list")) value.forEach((each, index) => add(each, pointerTo(at, index), isApplied))
    } else if (holds.includes("schema")) {
      add(value, at, isApplied)
    } else if (isJsonObject(value)) {
      for (const [name, each] of Object.entries(value)) add(each, pointerTo(at, name), isApplied)
    }
  }
  return found
}

const referenceOf = (
  position: SchemaPosition,
  positions: ReadonlyMap<string, SchemaPosition>
): SchemaPosition | SchemaFault | undefined => {
  const reference = position.schema["$ref"]
  if (reference === undefined) return undefined
  const at = pointerTo(position.pointer, "$ref")
  if (typeof reference !== "string") return faultAt(at, "must be a string")
  if (reference !== "#" && !reference.startsWith("#/")) {
    return faultAt(at, "must point inside this document, as in #/$defs/name; nothing is fetched")
  }
  const pointer = Result.try(() => decodeURIComponent(reference.slice(1)))
  const target = Result.isSuccess(pointer) ? positions.get(pointer.success) : undefined
  return target ?? faultAt(at, "points to no schema in this document")
}
