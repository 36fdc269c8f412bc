/**
 * JSON Schemas of tool arguments. Those of the fixed tools are generated from the schemas of REST. All are plain
 * object schemas, of what all model providers take.
 */
import { Schema } from "effect"
import { isJsonObject } from "@muniment/domain/isJsonObject"
import type { JsonObject } from "@muniment/domain/Memory"
import { publishedSchema } from "./PublishedSchema.ts"
import { type ScopeDefaults, scopeNames } from "./ScopeDefaults.ts"

/** Of arguments. */
export const inputSchemaOf = (schema: Schema.Top): JsonObject =>
  publishedSchema(objectSchemaOf(schema), { saysRules: false }).schema

/** Without examples and without keywords that add no rule: an agent pays for every token. */
export const objectSchemaOf = (schema: Schema.Top): JsonObject => {
  const document: Schema.Json = JSON.parse(JSON.stringify(Schema.toJsonSchemaDocument(schema).schema))
  const {
    additionalProperties: _open,
    anyOf: _any,
    oneOf: _one,
    allOf: _all,
    ...root
  } = compact(document) as JsonObject
  return { ...root, type: "object" }
}

/** What a header gives need not be an argument. */
export const withoutDefaulted = (schema: JsonObject, defaults: ScopeDefaults): JsonObject => {
  const defaulted = new Set<unknown>(scopeNames.filter((name) => defaults[name] !== undefined))
  const required = Array.isArray(schema["required"]) ? schema["required"] : []
  return { ...schema, required: required.filter((name) => !defaulted.has(name)) }
}

/**
 * Names and types, at the root and below: for a schema of what is given, not of what is asked for. No model is shown what
 * it would say in words, and a client that lists tools waits for every byte.
 */
export const shapeIn = (schema: JsonObject): JsonObject => pruned(schema) as JsonObject

const pruned = (json: Schema.Json): Schema.Json => {
  if (Array.isArray(json)) return json.map(pruned)
  if (!isJsonObject(json)) return json
  const isObjectSchema = json["type"] === "object"
  const isText = (name: string, value: Schema.Json) => name === "description" && typeof value === "string"
  const entries = Object.entries(json).filter(
    ([name, value]) =>
      !isText(name, value) && (!isObjectSchema || (name !== "required" && name !== "additionalProperties"))
  )
  return Object.fromEntries(entries.map(([name, value]) => [name, pruned(value)]))
}

/** Keywords that add no rule to those beside them, as our generator writes them. */
const redundant: ReadonlySet<string> = new Set(["examples", "prefixItems"])

const compact = (json: Schema.Json): Schema.Json => {
  if (Array.isArray(json)) return json.map(compact)
  if (!isJsonObject(json)) return json
  const entries = Object.entries(json).filter(
    ([name, value]) => !redundant.has(name) && !(name === "additionalProperties" && value === true)
  )
  return Object.fromEntries(entries.map(([name, value]) => [name, compact(value)]))
}
