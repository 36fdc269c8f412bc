/**
 * Callers that may act as the operator (contract: Operator routes, Console): a caller with the data directory's token,
 * on this machine; a browser that signed in with a one-time link, on this machine or, where `MUNIMENT_CONSOLE` is
 * `remote`, by the public URL, which has to be https.
 */
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { Forbidden, Unauthenticated } from "@muniment/domain/Errors"
import { isSameSecret } from "@muniment/trust/ApiKeys"
import { type ConsoleSession, ConsoleSessions, requireOwnPage, sessionSecretOf } from "./ConsoleSessions.ts"
import { DataDirectory } from "../DataDirectory.ts"
import { isLocalCaller } from "../identity/ClientAddress.ts"

interface OperatorAccessOptions {
  readonly host: string
  /** Sessions may come from other machines. */
  readonly isRemote: boolean
}

export class OperatorAccess extends Context.Service<
  OperatorAccess,
  {
    /**
     * Succeeds if the current request comes from the operator; `token` is its bearer, or empty. With the session, if it
     * comes by one.
     */
    readonly require: (
      token: string
    ) => Effect.Effect<ConsoleSession | undefined, Unauthenticated | Forbidden, HttpServerRequest.HttpServerRequest>
    /** Whether the request may sign in with a one-time link. */
    readonly isInReach: (request: HttpServerRequest.HttpServerRequest) => boolean
  }
>()("muniment/server/OperatorAccess") {
  static readonly layer = (options: OperatorAccessOptions) =>
    Layer.effect(
      OperatorAccess,
      Effect.gen(function* () {
        const { operatorToken } = yield* DataDirectory
        const sessions = yield* ConsoleSessions
        const isInReach = (request: HttpServerRequest.HttpServerRequest) =>
          options.isRemote || isLocalCaller(request, options.host)

        const bySession = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
          const secret = sessionSecretOf(request.headers)
          if (secret === undefined) {
            return yield* isLocalCaller(request, options.host) ? missingCredentials() : elsewhere()
          }
          if (!isInReach(request)) return yield* elsewhere()
          const session = yield* sessions.find(secret)
          if (session === undefined) return yield* sessionEnded()
          if (session.holder.role !== "operator") return yield* operatorOnly("this is the session of an account")
          yield* requireOwnPage(session)
          return session
        })

        return {
          isInReach,
          require: Effect.fnUntraced(function* (token: string) {
            const request = yield* HttpServerRequest.HttpServerRequest
            if (token === "") return yield* bySession(request)
            if (!isLocalCaller(request, options.host)) return yield* elsewhere()
            if (!isSameSecret(token, Redacted.value(operatorToken))) {
              return yield* operatorOnly("the operator token is wrong")
            }
            return undefined
          })
        }
      })
    )
}

export const sessionEnded = () =>
  new Unauthenticated({ code: "session_ended", error: "the session has ended: sign in again" })

export const accountSuspended = () =>
  new Forbidden({ code: "account_suspended", error: "this account is suspended: ask the operator of the service" })

const missingCredentials = () =>
  new Unauthenticated({ code: "missing_credentials", error: "send the operator token: Authorization: Bearer <token>" })

const operatorOnly = (error: string) => new Forbidden({ code: "operator_only", error })

const elsewhere = () => operatorOnly("operator routes answer on this machine only")
