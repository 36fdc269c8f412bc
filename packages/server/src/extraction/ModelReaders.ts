/** Services that the configured language model gives: reading, answers, chats, order of hits, consolidation. */
import { Layer } from "effect"
import { AnswerWriter } from "@muniment/insight/answers/AnswerWriter"
import { layerOfModel } from "@muniment/insight/answers/ModelAnswers"
import { LlmChat } from "@muniment/insight/answers/LlmChat"
import { Consolidator } from "@muniment/insight/consolidation/Consolidator"
import { LlmConsolidator } from "@muniment/insight/consolidation/LlmConsolidator"
import { LlmExtractor } from "@muniment/insight/prompts/LlmExtractor"
import { LlmRanker } from "@muniment/insight/ranking/LlmRanker"
import type { LanguageModelConfig } from "@muniment/models/llm/LanguageModelConfig"
import { StructuredModel } from "@muniment/models/llm/StructuredModel"

export const modelReaders = (
  config: LanguageModelConfig,
  { consolidates, isStrict }: { readonly consolidates: boolean; readonly isStrict: boolean }
) =>
  Layer.mergeAll(
    LlmExtractor.layer({ isStrict }),
    // A weak model claims what it likes: its answers were wrong where quotes claimed nothing.
    isStrict ? AnswerWriter.layerExtractive : layerOfModel,
    LlmRanker.layer,
    LlmChat.layer,
    consolidates ? LlmConsolidator.layer({ isStrict }) : Consolidator.layerNone
  ).pipe(Layer.provide(StructuredModel.layer(config)))
