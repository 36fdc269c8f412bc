/**
 * Choice of the extractor and the answer writer: the configured language model, or rules and quoted memories when
 * none is configured.
 */
import { Effect, Layer, Option } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { AnswerWriter } from "@muniment/insight/answers/AnswerWriter"
import type { Extractor } from "@muniment/insight/extraction/Extractor"
import { LlmExtractor } from "@muniment/insight/prompts/LlmExtractor"
import { RuleExtractor } from "@muniment/insight/rules/RuleExtractor"
import type { Accounts } from "@muniment/control/accounts/Accounts"
import type { ModelUsage } from "@muniment/control/accounts/ModelUsage"
import type { Ledger } from "@muniment/control/credits/Ledger"
import { timeoutOf } from "@muniment/models/llm/LanguageModelConfig"
import { StructuredModel } from "@muniment/models/llm/StructuredModel"
import { chargedTokens } from "./ChargedTokens.ts"
import { type LanguageModelMisconfigured, languageModelOf, type LlmSettings } from "./LanguageModelSettings.ts"
import { modelForPaidAccounts } from "./ModelAccounts.ts"

export const extractorChoice = (
  settings: LlmSettings,
  takesPayments: boolean
): Layer.Layer<Extractor | AnswerWriter, LanguageModelMisconfigured, ModelUsage | Accounts | Ledger> => {
  const { provider } = settings
  if (provider === "none") return Layer.mergeAll(RuleExtractor.layer, AnswerWriter.layerExtractive)
  const checks = { isStrict: settings.checks === "strict" }
  const byModel = Layer.mergeAll(LlmExtractor.layer(checks), AnswerWriter.layerWithModel(checks)).pipe(
    Layer.provide(
      Layer.unwrap(Effect.map(languageModelOf(provider, settings), (config) => StructuredModel.layer(config)))
    ),
    Layer.provide(chargedTokens({ input: settings.inputCreditsPer1000, output: settings.outputCreditsPer1000 }))
  )
  const whom = Option.getOrElse(settings.accounts, () => (takesPayments ? "paid" : "all"))
  return whom === "paid" ? modelForPaidAccounts(byModel) : byModel
}

/** Calls of the model one after the other in a long conversation. */
const roundsMax = 4

/** Of a whole reading. A request waits for `Limits.extractionDeadlineMillis` of it at most, unless it asks to wait. */
export const extractionDeadline = ({ provider, timeoutMillis }: LlmSettings): number =>
  provider === "none"
    ? Limits.extractionDeadlineMillis
    : roundsMax * timeoutOf({ timeoutMillis: Option.getOrUndefined(timeoutMillis) }, "extraction")
