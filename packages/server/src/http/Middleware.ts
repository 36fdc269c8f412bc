/**
 * Middleware between a request's credentials and its handler, as `@muniment/domain/api/Middleware` declares it: size
 * and media type of the body, `Idempotency-Key`, charge. Each is built once per endpoint and left out
 * where it has nothing to do. `Authorization.ts`, `RateLimits.ts` and `Validation.ts` hold the others.
 */
import { ByteSize, Context, Duration, Effect, Layer, type Types } from "effect"
import { HttpIncomingMessage, HttpMethod, HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomBytes } from "node:crypto"
import {
  BodyLimit,
  Caller,
  Charging,
  CurrentCall,
  Idempotency,
  type IdempotencyToken,
  isRead,
  operationName,
  Price,
  RequestToken
} from "@muniment/domain/api/Middleware"
import { Conflict, InvalidRequest, PayloadTooLarge, UnsupportedMediaType } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { type MicroCredits, toCredits } from "@muniment/domain/Money"
import { type Claim, idempotencyKeyOf, IdempotencyStore } from "@muniment/control/requests/IdempotencyStore"
import type { Purses } from "@muniment/control/credits/Ledger"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { nonceBytes, seal, unseal } from "@muniment/trust/KeyRing"
import { isJson, setAnswerHeaders } from "../headers.ts"
import { ChargedCalls, freeCall } from "../credits/ChargedCalls.ts"
import { httpCarrier } from "../credits/PaymentCarrier.ts"
import { keptAnswersOf } from "../identity/KeyScopes.ts"
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

/**
 * A repeated write (contract: Idempotency), for REST and MCP: the same key and body give the first answer again,
 * uncharged; another body is a conflict; a request that failed frees its key. The token also enters
 * the namespace's commit, so that a crash between commit and answer cannot cause a second change.
 * Kept answers are encrypted with a key derived from the request: without that request an erased memory
 * cannot be read in them.
 */

/** Delay before a concurrent duplicate checks again whether the first request is done; doubles, as each check is a query. */
const twinPollMillisMin = 20
const twinPollMillisMax = 1_000

/** A request with a key, and what identifies it. */
interface RepeatableRequest {
  readonly account: string
  /** Keys of different routes are different keys. */
  readonly route: string
  readonly clientKey: string
  /** Hex SHA-256 of all that the request asks for. */
  readonly fingerprint: string
  /** Hex SHA-256 of its content; with the client's key it opens the kept answer. */
  readonly contentHash: string
}

interface KeptAnswer {
  readonly status: number
  readonly text: string
}

type OnceOutcome<A> =
  | { readonly _tag: "First"; readonly value: A }
  | { readonly _tag: "Replay"; readonly answer: KeptAnswer }

/** Acts, or gives the kept answer; `answerOf` is undefined for a value that must not be kept. */
export const once = Effect.fnUntraced(function* <A, E, R>(
  store: IdempotencyStore["Service"],
  { account, clientKey, contentHash, fingerprint, route }: RepeatableRequest,
  act: (token: IdempotencyToken) => Effect.Effect<A, E, R>,
  answerOf: (value: A) => KeptAnswer | undefined
): Effect.fn.Return<OnceOutcome<A>, E | Conflict | InvalidRequest, R> {
  if (clientKey.length < 1 || clientKey.length > Limits.idempotencyKeyLengthMax) {
    return yield* new InvalidRequest({
      code: "invalid_request",
      error: `Idempotency-Key must have 1 to ${Limits.idempotencyKeyLengthMax} characters`
    })
  }
  const key = idempotencyKeyOf(account, route, clientKey)
  // Neither the client's key nor the body is stored, only hashes over other inputs.
  const secret = JSON.stringify([account, clientKey, contentHash])
  const claim = yield* claimed(store, key, fingerprint)
  if (claim._tag === "Mismatch") {
    return yield* new Conflict({
      code: "idempotency_conflict",
      error: "this Idempotency-Key was used with another request"
    })
  }
  if (claim._tag === "Replay") {
    const text = unseal(claim.body, secret)
    if (text === undefined) return yield* Effect.die(new Error("a kept answer does not open"))
    return { _tag: "Replay", answer: { status: claim.status, text } }
  }
  const value = yield* act({ key, fingerprint }).pipe(
    Effect.tap((done) => keep(store, account, key, secret, answerOf(done))),
    Effect.onError(() => store.forget(key))
  )
  return { _tag: "First", value }
})

/** The claim, once no duplicate is in flight. */
const claimed = (
  store: IdempotencyStore["Service"],
  key: string,
  fingerprint: string,
  pollMillis = twinPollMillisMin
): Effect.Effect<Claim> =>
  Effect.flatMap(store.claim(key, fingerprint), (claim) =>
    claim._tag === "InFlight"
      ? Effect.delay(
          Effect.suspend(() => claimed(store, key, fingerprint, Math.min(2 * pollMillis, twinPollMillisMax))),
          Duration.millis(pollMillis)
        )
      : Effect.succeed(claim)
  )

/** Keeps a success. An answer that cannot be kept is still sent: the commit has its own key. */
const keep = (
  store: IdempotencyStore["Service"],
  account: string,
  key: string,
  secret: string,
  answer: KeptAnswer | undefined
) =>
  answer === undefined
    ? store.forget(key)
    : Effect.catch(
        store.complete(key, answer.status, seal(answer.text, secret, randomBytes(nonceBytes)), account),
        (error) => Effect.logWarning("answer not kept for its Idempotency-Key", { code: error.code })
      )
