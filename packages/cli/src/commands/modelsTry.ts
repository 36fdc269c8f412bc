/**
 * `muniment models try`: what the configured language model's server can do, and what the model is worth in three
 * conversations, beside the rules. Exit code 1 where it cannot be used. Stores nothing in the data directory.
 */
import { layerNodeHttp } from "@effect/platform-node/NodeHttpClient"
import { ConfigProvider, Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { LanguageModelConfig } from "@muniment/models/llm/LanguageModelConfig"
import { serverAbilities } from "@muniment/models/llm/ServerAbilities"
import { serverListing } from "@muniment/models/llm/ServerListing"
import { CommandFailed } from "../CommandFailed.ts"
import { localModelServers, tryLine } from "../modelTrial/LocalModelServers.ts"
import { listed, modelFault } from "../modelTrial/ModelFault.ts"
import { adviceOf, isUnread, totalsOf, type TriedModel } from "../modelTrial/TrialAdvice.ts"
import { abilityLines, trialReport } from "../modelTrial/TrialReport.ts"
import { setting } from "../Profiles.ts"
import { makeProgress } from "../Progress.ts"
import { withStartFailure } from "../StartFailure.ts"
import { flags, optionalText } from "./flags.ts"
import { tryModel } from "./tryModel.ts"

export const tryConfigured = Command.make(
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

/** Of the flags, then of the environment. */
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
    ...(Option.isSome(provider) && { MUNIMENT_LLM_PROVIDER: provider.value }),
    ...(Option.isSome(baseUrl) && { MUNIMENT_LLM_BASE_URL: baseUrl.value }),
    ...(Option.isSome(model) && { MUNIMENT_LLM_MODEL: model.value })
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
