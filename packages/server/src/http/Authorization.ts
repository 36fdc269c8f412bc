/**
 * Who is asking. Bearer keys are looked up by their hash on every request, so that a revocation acts
 * at once. Operator routes take the data directory's token, and only from this machine.
 */
import { timingSafeEqual } from "node:crypto"
import { Effect, Layer, Option, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { Authorization, Caller, OperatorAuthorization } from "@muniment/domain/api/Middleware"
import { Forbidden, Unauthenticated } from "@muniment/domain/Errors"
import { ApiKeyStore } from "@muniment/ledger/ApiKeyStore"
import { DataDirectory } from "../DataDirectory.ts"

export const authorization = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const keys = yield* ApiKeyStore
    return {
      bearer: (handler, { credential }) =>
        Effect.gen(function* () {
          const secret = Redacted.value(credential)
          if (secret === "") return yield* missingCredentials()
          const identity = yield* keys.authenticate(secret)
          if (identity === undefined) {
            return yield* new Unauthenticated({ code: "invalid_api_key", error: "the API key is unknown or revoked" })
          }
          return yield* Effect.provideService(handler, Caller, identity)
        })
    }
  })
)

export const operatorAuthorization = Layer.effect(
  OperatorAuthorization,
  Effect.gen(function* () {
    const { operatorToken } = yield* DataDirectory
    const expected = Buffer.from(Redacted.value(operatorToken))
    return {
      operator: (handler, { credential }) =>
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          if (!isLoopback(request)) return yield* operatorOnly("operator routes answer on this machine only")
          const given = Buffer.from(Redacted.value(credential))
          if (given.length === 0) return yield* missingCredentials()
          if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
            return yield* operatorOnly("the operator token is wrong")
          }
          return yield* handler
        })
    }
  })
)

/** Whether the peer is on this machine. */
export const isLoopback = (request: HttpServerRequest.HttpServerRequest): boolean => {
  const address = Option.getOrElse(request.remoteAddress, () => "").replace(/^::ffff:/, "")
  return address === "::1" || address.startsWith("127.")
}

const missingCredentials = () =>
  new Unauthenticated({ code: "missing_credentials", error: "send an API key: Authorization: Bearer <key>" })

const operatorOnly = (error: string) => new Forbidden({ code: "operator_only", error })
