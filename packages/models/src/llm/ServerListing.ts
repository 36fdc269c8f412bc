/**
 * What a model's server says about itself: the models that it lists, the product that it is, how long a prompt may be and
 * how many it answers at once. Each product is known by an answer of its own, not by its port.
 *
 * Nothing here fails: what a server does not say is left out, and what lists no models is no model's server.
 */
import { ByteSize, Clock, Effect, Option, Schema, Stream } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { type LanguageModelConfig, timeoutOf } from "./LanguageModelConfig.ts"
import { claimedTokens, estimatedTokens } from "./ModelBudget.ts"
import { wireFormats } from "./WireFormats.ts"
import { exchangeFailure, truncated } from "./ModelAttempt.ts"
import { type Exchanged, jsonIn, makeModelExchange, type ModelExchange } from "./ModelExchange.ts"
import { ModelFailure } from "./ModelFailure.ts"
import { type Dialect, jsonSchemaOf, type WireRequest } from "./WireFormat.ts"

type ServerPlace = Pick<LanguageModelConfig, "provider" | "baseUrl" | "apiKey">

export interface ServerListing {
  /** Undefined: one of many that speak the same format. */
  readonly product: "Ollama" | "llama.cpp" | "LM Studio" | "vLLM" | undefined
  /** Without those that only embed. */
  readonly models: ReadonlyArray<string>
  /** Tokens of a prompt and its answer together, by model. */
  readonly contextTokens: ReadonlyMap<string, number>
  /** Requests that it answers at once. */
  readonly slots: number | undefined
}

/** Time-out of one question; a server that is there lists its models at once. */
const listingMillisMax = 2_000
const listingBytesMax = 4 * 1024 * 1024

export const serverListing = Effect.fnUntraced(function* (place: ServerPlace, millisMax = listingMillisMax) {
  const ask = yield* askerOf(place, millisMax)
  const wire = wireFormats[place.provider]
  const listed = Option.getOrUndefined(decodeModels(yield* ask(wire.modelsUrlOf(place.baseUrl))))
  if (listed === undefined) return undefined
  const root = place.baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "")
  const own = place.provider === "anthropic" ? {} : yield* ownAnswers(listed.data, (path) => ask(`${root}${path}`))
  const stated = listed.data.flatMap((model) => {
    const tokens = [model.max_model_len, model.context_length, model.max_input_tokens].map(claimedTokens)
    return tokens.flatMap((count) => (count === undefined ? [] : [[model.id, count] as const]))
  })
  return {
    product: undefined,
    slots: undefined,
    ...own,
    models: (own.models ?? listed.data.map(({ id }) => id)).filter((id) => !embeds.test(id)),
    contextTokens: new Map([...stated, ...(own.contextTokens ?? [])])
  } satisfies ServerListing
})

/** Models that write no text, by their names. */
const embeds = /embed|rerank|minilm|\bbge\b|whisper|\btts\b/i

type OwnAnswers = Partial<ServerListing>

/** By what only this product answers, and what it says there. */
const ownAnswers = Effect.fnUntraced(function* (
  listed: typeof Models.Type.data,
  ask: (path: string) => Effect.Effect<unknown>
): Effect.fn.Return<OwnAnswers> {
  const owners = new Set(listed.map((model) => model.owned_by))
  if (owners.has("vllm")) return { product: "vLLM" }
  if (owners.has("llamacpp")) {
    const said = Option.getOrUndefined(decodeProps(yield* ask("/props")))
    const tokens = claimedTokens(said?.default_generation_settings?.n_ctx)
    return {
      product: "llama.cpp",
      slots: claimedTokens(said?.total_slots),
      contextTokens: new Map(tokens === undefined ? [] : listed.map(({ id }) => [id, tokens]))
    }
  }
  if (Option.isSome(decodeVersion(yield* ask("/api/version")))) {
    const running = Option.getOrUndefined(decodeRunning(yield* ask("/api/ps")))
    return { product: "Ollama", contextTokens: contextsOf(running?.models ?? [], ({ name }) => name) }
  }
  const studio = Option.getOrUndefined(decodeStudio(yield* ask("/api/v0/models")))
  if (studio === undefined) return {}
  // A loaded one answers at once.
  const written = studio.data
    .filter(({ type }) => type !== "embeddings")
    .toSorted((left, right) => Number(right.state === "loaded") - Number(left.state === "loaded"))
  return {
    product: "LM Studio",
    models: written.map(({ id }) => id),
    contextTokens: contextsOf(written, ({ id }) => id)
  }
})

const contextsOf = <A extends { readonly context_length?: unknown; readonly loaded_context_length?: unknown }>(
  models: ReadonlyArray<A>,
  nameOf: (model: A) => string
): ReadonlyMap<string, number> =>
  new Map(
    models.flatMap((model) => {
      const tokens = claimedTokens(model.loaded_context_length ?? model.context_length)
      return tokens === undefined ? [] : [[nameOf(model), tokens] as const]
    })
  )

/** The JSON at a URL; undefined where there is none. */
const askerOf = Effect.fnUntraced(function* ({ apiKey, provider }: ServerPlace, millisMax: number) {
  const client = yield* HttpClient.HttpClient
  const headers = wireFormats[provider].headersOf(apiKey)
  return (url: string): Effect.Effect<unknown> =>
    client.execute(HttpClientRequest.get(url, { headers }).pipe(HttpClientRequest.acceptJson)).pipe(
      Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
      Effect.flatMap(({ status, stream }) =>
        status === 200
          ? Stream.runCollect(Stream.limitBytes(stream, ByteSize.bytes(listingBytesMax), () => Stream.empty))
          : Effect.succeed([])
      ),
      Effect.map((chunks) => Option.getOrUndefined(decodeJson(Buffer.concat([...chunks]).toString("utf8")))),
      Effect.timeout(millisMax),
      Effect.orElseSucceed(() => undefined)
    )
})

const anything = Schema.optionalKey(Schema.Unknown)
const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))
const Models = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      owned_by: anything,
      // vLLM; OpenRouter and others; Anthropic.
      max_model_len: anything,
      context_length: anything,
      max_input_tokens: anything
    })
  )
})
const decodeModels = Schema.decodeUnknownOption(Models)
const decodeProps = Schema.decodeUnknownOption(
  Schema.Struct({
    default_generation_settings: Schema.optionalKey(Schema.Struct({ n_ctx: anything })),
    total_slots: anything
  })
)
const decodeVersion = Schema.decodeUnknownOption(Schema.Struct({ version: Schema.String }))
const decodeRunning = Schema.decodeUnknownOption(
  Schema.Struct({ models: Schema.Array(Schema.Struct({ name: Schema.String, context_length: anything })) })
)
const decodeStudio = Schema.decodeUnknownOption(
  Schema.Struct({
    data: Schema.Array(
      Schema.Struct({
        id: Schema.String,
        type: Schema.String,
        state: Schema.String,
        loaded_context_length: anything
      })
    )
  })
)

/**
 * What a model's server can do, found out by asking it: how it takes a JSON Schema, whether the model thinks before it
 * answers and can be told not to, how fast it writes. Three short requests through the exchange that the service uses,
 * without retries: what fails here is told at once.
 */
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
