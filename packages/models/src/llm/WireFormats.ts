/** The wire format of each provider. */
import { anthropicMessages } from "./AnthropicMessages.ts"
import type { LanguageModelConfig } from "./LanguageModelConfig.ts"
import { openAiChat } from "./OpenAiChat.ts"
import type { WireFormat } from "./WireFormat.ts"

export const wireFormats: Readonly<Record<LanguageModelConfig["provider"], WireFormat>> = {
  "openai-compatible": openAiChat,
  anthropic: anthropicMessages
}
