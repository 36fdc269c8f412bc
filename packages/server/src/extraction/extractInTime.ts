/**
 * Deadline around the extractor, and the refusal of a caller who wanted nothing but the extraction (contract:
 * Conversations). A failure that may pass says when to retry.
 */
import { Effect } from "effect"
import { InvalidRequest, RateLimited, Unavailable } from "@muniment/domain/Errors"
import type { ExtractionRequest, Extractor } from "@muniment/insight/extraction/Extractor"
import { ModelFailure } from "@muniment/models/llm/StructuredModel"
import { boundMet } from "../boundMet.ts"
import { retryAfter } from "../answerHeaders.ts"

export const extractInTime = (extractor: Extractor["Service"], deadlineMillis: number, request: ExtractionRequest) =>
  Effect.timeoutOrElse(extractor.extract(request), {
    duration: deadlineMillis,
    orElse: () =>
      Effect.fail(
        new ModelFailure({ reason: "timeout", message: "extraction took too long; send fewer messages at once" })
      )
  })

export const refused = Effect.fnUntraced(function* ({ message, reason, retryAfterSeconds }: ModelFailure) {
  if (retryAfterSeconds !== undefined) yield* retryAfter(retryAfterSeconds)
  if (reason === "too_long") return yield* new InvalidRequest({ code: "invalid_request", error: message })
  const details = yield* boundMet(`model_${reason}`, message, retryAfterSeconds)
  if (reason === "budget_exhausted") {
    return yield* new RateLimited({ code: "model_budget_exhausted", error: message, details })
  }
  return yield* new Unavailable({
    code: "extraction_unavailable",
    error: `the conversation could not be read: ${message}; nothing was stored, marked or charged`,
    details
  })
})
