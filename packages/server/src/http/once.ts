/**
 * A repeated write (contract: Idempotency), for REST and MCP: the same key and body give the first answer again,
 * uncharged; another body is a conflict; a request that failed frees its key. The token also enters
 * the namespace's commit, so that a crash between commit and answer cannot cause a second change.
 * Kept answers are encrypted with a key derived from the request: without that request an erased memory
 * cannot be read in them.
 */
import { randomBytes } from "node:crypto"
import { Duration, Effect } from "effect"
import type { IdempotencyToken } from "@muniment/domain/api/Middleware"
import { Conflict, InvalidRequest } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { idempotencyKeyOf, type IdempotencyStore, type Claim } from "@muniment/control/requests/IdempotencyStore"
import { nonceBytes, seal, unseal } from "@muniment/trust/SealedText"

/** Delay before a concurrent duplicate checks again whether the first request is done; doubles, as each check is a query. */
const twinPollMillisMin = 20
const twinPollMillisMax = 1_000

/** A request with a key, and what identifies it. */
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
