/**
 * Deadline around the extractor, and the refusal of a caller who wanted nothing but the extraction (contract:
 * Conversations). A failure that may pass says when to retry.
 *
 * Invariants: the deadline counts from the moment the extractor can begin, so no start is taken for a conversation that
 * is too long; a refusal names a language model only where one was asked.
 */
import { Effect } from "effect"
import { InvalidRequest, RateLimited, Unavailable } from "@muniment/domain/Errors"
import type { ExtractionRequest, Extractor } from "@muniment/insight/extraction/Extractor"
import { ModelFailure } from "@muniment/models/llm/StructuredModel"
import { boundMet } from "../boundMet.ts"
import { retryAfter } from "../answerHeaders.ts"

const lateRetrySeconds = 1

export const extractInTime = <A>(
  extractor: Extractor["Service"],
  deadlineMillis: number,
  request: ExtractionRequest,
  extract: (request: ExtractionRequest) => Effect.Effect<A, ModelFailure>
) =>
  Effect.andThen(
    extractor.ready(request.account),
    Effect.timeoutOrElse(extract(request), {
      duration: deadlineMillis,
      orElse: () => Effect.flatMap(extractor.underWay(request.account), lateBy)
    })
  )

/** Only the rules read one conversation after the other. */
const lateBy = (underWay: number | undefined) =>
  Effect.fail(
    new ModelFailure({
      by: underWay === undefined ? undefined : "rules",
      reason: "timeout",
      message: "reading it took too long",
      retryAfterSeconds: lateRetrySeconds
    })
  )

export const refused = Effect.fnUntraced(function* ({ by, message, reason, retryAfterSeconds }: ModelFailure) {
  if (retryAfterSeconds !== undefined) yield* retryAfter(retryAfterSeconds)
  if (reason === "too_long") return yield* new InvalidRequest({ code: "invalid_request", error: message })
  const details = yield* boundMet(`${by ?? "model"}_${reason}`, message, retryAfterSeconds)
  if (reason === "budget_exhausted") {
    return yield* new RateLimited({ code: "model_budget_exhausted", error: message, details })
  }
  return yield* new Unavailable({
    code: "extraction_unavailable",
    error: `the conversation could not be read: ${message}; nothing was stored, marked or charged`,
    details
  })
})
