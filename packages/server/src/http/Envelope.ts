/**
 * Around every request: its id, its place in the metrics, and an answer in the shape of the contract
 * for what no handler answers: 404, 405 and defects. Logs name routes and ids, never content.
 */
import { randomUUID } from "node:crypto"
import { Cause, Effect, Schema, type Types } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { InternalError, MethodNotAllowed, NotFound, PayloadTooLarge } from "@muniment/domain/Errors"
import { countRequest } from "./Metrics.ts"
import { allowedMethods, pathOf, routePattern } from "./Routes.ts"

const requestIdPattern = /^[\w.:-]{1,128}$/

export const envelope = HttpRouter.middleware((handler) => enveloped(handler), { global: true })

// Nothing fails any more after `answerFor`; the router's types want its own mark of the unhandled kept.
const enveloped = <E, R>(
  handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled, R | HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const given = request.headers["x-request-id"]
    const requestId = given !== undefined && requestIdPattern.test(given) ? given : randomUUID()
    const startedMillis = performance.now()
    const response = yield* handler.pipe(
      Effect.catchCause((cause) => answerFor(cause, request, requestId)),
      Effect.annotateLogs({ requestId })
    )
    yield* countRequest(
      routePattern(request.method, pathOf(request.url)),
      response.status,
      performance.now() - startedMillis
    )
    return HttpServerResponse.setHeaders(response, {
      "x-request-id": requestId,
      "x-content-type-options": "nosniff",
      ...(response.status === 401 && { "www-authenticate": "Bearer" })
    })
  })

const answerFor = (
  cause: Cause.Cause<unknown>,
  request: HttpServerRequest.HttpServerRequest,
  requestId: string
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  // The client went away: there is nobody to answer, and interruption must stay what it is.
  if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
  const error = Cause.squash(cause)
  if (error instanceof HttpServerError.HttpServerError) {
    if (error.reason._tag === "RouteNotFound") return Effect.succeed(noSuchRoute(request))
    if (error.reason._tag === "RequestParseError") {
      return Effect.succeed(
        wire(
          PayloadTooLarge,
          new PayloadTooLarge({ code: "payload_too_large", error: "the body could not be read" }),
          413
        )
      )
    }
  }
  return Effect.as(
    Effect.logError("a request failed by a defect", {
      route: routePattern(request.method, pathOf(request.url)),
      cause: nameOf(error)
    }),
    wire(
      InternalError,
      new InternalError({ code: "internal_error", error: `the service failed; the log tells more under ${requestId}` }),
      500
    )
  )
}

const noSuchRoute = (request: HttpServerRequest.HttpServerRequest): HttpServerResponse.HttpServerResponse => {
  const allowed = allowedMethods(pathOf(request.url))
  // A known path with a method that it takes got here because its escapes cannot be decoded.
  if (allowed.length === 0 || allowed.includes(request.method)) {
    return wire(
      NotFound,
      new NotFound({ code: "route_not_found", error: "there is no such path; /docs lists them" }),
      404
    )
  }
  const error = `this path takes ${allowed.join(", ")}`
  return HttpServerResponse.setHeader(
    wire(MethodNotAllowed, new MethodNotAllowed({ code: "method_not_allowed", error }), 405),
    "allow",
    allowed.join(", ")
  )
}

const wire = <S extends Schema.Encoder<unknown>>(schema: S, error: S["Type"], status: number) =>
  HttpServerResponse.jsonUnsafe(Schema.encodeUnknownSync(schema)(error), { status })

/** Name and stack of a defect without its message, which may quote content. */
const nameOf = (error: unknown): string => {
  if (!(error instanceof Error)) return typeof error
  const frames = (error.stack ?? "").split("\n").filter((line) => line.trimStart().startsWith("at "))
  return [error.name, ...frames].join("\n")
}
