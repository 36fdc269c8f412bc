/**
 * JSON Schema of an answer on the wire, in the shape that the Effect Schema encodes to. It is not rewritten for OpenAI's
 * strict mode, which would turn records into lists of pairs: local models answer the plain shape better, and the Effect
 * Schema checks every answer.
 */
import { Schema } from "effect"
import type { LanguageModel } from "effect/ai"
import { isJsonObject } from "@muniment/domain/isJsonObject"

export type JsonSchema = Readonly<Record<string, unknown>>

/** For `LanguageModel.make`: what is sent, and what the answer is decoded with. */
export const wireCodec: LanguageModel.CodecTransformer = (schema) => ({
  codec: Schema.toCodecJson(schema),
  jsonSchema: jsonSchemaOf(schema)
})

/** One request asks for it several times. */
const known = new WeakMap<object, JsonSchema>()

/** Throws if the schema has no JSON Schema, or no object at its root, which no provider accepts. */
export const jsonSchemaOf = (schema: Schema.Constraint): JsonSchema => {
  const before = known.get(schema.ast)
  if (before !== undefined) return before
  const document = Schema.toJsonSchemaDocument(Schema.toCodecJson(schema), { onExcessProperty: "error" })
  const { definitions } = document
  const reference = document.schema["$ref"]
  const root = typeof reference === "string" ? definitions[reference.slice(definitionsPrefix.length)] : document.schema
  if (root?.["type"] !== "object") throw new Error("the answer's schema has no object at its root")
  const made = Object.keys(definitions).length === 0 ? root : { ...root, $defs: definitions }
  known.set(schema.ast, made)
  return made
}

/** The schema, sent in another shape whose values it decodes. */
export const sentAs = <S extends Schema.Top>(schema: S, shape: JsonSchema): S["Rebuild"] => {
  const copy = schema.annotate({})
  known.set(copy.ast, shape)
  return copy
}

const definitionsPrefix = "#/$defs/"

/** Keywords of OpenAI's strict mode; a schema with anything else is sent as not strict. */
const strictKeywords = new Set(
  "$defs,$ref,type,title,description,enum,anyOf,properties,required,additionalProperties,items,pattern,format,multipleOf,minimum,maximum,exclusiveMinimum,exclusiveMaximum,minItems,maxItems".split(
    ","
  )
)

/** Whether strict mode takes the schema: known keywords, closed objects, all properties required. */
export const isStrict = (schema: unknown): boolean => {
  if (Array.isArray(schema)) return schema.every(isStrict)
  if (!isJsonObject(schema)) return true
  const { $defs, properties, required, type } = schema
  if (!Object.keys(schema).every((keyword) => strictKeywords.has(keyword))) return false
  if (type === undefined && schema["$ref"] === undefined && schema["anyOf"] === undefined) return false
  if (type === "object") {
    const names = isJsonObject(properties) ? Object.keys(properties) : []
    const demanded = new Set(Array.isArray(required) ? required : [])
    if (schema["additionalProperties"] !== false || names.some((name) => !demanded.has(name))) return false
  }
  const parts = [...valuesOf(properties), ...valuesOf($defs)]
  return parts.every(isStrict) && isStrict(schema["items"]) && isStrict(schema["anyOf"])
}

const valuesOf = (value: unknown): ReadonlyArray<unknown> => (isJsonObject(value) ? Object.values(value) : [])
