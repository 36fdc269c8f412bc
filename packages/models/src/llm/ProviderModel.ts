/**
 * Implements Effect's `LanguageModel` over one provider's wire format: text and structured answers, without streaming
 * and without the caller's tools.
 *
 * Its interface has no field for the length of an answer or the cost of a failed one, so a call carries a `ModelCall`.
 */
import { Context, Effect, type Schema, Stream } from "effect"
import { AiError, LanguageModel, type Prompt, type Response } from "effect/ai"
import { answerCut, jsonIn, type ModelExchange } from "./ModelExchange.ts"
import { estimatedTokens, type TokenCount } from "./ModelBudget.ts"
import { type WireAnswer, type WireRequest, type WireTurn, jsonSchemaOf, wireCodec } from "./WireFormat.ts"

export interface ModelCall {
  readonly outputTokensMax: number
  /** Tokens used; `unknown` from sending the request until the answer reports them. */
  spent: "nothing" | "unknown" | TokenCount
  /** The answer was cut at `outputTokensMax`. */
  isTruncated: boolean
}

const outputTokensDefault = 1_024

export const newCall = (outputTokensMax: number): ModelCall => ({
  outputTokensMax,
  spent: "nothing",
  isTruncated: false
})

/** The call of the current fiber. */
export const CurrentCall = Context.Reference<ModelCall | undefined>("muniment/models/CurrentCall", {
  defaultValue: () => undefined
})

export const makeProviderModel = (model: string, exchange: ModelExchange): Effect.Effect<LanguageModel.LanguageModel> =>
  LanguageModel.make({
    codecTransformer: wireCodec,
    generateText: Effect.fnUntraced(function* (options) {
      const call = (yield* CurrentCall) ?? newCall(outputTokensDefault)
      const request = yield* wireRequestOf(model, options, call.outputTokensMax)
      call.spent = "unknown"
      const answer = yield* Effect.tapError(exchange(request), (error) =>
        Effect.sync(() => {
          if (isUnspent(error)) call.spent = "nothing"
        })
      )
      const used = usedBy(request, answer)
      call.spent = used
      call.isTruncated = answer.finish === "length"
      if (answer.finish === "refused") return yield* refused
      if (request.answer !== undefined && call.isTruncated) return yield* cutOff
      return partsOf(request.answer === undefined ? answer.text : jsonIn(answer.text), answer, used)
    }),
    streamText: () => Stream.fail(failed(new AiError.UnknownError({ description: "answers are not streamed" })))
  })

const failed = (reason: AiError.AiErrorReason): AiError.AiError =>
  AiError.make({ module: "ProviderModel", method: "generateText", reason })

const refused = failed(new AiError.ContentPolicyError({ description: "the model refused to answer" }))
const cutOff = failed(new AiError.InvalidOutputError({ description: "the answer was cut off at the maximum length" }))

/** An error status or a failed connection is not billed; an unreadable answer was generated, and is billed. */
const isUnspent = (error: AiError.AiError): boolean =>
  error !== answerCut && error.reason._tag !== "InvalidResponseError"

const wireRequestOf = (
  model: string,
  { prompt, responseFormat }: LanguageModel.ProviderOptions,
  outputTokensMax: number
): Effect.Effect<WireRequest, AiError.AiError> =>
  Effect.map(
    responseFormat.type === "text" ? Effect.succeed(undefined) : schemaOf(responseFormat.schema),
    (schema) => ({
      model,
      system: prompt.content.map((message) => (message.role === "system" ? message.content : "")).join(""),
      turns: prompt.content.flatMap(turnOf),
      answer:
        responseFormat.type === "text" || schema === undefined
          ? undefined
          : { name: responseFormat.objectName, schema },
      outputTokensMax
    })
  )

const schemaOf = (schema: Schema.Constraint) =>
  Effect.try({
    try: () => jsonSchemaOf(schema),
    catch: () => failed(new AiError.UnsupportedSchemaError({ description: "the schema has no JSON Schema" }))
  })

const turnOf = (message: Prompt.Message): ReadonlyArray<WireTurn> =>
  message.role === "user" || message.role === "assistant"
    ? [{ role: message.role, content: textOf(message.content) }]
    : []

/** Half a surrogate pair, left by truncation, is invalid JSON for some servers. */
const textOf = (parts: ReadonlyArray<Prompt.UserMessagePart | Prompt.AssistantMessagePart>): string =>
  parts
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("")
    .toWellFormed()

/** As reported by the server, otherwise estimated from the texts. */
const usedBy = ({ answer: wanted, system, turns }: WireRequest, { text, used }: WireAnswer): TokenCount => ({
  inputTokens:
    used.inputTokens ??
    estimatedTokens([system, JSON.stringify(wanted?.schema ?? ""), ...turns.map(({ content }) => content)]),
  outputTokens: used.outputTokens ?? estimatedTokens([text])
})

const partsOf = (text: string, { finish }: WireAnswer, used: TokenCount): Array<Response.PartEncoded> => [
  { type: "text", text },
  {
    type: "finish",
    reason: finish === "length" ? "length" : "stop",
    usage: { inputTokens: { total: used.inputTokens }, outputTokens: { total: used.outputTokens } },
    response: undefined
  }
]
