/**
 * What a model's server can do, found out by asking it: how it takes a JSON Schema, whether the model thinks before it
 * answers and can be told not to, how fast it writes. Three short requests through the exchange that the service uses,
 * without retries: what fails here is told at once.
 */
import { Clock, Effect, Option, Schema } from "effect"
import { HttpClient } from "effect/http"
import { type LanguageModelConfig, timeoutOf } from "./LanguageModelConfig.ts"
import { exchangeFailure, truncated } from "./ModelAttempt.ts"
import { type Exchanged, jsonIn, makeModelExchange, type ModelExchange } from "./ModelExchange.ts"
import { ModelFailure } from "./ModelFailure.ts"
import { estimatedTokens } from "./ModelBudget.ts"
import { type Dialect, type WireRequest, jsonSchemaOf } from "./WireFormat.ts"
import { wireFormats } from "./WireFormats.ts"

export interface ServerAbilities {
  /** `prompt`: neither format; the schema is only described. */
  readonly schemaBy: Dialect["schemaBy"]
  readonly thinking: "none" | "switched_off" | "stays_on"
  /** Speed of a short answer, with the time that the request itself takes. */
  readonly tokensPerSecond: number
}

/** Formats of a schema, from the strictest: each may be taken and not followed. */
const formsTriedMax = 3
const tokensMax = { form: 800, count: 120, sum: 48 }

/** Asked for without the word JSON: a schema that is not imposed is answered in prose. */
const formQuestion = "Describe the sky at noon on a clear day: its colour, and how many suns are in it."
const countQuestion = "Write the numbers from one to fifty as words, one after the other."
const sumQuestion = "What is seventeen times three?"

const Form = Schema.Struct({ colour: Schema.String, suns: Schema.Int })
const decodeForm = Schema.decodeUnknownOption(Schema.fromJsonString(Form))

export const serverAbilities = Effect.fnUntraced(function* (config: LanguageModelConfig) {
  const client = yield* HttpClient.HttpClient
  const wire = wireFormats[config.provider]
  const ask = (exchange: ModelExchange, request: WireRequest) =>
    exchange(request).pipe(
      Effect.mapError(exchangeFailure),
      Effect.timeoutOrElse({
        duration: timeoutOf(config, "extraction"),
        orElse: () => Effect.fail(new ModelFailure({ reason: "timeout", message: "the language model did not answer" }))
      })
    )
  const exchange = makeModelExchange(client, config, wire)
  const requestOf = (question: string, outputTokensMax: number): WireRequest => ({
    model: config.model,
    system: "You answer briefly.",
    turns: [{ role: "user", content: question }],
    answer: undefined,
    outputTokensMax
  })

  const form = { ...requestOf(formQuestion, tokensMax.form), answer: { name: "form", schema: jsonSchemaOf(Form) } }
  const { dialect } = yield* filled(ask(exchange, form))
  const startedMillis = yield* Clock.currentTimeMillis
  const counted = yield* ask(exchange, requestOf(countQuestion, tokensMax.count))
  const tookMillis = Math.max(1, (yield* Clock.currentTimeMillis) - startedMillis)
  const untold = { ...dialect, reasoningEffort: undefined, isTemplateTold: false }
  const isTold = dialect.reasoningEffort !== undefined || dialect.isTemplateTold
  const thinksUntold =
    isTold &&
    !counted.isThought &&
    (yield* ask(makeModelExchange(client, config, wire, untold), requestOf(sumQuestion, tokensMax.sum))).isThought
  return {
    schemaBy: dialect.schemaBy,
    thinking: counted.isThought ? "stays_on" : thinksUntold ? "switched_off" : "none",
    tokensPerSecond: ((counted.used.outputTokens ?? estimatedTokens([counted.text])) * 1_000) / tookMillis
  } satisfies ServerAbilities
})

/** The first answer that matches the form; the exchange itself goes on to a simpler dialect after prose. */
const filled = Effect.fnUntraced(function* (ask: Effect.Effect<Exchanged, ModelFailure>) {
  let isJson = false
  for (let tried = 0; tried < formsTriedMax; tried += 1) {
    // A 500 may be due to the schema, which the exchange leaves out of the next request.
    const answer = yield* tried === 0
      ? Effect.catch(ask, (failure) => (failure.status === 500 ? ask : Effect.fail(failure)))
      : ask
    if (answer.text === "" && answer.finish === "stop") return yield* silent
    if (answer.finish === "refused") return yield* refused
    if (answer.finish === "length") return yield* answer.isThought ? lostInThought : truncated
    if (Option.isSome(decodeForm(jsonIn(answer.text)))) return answer
    isJson = isJson || /^\s*[[{]/.test(jsonIn(answer.text))
  }
  return yield* isJson ? unfit : prose
})

const failure = (reason: ModelFailure["reason"], message: string) => new ModelFailure({ reason, message })

const refused = failure("refused", "the language model refused to answer")
const lostInThought = failure(
  "truncated",
  "the language model used the whole length of a short answer for thinking, which cannot be switched off"
)
const unfit = failure("malformed", "the language model's answers do not match the JSON Schema that it is given")
const silent = failure("malformed", "the language model answers nothing where JSON is asked for")
const prose = failure("malformed", "the language model answers in prose where JSON is asked for")
