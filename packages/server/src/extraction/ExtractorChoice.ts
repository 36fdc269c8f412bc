/**
 * Choice of the extractor and the answer writer: the configured language model, or rules and quoted memories when
 * none is configured. A wrong setting stops the start with the name of its variable.
 */
import { Data, Effect, Layer, Option } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { AnswerWriter } from "@muniment/insight/answers/AnswerWriter"
import type { Extractor } from "@muniment/insight/extraction/Extractor"
import { LlmExtractor } from "@muniment/insight/prompts/LlmExtractor"
import { RuleExtractor } from "@muniment/insight/rules/RuleExtractor"
import type { Accounts } from "@muniment/control/accounts/Accounts"
import type { ModelUsage } from "@muniment/control/accounts/ModelUsage"
import type { Ledger } from "@muniment/control/credits/Ledger"
import type { LanguageModelConfig } from "@muniment/models/llm/LanguageModelConfig"
import { StructuredModel } from "@muniment/models/llm/StructuredModel"
import type { ServerConfig } from "../Config.ts"
import { chargedTokens } from "./ChargedTokens.ts"
import { modelForPaidAccounts } from "./ModelAccounts.ts"

type LlmSettings = ServerConfig["llm"]

/** Stops the start. Holds no key and no URL, which may contain one. */
export class LanguageModelMisconfigured extends Data.TaggedError("LanguageModelMisconfigured")<{
  readonly message: string
}> {}

export const extractorChoice = (
  settings: LlmSettings,
  takesPayments: boolean
): Layer.Layer<Extractor | AnswerWriter, LanguageModelMisconfigured, ModelUsage | Accounts | Ledger> => {
  const { provider } = settings
  if (provider === "none") return Layer.mergeAll(RuleExtractor.layer, AnswerWriter.layerExtractive)
  const byModel = Layer.mergeAll(LlmExtractor.layer, AnswerWriter.layerWithModel).pipe(
    Layer.provide(Layer.unwrap(Effect.map(configOf(provider, settings), (config) => StructuredModel.layer(config)))),
    Layer.provide(chargedTokens({ input: settings.inputCreditsPer1000, output: settings.outputCreditsPer1000 }))
  )
  const whom = Option.getOrElse(settings.accounts, () => (takesPayments ? "paid" : "all"))
  return whom === "paid" ? modelForPaidAccounts(byModel) : byModel
}

/** Added to the model's own time-out. */
const spareMillis = 1_000

/** A longer time-out of the model extends the deadline of an extraction. */
export const extractionDeadline = ({ timeoutMillis }: LlmSettings): number =>
  Math.max(Limits.extractionDeadlineMillis, Option.getOrElse(timeoutMillis, () => 0) + spareMillis)

/** Used when no URL is configured: this machine, or the provider itself. */
const defaultUrls = {
  "openai-compatible": "http://127.0.0.1:11434/v1",
  anthropic: "https://api.anthropic.com"
} as const

const configOf = Effect.fnUntraced(function* (
  provider: LanguageModelConfig["provider"],
  settings: LlmSettings
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
