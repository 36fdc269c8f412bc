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
  const byModel = Layer.mergeAll(
    LlmExtractor.layer,
    AnswerWriter.layerWithModel({ isStrict: settings.answerChecks === "strict" })
  ).pipe(
    Layer.provide(
      Layer.unwrap(Effect.map(languageModelOf(provider, settings), (config) => StructuredModel.layer(config)))
    ),
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
