/**
 * A provider's wire format as pure functions: from a request to JSON, and from the server's JSON to text, finish reason
 * and token counts. Implemented by `OpenAiChat` and `AnthropicMessages`.
 */
import { type Redacted, Schema } from "effect"
import type { LanguageModel } from "effect/ai"
import { isJsonObject } from "@muniment/domain/Json"
import type { TokenCount } from "./ModelBudget.ts"

export interface WireTurn {
  readonly role: "user" | "assistant"
  readonly content: string
}

export interface WireRequest {
  readonly model: string
  readonly system: string
  readonly turns: ReadonlyArray<WireTurn>
  /** Without it the answer is plain text. */
  readonly answer: { readonly name: string; readonly schema: JsonSchema } | undefined
  readonly outputTokensMax: number
}

/** Differences between servers of one format; learned from their refusals. */
export interface Dialect {
  /** How the answer's schema is imposed: by the server (a forced tool, at Anthropic), as any JSON, or by the prompt. */
  readonly schemaBy: "json_schema" | "json_object" | "prompt"
  readonly lengthField: "max_tokens" | "max_completion_tokens"
  readonly isTemperatureSent: boolean
  /** How a model that thinks before it answers is asked not to, or little: it eats the time and the tokens of an answer. */
  readonly reasoningEffort: "none" | "low" | undefined
  /** The same for servers that read arguments of the chat template (vLLM, llama.cpp). */
  readonly isTemplateTold: boolean
}

export interface WireAnswer {
  readonly text: string
  readonly finish: "stop" | "length" | "refused"
  /** Whether the model thought before it answered. */
  readonly isThought: boolean
  /** As reported by the server; `undefined` if it reports nothing. */
  readonly used: { readonly [Direction in keyof TokenCount]: number | undefined }
}

export interface WireFormat {
  readonly urlOf: (baseUrl: string) => string
  /** Where the server lists its models. */
  readonly modelsUrlOf: (baseUrl: string) => string
  readonly headersOf: (apiKey: Redacted.Redacted | undefined) => Readonly<Record<string, string>>
  readonly encode: (request: WireRequest, dialect: Dialect) => Readonly<Record<string, unknown>>
  /** `undefined` when the body is not an answer of this format. */
  readonly decode: (body: unknown) => WireAnswer | undefined
  /** The dialect to try after a refusal; `undefined` if none is left. */
  readonly simpler: (dialect: Dialect, refusal: string) => Dialect | undefined
}

export const firstDialect: Dialect = {
  schemaBy: "json_schema",
  lengthField: "max_tokens",
  isTemperatureSent: true,
  reasoningEffort: "none",
  isTemplateTold: true
}

/** The prompt is too long: no dialect will help. */
export const isTooLong = (refusal: string): boolean =>
  /context.?(?:length|window|size)|maximum context|too long|too many tokens/i.test(refusal)

/** The schema in the prompt, for servers that do not impose it. */
export const schemaInstruction = (schema: JsonSchema): string =>
  `Answer with one JSON value and nothing else. It must match this JSON Schema:\n${JSON.stringify(schema)}`

/**
 * JSON Schema of an answer on the wire, in the shape that the Effect Schema encodes to. It is not rewritten for OpenAI's
 * strict mode, which would turn records into lists of pairs: local models answer the plain shape better, and the Effect
 * Schema checks every answer.
 */
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
