/**
 * Choice of the extractor and the answer writer: the configured language model, or rules and quoted memories when
 * none is configured; and of the consolidator, which is a model or none.
 */
import { Effect, Layer, Option } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { AnswerWriter } from "@muniment/insight/answers/AnswerWriter"
import { Consolidator } from "@muniment/insight/consolidation/Consolidator"
import type { Extractor } from "@muniment/insight/extraction/Extractor"
import { LlmConsolidator } from "@muniment/insight/consolidation/LlmConsolidator"
import { LlmExtractor } from "@muniment/insight/prompts/LlmExtractor"
import { RuleExtractor } from "@muniment/insight/rules/RuleExtractor"
import type { Accounts } from "@muniment/control/accounts/Accounts"
import type { ModelUsage } from "@muniment/control/accounts/ModelUsage"
import type { Ledger } from "@muniment/control/credits/Ledger"
import { timeoutOf } from "@muniment/models/llm/LanguageModelConfig"
import { StructuredModel } from "@muniment/models/llm/StructuredModel"
import { chargedTokens } from "./ChargedTokens.ts"
import {
  type ConsolidationSettings,
  demandConsolidator,
  type LanguageModelMisconfigured,
  languageModelOf,
  type LlmSettings
} from "./LanguageModelSettings.ts"
import { modelForPaidAccounts } from "./ModelAccounts.ts"

type Chosen = Extractor | AnswerWriter | Consolidator

export const extractorChoice = (
  settings: LlmSettings,
  consolidation: ConsolidationSettings,
  takesPayments: boolean
): Layer.Layer<Chosen, LanguageModelMisconfigured, ModelUsage | Accounts | Ledger> => {
  const { provider } = settings
  if (provider === "none") {
    const rules = Layer.mergeAll(RuleExtractor.layer, AnswerWriter.layerExtractive, Consolidator.layerNone)
    return Layer.unwrap(Effect.as(demandConsolidator(settings, consolidation), rules))
  }
  const checks = { isStrict: settings.checks === "strict" }
  const byModel = Layer.mergeAll(
    LlmExtractor.layer(checks),
    // A weak model claims what it likes: its answers were wrong where quotes claimed nothing.
    checks.isStrict ? AnswerWriter.layerExtractive : AnswerWriter.layerWithModel,
    consolidation.isOn ? LlmConsolidator.layer(checks) : Consolidator.layerNone
  ).pipe(
    Layer.provide(
      Layer.unwrap(
        Effect.map(languageModelOf(provider, settings, consolidation.tokensPerDay), (config) =>
          StructuredModel.layer(config)
        )
      )
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
