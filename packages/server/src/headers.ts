/** Headers of the answer to the current request, whether it succeeds or fails; and whether a request brings JSON. */
import { type Context, Effect, Option } from "effect"
import { HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"

type Headers = Readonly<Record<string, string>>

const setting =
  (headers: Headers) =>
  (_: unknown, response: HttpServerResponse.HttpServerResponse): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
    Effect.succeed(HttpServerResponse.setHeaders(response, headers))

export const answerHeaders = (headers: Headers) => HttpEffect.appendPreResponseHandler(setting(headers))

/** `Retry-After` of an HTTP answer, if there is one. */
export const retryAfter = Effect.fnUntraced(function* (seconds: number) {
  const request = yield* Effect.serviceOption(HttpServerRequest.HttpServerRequest)
  if (Option.isNone(request)) return
  yield* answerHeaders({ "retry-after": String(seconds) }).pipe(
    Effect.provideService(HttpServerRequest.HttpServerRequest, request.value)
  )
})

/** As `answerHeaders`, for callers that have the context of the request at hand. */
export const setAnswerHeaders = (context: Context.Context<never>, headers: Headers): void =>
  HttpEffect.appendPreResponseHandlerUnsafe(context, setting(headers))

/** Whether a request says that its body is JSON, whatever the parameters of its media type. */
export const isJson = (headers: Headers): boolean =>
  (headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase() === "application/json"
