/**
 * `Idempotency-Key` (interface.md section 17): the same key and body give the first answer again for
 * 24 hours, uncharged; another body is a conflict; a request that failed frees its key. The token
 * also travels into the namespace's commit, so that a crash between commit and answer cannot make a
 * second change. Kept answers are sealed by the request that they answer: a memory that is erased
 * meanwhile cannot be read out of them.
 */
import { randomBytes } from "node:crypto"
import { Duration, Effect, Layer } from "effect"
import { HttpMethod, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Caller, CurrentIdempotency, Idempotency } from "@muniment/domain/api/Middleware"
import { Conflict, InvalidRequest } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { idempotencyKeyOf, IdempotencyStore, type Claim } from "@muniment/ledger/IdempotencyStore"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { nonceBytes, seal, unseal } from "@muniment/trust/SealedText"

/** When a twin of a request at work looks whether it is done: each time twice as late, as each look is a query. */
const twinPollMillisMin = 20
const twinPollMillisMax = 1_000

/** A request that may come again: its key and what makes it the same request. */
export interface RepeatableRequest {
  readonly account: string
  /** Keys of different routes are different keys. */
  readonly route: string
  readonly clientKey: string
  /** Hex SHA-256 of all that the request asks for. */
  readonly fingerprint: string
  /** Hex SHA-256 of its content; with the client's key it opens the kept answer. */
  readonly contentHash: string
}

export interface KeptAnswer {
  readonly status: number
  readonly text: string
}

export type OnceOutcome<A> =
  | { readonly _tag: "First"; readonly value: A }
  | { readonly _tag: "Replay"; readonly answer: KeptAnswer }

/** Acts, or gives the answer that was kept; `answerOf` is undefined for what must not be kept. */
export const once = Effect.fnUntraced(function* <A, E, R>(
  store: IdempotencyStore["Service"],
  { account, clientKey, contentHash, fingerprint, route }: RepeatableRequest,
  act: Effect.Effect<A, E, R>,
  answerOf: (value: A) => KeptAnswer | undefined
): Effect.fn.Return<OnceOutcome<A>, E | Conflict | InvalidRequest, R> {
  if (clientKey.length < 1 || clientKey.length > Limits.idempotencyKeyLengthMax) {
    return yield* new InvalidRequest({
      code: "invalid_request",
      error: `Idempotency-Key must have 1 to ${Limits.idempotencyKeyLengthMax} characters`
    })
  }
  const key = idempotencyKeyOf(account, route, clientKey)
  // Of the client's key and the body neither is stored, only hashes over other inputs.
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
  const value = yield* act.pipe(
    Effect.provideService(CurrentIdempotency, { key, fingerprint }),
    Effect.tap((done) => keep(store, key, secret, answerOf(done))),
    Effect.onError(() => store.forget(key))
  )
  return { _tag: "First", value }
})

export const idempotency = Layer.effect(
  Idempotency,
  Effect.gen(function* () {
    const store = yield* IdempotencyStore
    return (handler, { endpoint }) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const clientKey = request.headers["idempotency-key"]
        if (clientKey === undefined || request.method === "GET") return yield* handler
        const { account } = yield* Caller
        const body = HttpMethod.hasBody(request.method)
          ? new Uint8Array(yield* Effect.orDie(request.arrayBuffer))
          : new Uint8Array()
        const contentHash = sha256Hex(body)
        const outcome = yield* once(
          store,
          {
            account: account.id,
            route: `${endpoint.method} ${endpoint.path}`,
            clientKey,
            contentHash,
            fingerprint: sha256Hex(`${request.method} ${request.url}\n${contentHash}`)
          },
          handler,
          answerOf
        )
        if (outcome._tag === "First") return outcome.value
        const { status, text } = outcome.answer
        return HttpServerResponse.text(text, { status, contentType: "application/json" }).pipe(
          HttpServerResponse.setHeader("idempotency-replayed", "true")
        )
      })
  })
)

/** The claim, once no twin is at work any more. */
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

/** Keeps a success; an answer that cannot be kept is still given, the commit has its own key. */
const keep = (store: IdempotencyStore["Service"], key: string, secret: string, answer: KeptAnswer | undefined) =>
  answer === undefined
    ? store.forget(key)
    : Effect.catch(store.complete(key, answer.status, seal(answer.text, secret, randomBytes(nonceBytes))), (error) =>
        Effect.logWarning("an answer could not be kept for its Idempotency-Key", { code: error.code })
      )

const answerOf = ({ body, status }: HttpServerResponse.HttpServerResponse): KeptAnswer | undefined =>
  status < 300 && body._tag === "Uint8Array" ? { status, text: new TextDecoder().decode(body.body) } : undefined
