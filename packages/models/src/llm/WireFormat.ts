/**
 * A provider's wire format as pure functions: a request as the JSON that its server takes, and the JSON
 * that it answers as text, end and use. `OpenAiChat` and `AnthropicMessages` are the two there are.
 */
import type { Redacted } from "effect"
import type { TokenCount } from "./TokenCount.ts"
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

/** What differs between servers of one format; found out by their refusals. */
export interface Dialect {
  /** How the answer's schema is imposed: by the server (a forced tool, at Anthropic), as any JSON, or by the prompt. */
  readonly schemaBy: "json_schema" | "json_object" | "prompt"
  readonly lengthField: "max_tokens" | "max_completion_tokens"
  readonly isTemperatureSent: boolean
}

export interface WireAnswer {
  readonly text: string
  readonly finish: "stop" | "length" | "refused"
  /** As the server claims; `undefined` where it claims nothing. */
  readonly used: { readonly [Direction in keyof TokenCount]: number | undefined }
}

export interface WireFormat {
  readonly urlOf: (baseUrl: string) => string
  readonly headersOf: (apiKey: Redacted.Redacted | undefined) => Readonly<Record<string, string>>
  readonly encode: (request: WireRequest, dialect: Dialect) => Readonly<Record<string, unknown>>
  /** `undefined` when the body is not an answer of this format. */
  readonly decode: (body: unknown) => WireAnswer | undefined
  /** What to try after a server refused a request; `undefined` when nothing is left. */
  readonly simpler: (dialect: Dialect, refusal: string) => Dialect | undefined
}

export const firstDialect: Dialect = { schemaBy: "json_schema", lengthField: "max_tokens", isTemperatureSent: true }

/** A server that found the prompt too long takes no dialect. */
export const isTooLong = (refusal: string): boolean =>
  /context.?(?:length|window|size)|maximum context|too long|too many tokens/i.test(refusal)

/** The schema in words: local servers impose it on the answer without telling it to the model. */
export const schemaInstruction = (schema: JsonSchema): string =>
  `Answer with one JSON value and nothing else. It must match this JSON Schema:\n${JSON.stringify(schema)}`
