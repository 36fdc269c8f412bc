/**
 * Kinds in a prompt: the JSON Schema without keywords for tools, descriptions clipped, in groups that fit. Names,
 * descriptions and schemas are users' text, hence fenced.
 */
import { Option, Schema } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { CandidateKind } from "../extraction/Extractor.ts"
import { clippedJson, clippedText, isJsonArray } from "@muniment/language/text/VisibleText"
import { isJsonObject } from "@muniment/domain/Json"

/** Characters of kinds in one prompt. */
export const kindsLengthMax = 12_000
const descriptionLengthMax = 500
const schemaTextLengthMax = 300

export interface PromptKind {
  readonly kind: CandidateKind
  /** Line in the prompt. */
  readonly line: Schema.Json
  /** Allowed properties; undefined: any. */
  readonly properties: ReadonlySet<string> | undefined
  /** Values that the schema itself offers; they need no support by a message. */
  readonly offered: ReadonlySet<string>
}

const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))

export const promptKind = (kind: CandidateKind): PromptKind => {
  const schema = Option.getOrElse(decodeJson(kind.schema), (): Schema.Json => ({}))
  const line = (shape: Schema.Json): Schema.Json => ({
    kind: clippedText(kind.name, Limits.schemaNameLengthMax),
    description: clippedText(kind.description, descriptionLengthMax),
    schema: shape,
    ...(kind.uniqueOn === undefined || kind.uniqueOn.length === 0 ? {} : { uniqueOn: kind.uniqueOn })
  })
  const whole = line(clippedJson(withoutToolNotes(schema), schemaTextLengthMax))
  return {
    kind,
    line: JSON.stringify(whole).length <= kindsLengthMax ? whole : line(outline(schema)),
    properties: declaredProperties(schema),
    offered: new Set(offeredTexts(schema))
  }
}

/** In order; a group holds at least one kind. */
export const kindGroups = (kinds: ReadonlyArray<PromptKind>): ReadonlyArray<ReadonlyArray<PromptKind>> => {
  const groups: Array<Array<PromptKind>> = []
  let length = 0
  for (const kind of kinds) {
    const own = JSON.stringify(kind.line).length
    const group = groups.at(-1)
    length += own
    if (group !== undefined && length <= kindsLengthMax) group.push(kind)
    else {
      groups.push([kind])
      length = own
    }
  }
  return groups
}

const toolNotes = new Set(["$schema", "$id", "$comment", "title", "examples", "readOnly", "writeOnly", "deprecated"])

/** Removes annotations beside `type`; a property named `title` is inside `properties` and stays. */
const withoutToolNotes = (schema: Schema.Json, isSchema = true): Schema.Json => {
  if (schema === null || typeof schema !== "object") return schema
  if (isJsonArray(schema)) return schema.map((inner) => withoutToolNotes(inner, isSchema))
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, inner]) =>
      isSchema && toolNotes.has(name)
        ? []
        : [[name, withoutToolNotes(inner, !(isSchema && name.toLowerCase().endsWith("properties")))] as const]
    )
  )
}

const recordOf = (value: Schema.Json | undefined): { readonly [name: string]: Schema.Json } =>
  value === undefined || value === null || typeof value !== "object" || isJsonArray(value) ? {} : value

/** For a schema too large for a prompt: names and types of as many properties as fit. */
const outline = (schema: Schema.Json): Schema.Json => {
  const { properties, required } = recordOf(schema)
  let spare = kindsLengthMax / 2
  const shown = Object.entries(recordOf(properties)).flatMap(([name, inner]) => {
    const { type } = recordOf(inner)
    const entry = [name, { type: typeof type === "string" ? type : "any" }] as const
    spare -= JSON.stringify(entry).length
    return spare < 0 ? [] : [entry]
  })
  const names = new Set(shown.map(([name]) => name))
  const needed = isJsonArray(required ?? null) ? (required as ReadonlyArray<Schema.Json>) : []
  return {
    type: "object",
    properties: Object.fromEntries(shown),
    required: needed.filter((name) => typeof name === "string" && names.has(name))
  }
}

/** Known only for a plain list of properties. */
const declaredProperties = (schema: Schema.Json): ReadonlySet<string> | undefined => {
  const record = recordOf(schema)
  const openers = ["patternProperties", "$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "propertyNames"]
  const isOpen =
    openers.some((name) => record[name] !== undefined) || typeof record["additionalProperties"] === "object"
  const names = Object.keys(recordOf(record["properties"]))
  return isOpen || names.length === 0 ? undefined : new Set(names)
}

const offeredTexts = (schema: Schema.Json): ReadonlyArray<string> => {
  if (schema === null || typeof schema !== "object") return []
  if (isJsonArray(schema)) return schema.flatMap(offeredTexts)
  return Object.entries(schema).flatMap(([name, inner]) => {
    const values = name === "enum" && isJsonArray(inner) ? inner : name === "const" || name === "default" ? [inner] : []
    return [...values.filter((value) => typeof value === "string"), ...offeredTexts(inner)]
  })
}

type JsonSchema = Readonly<Record<string, unknown>>

const textLengthMax = 400
const itemsMax = 16
const propertiesMax = 48
const depthMax = 4
const optionsMax = 64
/** Names stand beside our instructions, outside of the fence. */
const plainName = /^[\w-]{1,64}$/

const decodedSchema = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))
const anyObject: JsonSchema = { type: "object" }

export const boundedForm = ({ schema }: Pick<CandidateKind, "schema">): JsonSchema => {
  const form = formOf(Option.getOrUndefined(decodedSchema(schema)), 0)
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
