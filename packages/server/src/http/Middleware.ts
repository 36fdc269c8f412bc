/**
 * Middleware between a request's credentials and its handler, as `@muniment/domain/api/Middleware` declares it: size
 * and media type of the body, `Idempotency-Key`, charge. Each is built once per endpoint and left out
 * where it has nothing to do. `Authorization.ts`, `RateLimits.ts` and `Validation.ts` hold the others.
 */
import { ByteSize, Context, Effect, Layer, type Types } from "effect"
import { HttpIncomingMessage, HttpMethod, HttpServerRequest, HttpServerResponse } from "effect/http"
import {
  BodyLimit,
  Caller,
  Charging,
  CurrentCall,
  Idempotency,
  Price,
  RequestToken,
  isRead,
  operationName
} from "@muniment/domain/api/Middleware"
import { PayloadTooLarge, UnsupportedMediaType } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { type MicroCredits, toCredits } from "@muniment/domain/Money"
import { IdempotencyStore } from "@muniment/control/requests/IdempotencyStore"
import type { Purses } from "@muniment/control/credits/Ledger"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { isJson, setAnswerHeaders } from "../headers.ts"
import { ChargedCalls, freeCall } from "../credits/ChargedCalls.ts"
import { httpCarrier } from "../credits/PaymentCarrier.ts"
import { keptAnswersOf } from "../identity/KeyScopes.ts"
import { type KeptAnswer, once } from "./once.ts"
import { noteAgent, RequestAccount } from "./RequestLog.ts"

export const maxBodySize = Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(Limits.requestBodyBytesMax))

/** 413 above `Limits.requestBodyBytesMax`, 415 for anything but JSON, before anything else looks at the body. */
export const bodyLimit = Layer.succeed(BodyLimit, (handler, { endpoint }) =>
  HttpMethod.hasBody(endpoint.method)
    ? Effect.flatMap(HttpServerRequest.HttpServerRequest, (request): Checked => {
        if (hasNoBody(request)) return handler
        if (Number(request.headers["content-length"] ?? 0) > Limits.requestBodyBytesMax) return tooLarge()
        if (!isJson(request.headers)) return wrongType()
        // The size of a chunked body is known once it is read; the request keeps the bytes for the handler.
        return Effect.andThen(Effect.catch(request.arrayBuffer, tooLarge), handler)
      })
    : handler
)

type Checked = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  PayloadTooLarge | UnsupportedMediaType | Types.unhandled
>

const hasNoBody = (request: HttpServerRequest.HttpServerRequest): boolean => {
  const length = request.headers["content-length"]
  return request.headers["transfer-encoding"] === undefined && (length === undefined || length === "0")
}

const wrongType = () =>
  Effect.fail(new UnsupportedMediaType({ code: "unsupported_media_type", error: "a body must be application/json" }))

const tooLarge = () =>
  Effect.fail(
    new PayloadTooLarge({
      code: "payload_too_large",
      error: `the body is above ${Limits.requestBodyBytesMax} bytes`
    })
  )

/** Answers a repeated write as `once` does; a request without the header has no token. */
export const idempotency = Layer.effect(
  Idempotency,
  Effect.map(IdempotencyStore, (store) => (handler, { endpoint }) => {
    const first = (token: RequestToken["Service"]) => Effect.provideService(handler, RequestToken, token)
    if (isRead(endpoint)) return first(undefined)
    return Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const clientKey = request.headers["idempotency-key"]
      if (clientKey === undefined) return yield* first(undefined)
      const caller = yield* Caller
      const body = HttpMethod.hasBody(request.method)
        ? new Uint8Array(yield* Effect.orDie(request.arrayBuffer))
        : new Uint8Array()
      const contentHash = sha256Hex(body)
      const ifMatch = request.headers["if-match"]
      const condition = ifMatch === undefined ? "" : `\n${ifMatch}`
      const repeatable = {
        account: caller.account.id,
        route: `${endpoint.method} ${endpoint.path}${keptAnswersOf(caller)}`,
        clientKey,
        contentHash,
        fingerprint: sha256Hex(`${request.method} ${request.url}\n${contentHash}${condition}`)
      }
      const outcome = yield* once(store, repeatable, first, keptAnswer)
      if (outcome._tag === "First") return outcome.value
      const { status, text } = outcome.answer
      return HttpServerResponse.text(text, { status, contentType: "application/json" }).pipe(
        HttpServerResponse.setHeader("idempotency-replayed", "true")
      )
    })
  })
)

/** Successes are kept. */
const keptAnswer = ({ body, status }: HttpServerResponse.HttpServerResponse): KeptAnswer | undefined =>
  status < 300 && body._tag === "Uint8Array" ? { status, text: new TextDecoder().decode(body.body) } : undefined

/** Gives the handler its `PricedCall`; the answer says what the call cost and what is left. */
export const charging = Layer.effect(
  Charging,
  Effect.map(ChargedCalls, (calls) => (handler, { endpoint }) => {
    const price = Context.get(endpoint.annotations, Price)
    return Effect.withFiber(({ context }) => {
      const caller = Context.getUnsafe(context, Caller)
      const token = Context.getUnsafe(context, RequestToken)
      const request = Context.getUnsafe(context, HttpServerRequest.HttpServerRequest)
      if (price === 0) return Effect.provideService(handler, CurrentCall, freeCall(caller, token))
      const operation = {
        caller,
        operation: operationName(endpoint),
        price,
        isWrite: !isRead(endpoint),
        token,
        carrier: () => httpCarrier(request),
        onAgent: noteAgent(Context.get(context, RequestAccount))
      }
      const charged = calls.charge(operation, (call) => Effect.provideService(handler, CurrentCall, call))
      return Effect.map(charged, ({ charged: micro, purses, value }) => {
        setAnswerHeaders(context, creditHeaders(micro, purses))
        return value
      })
    })
  })
)

/** Both purses together; `unlimited` on the owner's plan. */
const creditHeaders = (charged: MicroCredits, { allowance, balance, isUnlimited }: Purses) => ({
  "x-credits-charged": String(toCredits(charged)),
  "x-credits-remaining": isUnlimited ? "unlimited" : String(toCredits(allowance + balance))
})
