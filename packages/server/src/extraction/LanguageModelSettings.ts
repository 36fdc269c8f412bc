/** The settings of the language model, checked together. A wrong one stops the start with the name of its variable. */
import { Data, Effect, Option } from "effect"
import type { LanguageModelConfig } from "@muniment/models/llm/LanguageModelConfig"
import type { ServerConfig } from "../Config.ts"

export type LlmSettings = ServerConfig["llm"]
export type ConsolidationSettings = ServerConfig["consolidation"]

/** Stops the start. Holds no key and no URL, which may contain one. */
export class LanguageModelMisconfigured extends Data.TaggedError("LanguageModelMisconfigured")<{
  readonly message: string
}> {}

export const demandConsolidator = ({ provider }: LlmSettings, { isOn }: ConsolidationSettings) =>
  isOn && provider === "none"
    ? misconfigured("MUNIMENT_CONSOLIDATE: on needs a language model: set MUNIMENT_LLM_PROVIDER")
    : Effect.void

/** Used when no URL is configured: this machine, or the provider itself. */
const defaultUrls = {
  "openai-compatible": "http://127.0.0.1:11434/v1",
  anthropic: "https://api.anthropic.com"
} as const

export const languageModelOf = Effect.fnUntraced(function* (
  provider: LanguageModelConfig["provider"],
  settings: LlmSettings,
  consolidationTokensPerDay?: number
): Effect.fn.Return<LanguageModelConfig, LanguageModelMisconfigured> {
  const model = Option.getOrUndefined(settings.model)
  if (model === undefined || model.trim() === "") {
    return yield* misconfigured("MUNIMENT_LLM_MODEL: name the model that MUNIMENT_LLM_PROVIDER serves")
  }
  const baseUrl = Option.getOrElse(settings.baseUrl, () => defaultUrls[provider])
  if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? "")) {
    return yield* misconfigured("MUNIMENT_LLM_BASE_URL: give an http or https URL")
  }
  for (const [name, given] of Object.entries(amounts(settings))) {
    if (given !== undefined && given <= 0) return yield* misconfigured(`${name}: give a number above zero`)
  }
  const cost = Option.getOrUndefined(settings.costPerDayUsd)
  const input = Option.getOrUndefined(settings.inputUsdPerMillion)
  const output = Option.getOrUndefined(settings.outputUsdPerMillion)
  if (cost !== undefined && (input === undefined || output === undefined)) {
    return yield* misconfigured(
      "MUNIMENT_LLM_COST_PER_DAY_USD: a cost needs prices, MUNIMENT_LLM_INPUT_USD_PER_MILLION and MUNIMENT_LLM_OUTPUT_USD_PER_MILLION"
    )
  }
  return {
    provider,
    baseUrl,
    model,
    apiKey: Option.getOrUndefined(settings.apiKey),
    timeoutMillis: Option.getOrUndefined(settings.timeoutMillis),
    concurrency: Option.getOrUndefined(settings.concurrency),
    tokensPerDay: settings.tokensPerDay,
    totalTokensPerDay: settings.totalTokensPerDay,
    consolidationTokensPerDay,
    costPerDayMicroUsd: micro(cost),
    inputPriceMicroUsdPerMillion: micro(input),
    outputPriceMicroUsdPerMillion: micro(output)
  }
})

const amounts = (settings: LlmSettings) => ({
  MUNIMENT_LLM_TIMEOUT_MILLIS: Option.getOrUndefined(settings.timeoutMillis),
  MUNIMENT_LLM_CONCURRENCY: Option.getOrUndefined(settings.concurrency),
  MUNIMENT_LLM_TOKENS_PER_DAY: settings.tokensPerDay,
  MUNIMENT_LLM_TOTAL_TOKENS_PER_DAY: settings.totalTokensPerDay,
  MUNIMENT_LLM_COST_PER_DAY_USD: Option.getOrUndefined(settings.costPerDayUsd)
})

const microsPerUsd = 1_000_000

const micro = (usd: number | undefined): number | undefined =>
  usd === undefined ? undefined : Math.round(usd * microsPerUsd)

const misconfigured = (message: string) => Effect.fail(new LanguageModelMisconfigured({ message }))
