/**
 * The wire format of OpenAI's `/chat/completions`, as OpenAI, Ollama, vLLM, llama.cpp and LM Studio
 * speak it (platform.openai.com/docs/api-reference/chat).
 */
import { Option, Redacted, Schema } from "effect"
import { beginsWithThought } from "./ModelExchange.ts"
import { claimedTokens } from "./ModelBudget.ts"
import {
  type Dialect,
  type WireAnswer,
  type WireFormat,
  type WireRequest,
  isStrict,
  isTooLong,
  schemaInstruction
} from "./WireFormat.ts"

export const openAiChat: WireFormat = {
  urlOf: (baseUrl) => `${baseUrl.replace(/\/+$/, "")}/chat/completions`,
  modelsUrlOf: (baseUrl) => `${baseUrl.replace(/\/+$/, "")}/models`,
  headersOf: (apiKey): Readonly<Record<string, string>> =>
    apiKey === undefined ? {} : { authorization: `Bearer ${Redacted.value(apiKey)}` },
  encode: (request, dialect) => {
    const { answer, model, outputTokensMax, turns } = request
    return {
      model,
      messages: [{ role: "system", content: systemText(request, dialect) }, ...turns],
      [dialect.lengthField]: outputTokensMax,
      stream: false,
      ...(dialect.isTemperatureSent && { temperature: 0 }),
      ...(dialect.reasoningEffort !== undefined && { reasoning_effort: dialect.reasoningEffort }),
      ...(dialect.isTemplateTold && { chat_template_kwargs: { enable_thinking: false } }),
      ...(answer !== undefined && dialect.schemaBy !== "prompt" && { response_format: formatOf(answer, dialect) })
    }
  },
  decode: (body) => Option.getOrUndefined(Option.flatMap(decodeCompletion(body), answerOf)),
  simpler: (dialect, refusal) => {
    if (isTooLong(refusal)) return undefined
    if (dialect.lengthField === "max_tokens" && refusal.includes("max_completion_tokens")) {
      return { ...dialect, lengthField: "max_completion_tokens" }
    }
    if (dialect.isTemperatureSent && refusal.includes("temperature")) return { ...dialect, isTemperatureSent: false }
    const thinking = simplerThinking(dialect, refusal)
    if (thinking !== undefined) return thinking
    if (dialect.schemaBy === "json_schema") return { ...dialect, schemaBy: "json_object" }
    return dialect.schemaBy === "json_object" ? { ...dialect, schemaBy: "prompt" } : undefined
  }
}

/**
 * Without the words about thinking that the refusal names, or with an effort that it offers; without all of them where it
 * names nothing, as they are no part of the original format.
 */
const simplerThinking = (dialect: Dialect, refusal: string): Dialect | undefined => {
  const { isTemplateTold, reasoningEffort } = dialect
  const isEffortNamed = reasoningEffort !== undefined && /reasoning/i.test(refusal)
  const isTemplateNamed = isTemplateTold && refusal.includes("chat_template")
  if (isEffortNamed || isTemplateNamed) {
    const offered = reasoningEffort === "none" && /\blow\b/.test(refusal) ? "low" : undefined
    return {
      ...dialect,
      reasoningEffort: isEffortNamed ? offered : reasoningEffort,
      isTemplateTold: isTemplateTold && !isTemplateNamed
    }
  }
  const isAboutFormat = /response_format|json_schema|json_object|schema|grammar/i.test(refusal)
  if (isAboutFormat || (reasoningEffort === undefined && !isTemplateTold)) return undefined
  return { ...dialect, reasoningEffort: undefined, isTemplateTold: false }
}

/** A server that imposes the schema need not read it twice: the instructions name its properties. */
const systemText = ({ answer, system }: WireRequest, { schemaBy }: Dialect): string =>
  answer === undefined || schemaBy === "json_schema" ? system : `${system}\n\n${schemaInstruction(answer.schema)}`

const formatOf = ({ name, schema }: NonNullable<WireRequest["answer"]>, { schemaBy }: Dialect) =>
  schemaBy === "json_object"
    ? { type: "json_object" }
    : { type: "json_schema", json_schema: { name, schema, strict: isStrict(schema) } }

/** Servers add and omit fields freely, so only those that are used are required. */
const Completion = Schema.Struct({
  choices: Schema.Array(
    Schema.Struct({
      message: Schema.Struct({
        content: Schema.optionalKey(Schema.NullOr(Schema.String)),
        refusal: Schema.optionalKey(Schema.NullOr(Schema.String)),
        // Thoughts, as llama.cpp, vLLM and LM Studio name them, and as Ollama does.
        reasoning_content: Schema.optionalKey(Schema.Unknown),
        reasoning: Schema.optionalKey(Schema.Unknown)
      }),
      finish_reason: Schema.optionalKey(Schema.NullOr(Schema.String))
    })
  ),
  usage: Schema.optionalKey(Schema.Unknown)
})
const Usage = Schema.Struct({
  prompt_tokens: Schema.optionalKey(Schema.Unknown),
  completion_tokens: Schema.optionalKey(Schema.Unknown),
  completion_tokens_details: Schema.optionalKey(
    Schema.NullOr(Schema.Struct({ reasoning_tokens: Schema.optionalKey(Schema.Unknown) }))
  )
})
const decodeCompletion = Schema.decodeUnknownOption(Completion)
const decodeUsage = Schema.decodeUnknownOption(Usage)

const answerOf = ({ choices: [choice], usage }: typeof Completion.Type): Option.Option<WireAnswer> => {
  if (choice === undefined) return Option.none()
  const { finish_reason: reason, message } = choice
  const isRefused = reason === "content_filter" || (message.refusal ?? "") !== ""
  const claims = Option.getOrElse(decodeUsage(usage), () => ({}) as typeof Usage.Type)
  return Option.some({
    text: message.content ?? "",
    finish: isRefused ? "refused" : reason === "length" ? "length" : "stop",
    isThought:
      [message.reasoning_content, message.reasoning].some((thoughts) => (thoughts ?? "") !== "") ||
      (claimedTokens(claims.completion_tokens_details?.reasoning_tokens) ?? 0) > 0 ||
      beginsWithThought(message.content ?? ""),
    used: {
      inputTokens: claimedTokens(claims.prompt_tokens),
      outputTokens: claimedTokens(claims.completion_tokens)
    }
  })
}
