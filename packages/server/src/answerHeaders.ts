/** Headers of the answer to the current request, whether it succeeds or fails. */
import { Effect } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"

export const answerHeaders = (headers: Readonly<Record<string, string>>) =>
  HttpEffect.appendPreResponseHandler((_, response) => Effect.succeed(HttpServerResponse.setHeaders(response, headers)))
