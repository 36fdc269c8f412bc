/**
 * Size and media type of a body, before anything else looks at it: above 1 MiB is 413, anything but
 * JSON is 415 (interface.md sections 1 and 13).
 */
import { ByteSize, Effect, Layer } from "effect"
import { HttpIncomingMessage, HttpMethod, HttpServerRequest } from "effect/http"
import { BodyLimit } from "@muniment/domain/api/Middleware"
import { PayloadTooLarge, UnsupportedMediaType } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"

export const maxBodySize = Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(Limits.requestBodyBytesMax))

export const bodyLimit = Layer.succeed(BodyLimit, (handler) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    if (!HttpMethod.hasBody(request.method) || hasNoBody(request)) return yield* handler
    if (Number(request.headers["content-length"] ?? 0) > Limits.requestBodyBytesMax) return yield* tooLarge()
    const mediaType = (request.headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase()
    if (mediaType !== "application/json") {
      return yield* new UnsupportedMediaType({
        code: "unsupported_media_type",
        error: "a body must be application/json"
      })
    }
    // A body sent in chunks tells its size only by being read; what is read here is kept for the handler.
    yield* Effect.catch(request.arrayBuffer, tooLarge)
    return yield* handler
  })
)

const hasNoBody = (request: HttpServerRequest.HttpServerRequest): boolean => {
  const length = request.headers["content-length"]
  return request.headers["transfer-encoding"] === undefined && (length === undefined || length === "0")
}

const tooLarge = () =>
  Effect.fail(
    new PayloadTooLarge({
      code: "payload_too_large",
      error: `the body is above ${Limits.requestBodyBytesMax} bytes`
    })
  )
