/** Readers by the configured language model: of conversations, of questions, of memories that lie beside each other. */
import { Layer } from "effect"
import { AnswerWriter } from "@muniment/insight/answers/AnswerWriter"
import { layerOfModel } from "@muniment/insight/answers/ModelAnswers"
import { Consolidator } from "@muniment/insight/consolidation/Consolidator"
import { LlmConsolidator } from "@muniment/insight/consolidation/LlmConsolidator"
import { LlmExtractor } from "@muniment/insight/prompts/LlmExtractor"
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
    consolidates ? LlmConsolidator.layer({ isStrict }) : Consolidator.layerNone
  ).pipe(Layer.provide(StructuredModel.layer(config)))
