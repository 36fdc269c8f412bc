/**
 * `Idempotency-Key` (interface.md section 17): the same key and body give the first answer again for
 * 24 hours, uncharged; another body is a conflict; a request that failed frees its key. The token
 * also travels into the namespace's commit, so that a crash between commit and answer cannot make a
 * second change. Kept answers are sealed by the request that they answer: a memory that is erased
 * meanwhile cannot be read out of them.
 */
import { randomBytes } from "node:crypto"
import { Duration, Effect, Layer } from "effect"
import { type HttpBody, HttpMethod, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Caller, CurrentIdempotency, Idempotency } from "@muniment/domain/api/Middleware"
import { Conflict, InvalidRequest } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { idempotencyKeyOf, IdempotencyStore, type Claim } from "@muniment/ledger/IdempotencyStore"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { nonceBytes, seal, unseal } from "@muniment/trust/SealedText"

/** When a twin of a request at work looks whether it is done: each time twice as late, as each look is a query. */
const twinPollMillisMin = 20
const twinPollMillisMax = 1_000

export const idempotency = Layer.effect(
  Idempotency,
  Effect.gen(function* () {
    const store = yield* IdempotencyStore

    /** The claim, once no twin is at work any more. */
    const claimed = (key: string, fingerprint: string, pollMillis = twinPollMillisMin): Effect.Effect<Claim> =>
      Effect.flatMap(store.claim(key, fingerprint), (claim) =>
        claim._tag === "InFlight"
          ? Effect.delay(
              Effect.suspend(() => claimed(key, fingerprint, Math.min(2 * pollMillis, twinPollMillisMax))),
              Duration.millis(pollMillis)
            )
          : Effect.succeed(claim)
      )

    return (handler, { endpoint }) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const clientKey = request.headers["idempotency-key"]
        if (clientKey === undefined || request.method === "GET") return yield* handler
        if (clientKey.length < 1 || clientKey.length > Limits.idempotencyKeyLengthMax) {
          return yield* new InvalidRequest({
            code: "invalid_request",
            error: `Idempotency-Key must have 1 to ${Limits.idempotencyKeyLengthMax} characters`
          })
        }
        const { account } = yield* Caller
        const body = HttpMethod.hasBody(request.method)
          ? new Uint8Array(yield* Effect.orDie(request.arrayBuffer))
          : new Uint8Array()
        const key = idempotencyKeyOf(account.id, `${endpoint.method} ${endpoint.path}`, clientKey)
        const bodyHash = sha256Hex(body)
        const fingerprint = sha256Hex(`${request.method} ${request.url}\n${bodyHash}`)
        // Of the client's key and the body neither is stored, only hashes over other inputs.
        const secret = JSON.stringify([account.id, clientKey, bodyHash])
        const claim = yield* claimed(key, fingerprint)
        if (claim._tag === "Mismatch") {
          return yield* new Conflict({
            code: "idempotency_conflict",
            error: "this Idempotency-Key was used with another request"
          })
        }
        if (claim._tag === "Replay") {
          const answer = unseal(claim.body, secret)
          if (answer === undefined) return yield* Effect.die(new Error("a kept answer does not open"))
          return HttpServerResponse.text(answer, { status: claim.status, contentType: "application/json" }).pipe(
            HttpServerResponse.setHeader("idempotency-replayed", "true")
          )
        }
        return yield* handler.pipe(
          Effect.provideService(CurrentIdempotency, { key, fingerprint }),
          Effect.tap((response) => keep(store, key, secret, response)),
          Effect.onError(() => store.forget(key))
        )
      })
  })
)

/** Keeps a success; an answer that cannot be kept is still given, the commit has its own key. */
const keep = (
  store: IdempotencyStore["Service"],
  key: string,
  secret: string,
  response: HttpServerResponse.HttpServerResponse
) => {
  const text = bodyText(response.body)
  if (response.status >= 300 || text === undefined) return store.forget(key)
  return Effect.catch(store.complete(key, response.status, seal(text, secret, randomBytes(nonceBytes))), (error) =>
    Effect.logWarning("an answer could not be kept for its Idempotency-Key", { code: error.code })
  )
}

const bodyText = (body: HttpBody.HttpBody): string | undefined =>
  body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : undefined
