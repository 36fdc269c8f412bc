/**
 * A provider's wire format as pure functions: from a request to JSON, and from the server's JSON to text, finish reason
 * and token counts. Implemented by `OpenAiChat` and `AnthropicMessages`.
 */
import type { Redacted } from "effect"
import type { TokenCount } from "./ModelBudget.ts"
import type { JsonSchema } from "./WireSchema.ts"

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
