/** Why a model's server cannot be used, and what to do, as one text for a person (pure). Holds no key. */
import { type LanguageModelConfig, timeoutOf } from "@muniment/models/llm/LanguageModelConfig"
import { exchangeFailure } from "@muniment/models/llm/ModelAttempt"
import { answerCut } from "@muniment/models/llm/ModelExchange"
import type { ModelFailure } from "@muniment/models/llm/ModelFailure"
import type { ServerListing } from "@muniment/models/llm/ServerListing"
import { shownText } from "../ShownText.ts"

const shownModelsMax = 8
const answerCutMessage = exchangeFailure(answerCut).message

export const modelFault = (
  { message, reason, retryAfterSeconds, status }: ModelFailure,
  config: LanguageModelConfig,
  listing: ServerListing | undefined
): string => {
  const { apiKey, baseUrl, model } = config
  const answered = status === undefined ? "" : ` (HTTP ${status})`
  switch (reason) {
    case "unreachable":
      // llama.cpp says so while it loads its model.
      if (status === 503) return `The server at ${baseUrl} is not ready${answered}. Try again in a moment.`
      if (status === undefined && message === answerCutMessage) {
        return `The server at ${baseUrl} breaks its answers off: ${message}. Its log says why, or that of a proxy before it.`
      }
      return status === undefined
        ? `Nothing answers at ${baseUrl}: ${message}. Start the model's server, or correct MUNIMENT_LLM_BASE_URL.`
        : `The server at ${baseUrl} failed${answered}. Its log says why; a model that does not fit into memory is a usual reason.`
    case "rate_limited": {
      const when = retryAfterSeconds === undefined ? "" : `, for ${retryAfterSeconds} s by its own word`
      return `The server at ${baseUrl} takes no more requests at the moment${when}${answered}. Try again later; a provider may also mean that the credit of the key is used up.`
    }
    case "timeout":
      return `The server at ${baseUrl} did not answer a short question within ${timeoutOf(config, "extraction") / 1_000} s. It may still be loading the model: try again. A smaller model answers sooner; MUNIMENT_LLM_TIMEOUT_MILLIS waits longer.`
    case "rejected":
      if (status === 401 || status === 403) {
        return apiKey === undefined
          ? `The server at ${baseUrl} wants a key${answered}: set MUNIMENT_LLM_API_KEY.`
          : `The server at ${baseUrl} refuses the key of MUNIMENT_LLM_API_KEY${answered}.`
      }
      if (status === undefined) {
        return `${sentence(message)}. MUNIMENT_LLM_BASE_URL is ${baseUrl}; it usually ends in /v1.`
      }
      if (status === 402)
        return `The server at ${baseUrl} wants to be paid${answered}: the credit of the key is used up.`
      return `${rejection(status, model, baseUrl, listing)}${answered}.${listed(listing)}`
    case "truncated":
    case "refused":
    case "malformed":
      return `${sentence(message)}. The model ${model} cannot be used.`
    default:
      return `${sentence(message)}.`
  }
}

const rejection = (status: number, model: string, baseUrl: string, listing: ServerListing | undefined): string => {
  if (listing?.models.includes(model) === false) return `The server at ${baseUrl} has no model ${model}`
  if (status === 404) {
    return `The server at ${baseUrl} has no model ${model}, or no such address: MUNIMENT_LLM_BASE_URL usually ends in /v1`
  }
  return `The server at ${baseUrl} rejects what it is asked`
}

/** As a sentence of its own. */
export const listed = (listing: ServerListing | undefined): string =>
  listing === undefined || listing.models.length === 0
    ? ""
    : ` It lists ${shownText(listing.models.slice(0, shownModelsMax).join(", "))}.`

const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
