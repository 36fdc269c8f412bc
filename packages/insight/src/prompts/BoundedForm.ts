/**
 * The form of a registered kind on the wire: its JSON Schema with bounds and without what grammar builders of local
 * servers refuse, so that a small model cannot run on inside a field. The data is validated against the kind itself later.
 */
import { Option, Schema } from "effect"
import { isJsonObject } from "@muniment/domain/isJsonObject"
import type { CandidateKind } from "../extraction/Extractor.ts"

type JsonSchema = Readonly<Record<string, unknown>>

const textLengthMax = 400
const itemsMax = 16
const propertiesMax = 48
const depthMax = 4
const optionsMax = 64
/** Names stand beside our instructions, outside of the fence. */
const plainName = /^[\w-]{1,64}$/

const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))
const anyObject: JsonSchema = { type: "object" }

export const boundedForm = ({ schema }: Pick<CandidateKind, "schema">): JsonSchema => {
  const form = formOf(Option.getOrUndefined(decodeJson(schema)), 0)
  return form?.["type"] === "object" ? form : anyObject
}

/** Undefined: what it allows is not known. */
const formOf = (schema: unknown, depth: number): JsonSchema | undefined => {
  if (!isJsonObject(schema) || depth > depthMax) return undefined
  const { enum: options, type } = schema
  if (Array.isArray(options)) return optionsOf(options)
  switch (type) {
    case "object":
      return objectOf(schema, depth)
    case "array":
      return {
        type,
        items: formOf(schema["items"], depth + 1) ?? textForm({}),
        maxItems: atMost(schema["maxItems"], itemsMax)
      }
    case "string":
      return textForm(schema)
    case "number":
    case "integer":
    case "boolean":
      return { type }
    default:
      return undefined
  }
}

const textForm = ({ maxLength }: JsonSchema): JsonSchema => ({
  type: "string",
  maxLength: atMost(maxLength, textLengthMax)
})

const atMost = (given: unknown, bound: number): number => (typeof given === "number" ? Math.min(given, bound) : bound)

/** A text that anybody wrote is none of our words. */
const optionsOf = (options: ReadonlyArray<unknown>): JsonSchema | undefined => {
  const isPlain = options.every((option) => typeof option === "string" && /^[\p{L}\p{N} _-]{1,64}$/u.test(option))
  return isPlain && options.length > 0 && options.length <= optionsMax ? { type: "string", enum: options } : undefined
}

const objectOf = (schema: JsonSchema, depth: number): JsonSchema => {
  const { properties, required } = schema
  const entries = isJsonObject(properties) ? Object.entries(properties) : []
  if (entries.length === 0 || entries.length > propertiesMax || !entries.every(([name]) => plainName.test(name)))
    return anyObject
  const names = new Set(entries.map(([name]) => name))
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, inner]) => [name, formOf(inner, depth + 1) ?? textForm({})])),
    required: Array.isArray(required) ? required.filter((name) => typeof name === "string" && names.has(name)) : [],
    additionalProperties: false
  }
}
