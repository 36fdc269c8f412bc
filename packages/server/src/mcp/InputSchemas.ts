/**
 * JSON Schemas of tool arguments. Those of the fixed tools are generated from the schemas of REST, with words of their
 * own. All are plain object schemas, of what all model providers take.
 */
import { Schema } from "effect"
import { isJsonObject } from "@muniment/domain/Json"
import type { JsonObject } from "@muniment/domain/Memory"
import { publishedSchema } from "./PublishedSchema.ts"

/** Description of each argument; a whole schema replaces REST's, where that also takes forms that no model writes. */
type Told<Name extends string = string> = Readonly<Partial<Record<Name, string | JsonObject>>>

/** Schema of arguments by REST's names and types, without its descriptions: an agent pays for every token. */
export const inputSchemaOf = <Fields extends Schema.Struct.Fields>(
  schema: Schema.Top & { readonly fields: Fields },
  told: Told<keyof Fields & string>
): JsonObject => {
  const { properties, ...root } = publishedSchema(objectSchemaOf(schema), { saysRules: false }).schema
  return { ...root, properties: toldOf(properties, told) }
}

const toldOf = (properties: Schema.Json | undefined, told: Told): JsonObject =>
  Object.fromEntries(
    Object.entries(isJsonObject(properties) ? properties : {}).map(([name, own]) => {
      const said = told[name]
      if (typeof said === "object") return [name, said]
      const type = withoutTexts(own) as JsonObject
      return [name, said === undefined ? type : { ...type, description: said }]
    })
  )

const withoutTexts = (json: Schema.Json): Schema.Json => {
  if (Array.isArray(json)) return json.map(withoutTexts)
  if (!isJsonObject(json)) return json
  const entries = Object.entries(json).filter(([name, value]) => !isSaying(name) || typeof value !== "string")
  return Object.fromEntries(entries.map(([name, value]) => [name, withoutTexts(value)]))
}

/** A property may have one of these names; its value is no text then. */
const isSaying = (keyword: string): boolean => keyword === "description" || keyword === "pattern"

/** Without examples and without keywords that add no rule. */
const objectSchemaOf = (schema: Schema.Top): JsonObject => {
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

export const toldOfScopes = {
  agentId: "Whose memory it is.",
  subjectId: "Whom it is about.",
  threadId: "Of which conversation."
}

export const toldOfWhere =
  'Conditions on data and metadata: {"data.city": "Oslo", "metadata.score": {"gte": 3}}; tests eq, ne, in, gt, gte, lt, lte, exists; and, or (lists), not.'

/** As models write messages; what SDKs make of them is taken too. */
export const conversation: JsonObject = {
  type: "array",
  items: {
    type: "object",
    properties: {
      id: { type: "string" },
      role: { type: "string", enum: ["user", "assistant", "system", "tool"] },
      name: { type: "string" },
      content: { type: "string" },
      sentAt: { type: "string", description: "ISO 8601." }
    },
    required: ["role", "content"]
  }
}

/** An argument that a header gives is optional. */
export const withoutDefaulted = (schema: JsonObject, defaults: ScopeDefaults): JsonObject => {
  const defaulted = new Set<unknown>(scopeNames.filter((name) => defaults[name] !== undefined))
  const required = Array.isArray(schema["required"]) ? schema["required"] : []
  return { ...schema, required: required.filter((name) => !defaulted.has(name)) }
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

export const scopeNames = ["agentId", "subjectId", "threadId"] as const
type ScopeName = (typeof scopeNames)[number]
/**
 * Defaults of a tool's scope (contract: MCP), from the headers `x-agent-id`, `x-subject-id` and `x-thread-id`.
 * Arguments win; `null` as an argument removes a default.
 */
export type ScopeDefaults = Readonly<Partial<Record<ScopeName, string>>>

const headerOf: Readonly<Record<ScopeName, string>> = {
  agentId: "x-agent-id",
  subjectId: "x-subject-id",
  threadId: "x-thread-id"
}

export const scopeDefaults = (headers: Readonly<Record<string, string | undefined>>): ScopeDefaults =>
  Object.fromEntries(
    scopeNames.flatMap((name) => {
      const value = headers[headerOf[name]]
      return value === undefined || value === "" ? [] : [[name, value]]
    })
  )

/** The arguments, completed with defaults. */
export const withDefaults = (given: JsonObject, defaults: ScopeDefaults): JsonObject => {
  const lifted = new Set<string>(scopeNames.filter((name) => given[name] === null))
  return Object.fromEntries(Object.entries({ ...defaults, ...given }).filter(([name]) => !lifted.has(name)))
}
