/**
 * The wire format of Anthropic's `/v1/messages` (docs.anthropic.com/en/api/messages). The answer's schema
 * is the input of one tool that the model is forced to use. Models that always think take no forced
 * tool and no temperature; their refusal moves the schema into the prompt.
 */
import { Option, Redacted, Schema } from "effect"
import { claimedTokens } from "./ModelBudget.ts"
import { type Dialect, isTooLong, schemaInstruction, type WireAnswer, type WireFormat } from "./WireFormat.ts"

export const anthropicMessages: WireFormat = {
  urlOf: (baseUrl) => `${versionUrl(baseUrl)}/messages`,
  modelsUrlOf: (baseUrl) => `${versionUrl(baseUrl)}/models`,
  headersOf: (apiKey): Readonly<Record<string, string>> => ({
    "anthropic-version": apiVersion,
    ...(apiKey !== undefined && { "x-api-key": Redacted.value(apiKey) })
  }),
  encode: ({ answer, model, outputTokensMax, system, turns }, dialect) => ({
    model,
    max_tokens: outputTokensMax,
    system: answer === undefined || isForced(dialect) ? system : `${system}\n\n${schemaInstruction(answer.schema)}`,
    messages: turns,
    stream: false,
    ...(dialect.isTemperatureSent && { temperature: 0 }),
    ...(answer !== undefined &&
      isForced(dialect) && {
        tools: [{ name: answer.name, description: toolDescription, input_schema: answer.schema }],
        tool_choice: { type: "tool", name: answer.name, disable_parallel_tool_use: true }
      })
  }),
  decode: (body) => Option.getOrUndefined(Option.map(decodeMessage(body), answerOf)),
  simpler: (dialect, refusal) => {
    if (isTooLong(refusal)) return undefined
    if (dialect.isTemperatureSent && refusal.includes("temperature")) return { ...dialect, isTemperatureSent: false }
    return isForced(dialect) && refusal.includes("tool") ? { ...dialect, schemaBy: "prompt" } : undefined
  }
}

const versionUrl = (baseUrl: string): string => `${baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "")}/v1`

const isForced = ({ schemaBy }: Dialect): boolean => schemaBy === "json_schema"

const apiVersion = "2023-06-01"
const toolDescription = "Takes the whole answer. Use it once."

const Message = Schema.Struct({
  content: Schema.Array(
    Schema.Struct({
      type: Schema.String,
      text: Schema.optionalKey(Schema.String),
      input: Schema.optionalKey(Schema.Unknown)
    })
  ),
  stop_reason: Schema.optionalKey(Schema.NullOr(Schema.String)),
  usage: Schema.optionalKey(Schema.Unknown)
})
const Usage = Schema.Struct({
  input_tokens: Schema.optionalKey(Schema.Unknown),
  cache_creation_input_tokens: Schema.optionalKey(Schema.Unknown),
  cache_read_input_tokens: Schema.optionalKey(Schema.Unknown),
  output_tokens: Schema.optionalKey(Schema.Unknown)
})
const decodeMessage = Schema.decodeUnknownOption(Message)
const decodeUsage = Schema.decodeUnknownOption(Usage)

const answerOf = ({ content, stop_reason: reason, usage }: typeof Message.Type): WireAnswer => {
  const tool = content.find(({ type }) => type === "tool_use")
  const text = content.map((block) => (block.type === "text" ? (block.text ?? "") : "")).join("")
  return {
    text: tool === undefined ? text : JSON.stringify(tool.input ?? null),
    finish: reason === "refusal" ? "refused" : reason === "max_tokens" ? "length" : "stop",
    isThought: content.some(({ type }) => type === "thinking" || type === "redacted_thinking"),
    used: usedOf(Option.getOrElse(decodeUsage(usage), () => ({}) as typeof Usage.Type))
  }
}

/** Cached tokens count as input at the full price, although they are billed for less: the count is high. */
const usedOf = (claims: typeof Usage.Type): WireAnswer["used"] => {
  const input = claimedTokens(claims.input_tokens)
  const cached =
    (claimedTokens(claims.cache_creation_input_tokens) ?? 0) + (claimedTokens(claims.cache_read_input_tokens) ?? 0)
  return {
    inputTokens: input === undefined ? undefined : input + cached,
    outputTokens: claimedTokens(claims.output_tokens)
  }
}
