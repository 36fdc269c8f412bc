/**
 * Choice of the extractor and the answer writer: the configured language model, or rules and quoted memories when
 * none is configured; and of what is a model or none: the ranker of hits, the consolidator.
 */
import { Effect, Layer, Option } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { AnswerWriter } from "@muniment/insight/answers/AnswerWriter"
import { Consolidator } from "@muniment/insight/consolidation/Consolidator"
import type { Extractor } from "@muniment/insight/extraction/Extractor"
import { ModelRanker } from "@muniment/insight/ranking/ModelRanker"
import { RuleExtractor } from "@muniment/insight/rules/RuleExtractor"
import type { Accounts } from "@muniment/control/accounts/Accounts"
import type { ModelUsage } from "@muniment/control/accounts/ModelUsage"
import type { Ledger } from "@muniment/control/credits/Ledger"
import { timeoutOf } from "@muniment/models/llm/LanguageModelConfig"
import { chargedTokens } from "./ChargedTokens.ts"
import {
  type ConsolidationSettings,
  demandConsolidator,
  type LanguageModelMisconfigured,
  languageModelOf,
  type LlmSettings
} from "./LanguageModelSettings.ts"
import { modelForPaidAccounts } from "./ModelAccounts.ts"

type Chosen = Extractor | AnswerWriter | ModelRanker | Consolidator

export const extractorChoice = (
  settings: LlmSettings,
  consolidation: ConsolidationSettings,
  takesPayments: boolean
): Layer.Layer<Chosen, LanguageModelMisconfigured, ModelUsage | Accounts | Ledger> => {
  const { provider } = settings
  if (provider === "none") {
    const rules = Layer.mergeAll(
      RuleExtractor.layer,
      AnswerWriter.layerExtractive,
      ModelRanker.layerNone,
      Consolidator.layerNone
    )
    return Layer.unwrap(Effect.as(demandConsolidator(settings, consolidation), rules))
  }
  // Loaded where a model is configured alone.
  const readers = Effect.map(
    Effect.all([
      languageModelOf(provider, settings, consolidation.tokensPerDay),
      Effect.promise(() => import("./ModelReaders.ts"))
    ]),
    ([config, { modelReaders }]) =>
      modelReaders(config, { isStrict: settings.checks === "strict", consolidates: consolidation.isOn })
  )
  const byModel = Layer.unwrap(readers).pipe(
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
