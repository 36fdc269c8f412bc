/** Headers of the answer to the current request, whether it succeeds or fails. */
import { type Context, Effect } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"

type Headers = Readonly<Record<string, string>>

const setting =
  (headers: Headers) =>
  (_: unknown, response: HttpServerResponse.HttpServerResponse): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
    Effect.succeed(HttpServerResponse.setHeaders(response, headers))

export const answerHeaders = (headers: Headers) => HttpEffect.appendPreResponseHandler(setting(headers))

/** The same for who has the context of the request at hand. */
export const setAnswerHeaders = (context: Context.Context<never>, headers: Headers): void =>
  HttpEffect.appendPreResponseHandlerUnsafe(context, setting(headers))
