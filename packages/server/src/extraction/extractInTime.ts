/**
 * Deadline and error mapping around the extractor: its result in time, or the failure that the caller gets
 * (contract: Conversations). A failure that may pass says when to retry.
 */
import { Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { InvalidRequest, RateLimited, Unavailable } from "@muniment/domain/Errors"
import type { ExtractionRequest, Extractor } from "@muniment/insight/extraction/Extractor"
import type { ModelFailure } from "@muniment/models/llm/StructuredModel"
import { answerHeaders } from "../answerHeaders.ts"

export const extractInTime = (extractor: Extractor["Service"], deadlineMillis: number, request: ExtractionRequest) =>
  extractor.extract(request).pipe(
    Effect.catchTag("ModelFailure", refused),
    Effect.timeoutOrElse({
      duration: deadlineMillis,
      orElse: () => Effect.fail(unavailable("extraction took too long; send fewer messages at once"))
    })
  )

const refused = Effect.fnUntraced(function* ({ message, reason, retryAfterSeconds }: ModelFailure) {
  if (retryAfterSeconds !== undefined) yield* retryAfter(retryAfterSeconds)
  if (reason === "too_long") return yield* new InvalidRequest({ code: "invalid_request", error: message })
  if (reason === "budget_exhausted") return yield* new RateLimited({ code: "model_budget_exhausted", error: message })
  return yield* unavailable(message)
})

/** Sets the header of an HTTP answer, if there is one. */
const retryAfter = Effect.fnUntraced(function* (seconds: number) {
  const request = yield* Effect.serviceOption(HttpServerRequest.HttpServerRequest)
  if (Option.isNone(request)) return
  yield* answerHeaders({ "retry-after": String(seconds) }).pipe(
    Effect.provideService(HttpServerRequest.HttpServerRequest, request.value)
  )
})

const unavailable = (why: string) =>
  new Unavailable({
    code: "extraction_unavailable",
    error: `the conversation could not be read: ${why}; nothing was stored, marked or charged`
  })
