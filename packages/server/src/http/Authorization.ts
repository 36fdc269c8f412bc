/**
 * Identity of the caller (contract: Identity). Bearer keys are looked up by their hash on every request, so that a
 * revocation takes effect at once. Operators act for the account that `x-account` names, without charge or limits, as
 * far as their role goes; each change is in the audit log under their name. Operator routes take what `OperatorAccess`
 * does.
 */
import { Context, Data, Effect, Layer, Redacted, type Types } from "effect"
import { HttpMethod, HttpServerRequest, type HttpServerResponse } from "effect/http"
import {
  Authorization,
  Caller,
  type ChargeFailure,
  CurrentOperator,
  OperatorAuthorization,
  isRead,
  operationName
} from "@muniment/domain/api/Middleware"
import { roleNeeded } from "@muniment/domain/api/OperatorRoles"
import { Forbidden, type RateLimited, Unauthenticated } from "@muniment/domain/Errors"
import type { Identity } from "@muniment/domain/Identity"
import { firstOperator, type OperatorRole } from "@muniment/domain/Operator"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { ApiKeyStore } from "@muniment/control/accounts/ApiKeyStore"
import { SignatureVerifier } from "@muniment/trust/SignatureVerifier"
import { hasWalletHeaders, verifyWalletRequest } from "@muniment/trust/WalletRequest"
import { Admission } from "../admission/Admission.ts"
import { ConsoleSessions, requireOwnPage, sessionSecretOf } from "../console/ConsoleSessions.ts"
import { accountSuspended, OperatorAccess, sessionEnded } from "../console/OperatorAccess.ts"
import { httpCarrier } from "../credits/PaymentCarrier.ts"
import { PaymentDesk, topUpUnits } from "../credits/PaymentDesk.ts"
import { AuditLog } from "@muniment/control/audit/AuditLog"
import { auditedAction } from "../operator/auditedAction.ts"
import { RequestAccount } from "./RequestLog.ts"
import { hasDryRun } from "./Validation.ts"
import { CallsUnderWay } from "../identity/CallsUnderWay.ts"
import type { ServiceAudience } from "../identity/ClientAddress.ts"
import { SignatureBudget } from "../identity/SignatureBudget.ts"
import { WalletSignUp } from "../identity/WalletSignUp.ts"

export const authorization = (audience: ServiceAudience) =>
  Layer.effect(
    Authorization,
    Effect.gen(function* () {
      const identify = yield* makeIdentify(audience)
      const actFor = yield* makeActFor
      const calls = yield* CallsUnderWay
      const gate = yield* Admission
      const signatures = yield* SignatureBudget

      return {
        // A bearer key takes precedence over wallet headers, and these over the console's cookie.
        bearer: (handler, { credential, endpoint, group }) =>
          Effect.withFiber((fiber): Answer<ChargeFailure | Unauthenticated> => {
            const secret = Redacted.value(credential)
            const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
            const known = fiber.getRef(RequestAccount)
            known.operation = `${group.identifier}.${operationName(endpoint)}`
            const named = request.headers["x-account"]
            if (named !== undefined) {
              const change = { action: known.operation, hasDryRun: hasDryRun(endpoint) }
              return actFor(named, secret, isRead(endpoint) ? undefined : change, handler)
            }
            const identified = Effect.tapError(identify(request, secret, endpoint.identifier), () =>
              Effect.sync(() => gate.forget(request))
            )
            return Effect.flatMap(identified, (identity: Identity): Answer<Forbidden | RateLimited> => {
              if (identity.newcomer === undefined) gate.recognise(request, identity.account)
              known.accountId = identity.account.id
              known.caller = identity.keyId ?? identity.walletAddress
              if (identity.account.suspendedAt !== undefined) return Effect.fail(accountSuspended())
              const answer = signatures.bounded(Effect.provideService(handler, Caller, identity))
              return calls.during(identity.account, answer)
            })
          })
      }
    })
  )

type Answer<E> = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  E | Types.unhandled,
  HttpServerRequest.HttpServerRequest
>

/** Identity to which the credentials of a request belong. */
const makeIdentify = Effect.fnUntraced(function* (audience: ServiceAudience) {
  const keys = yield* ApiKeyStore
  const sessions = yield* ConsoleSessions
  const signUp = yield* WalletSignUp
  const desk = yield* PaymentDesk
  if (signUp.mode === "paid" && !desk.isOpen) return yield* new SignUpMisconfigured()
  const verifier = yield* SignatureVerifier
  const signatures = yield* SignatureBudget

  const byKey = (secret: string): Effect.Effect<Identity, Unauthenticated> =>
    secret === ""
      ? Effect.fail(missingCredentials())
      : Effect.flatMap(keys.authenticate(secret), (identity) =>
          identity === undefined ? Effect.fail(unknownKey()) : Effect.succeed(identity)
        )

  const byWallet = Effect.fnUntraced(function* (operation: string) {
    const request = yield* HttpServerRequest.HttpServerRequest
    const owner = Effect.gen(function* () {
      const outcome = yield* Effect.provideService(verified(request, audience), SignatureVerifier, verifier)
      if (outcome._tag !== "Refused") return yield* signUp.identify(outcome.wallet)
      return yield* new Unauthenticated({ code: outcome.code, error: outcome.error })
    })
    const identity = yield* signatures.through(owner)
    return signUp.mode === "paid" && operation !== depositOperation
      ? yield* settledIn(desk, identity, request)
      : identity
  })

  const bySession = Effect.fnUntraced(function* (sessionSecret: string) {
    const session = yield* sessions.find(sessionSecret)
    if (session === undefined) return yield* sessionEnded()
    yield* requireOwnPage(session)
    if (session.holder.role === "account") {
      const identity = yield* byKey(Redacted.value(session.holder.key))
      return { ...identity, isSessionOpen: sessions.isOpen(session.record.id) }
    }
    return yield* new Unauthenticated({
      code: "missing_credentials",
      error: "name the account that you act for: x-account: <name>"
    })
  })

  return (request: HttpServerRequest.HttpServerRequest, secret: string, operation: string) => {
    if (secret !== "") return byKey(secret)
    if (hasWalletHeaders(request.headers)) return byWallet(operation)
    const sessionSecret = sessionSecretOf(request.headers)
    return sessionSecret === undefined ? byKey("") : bySession(sessionSecret)
  }
})

/** `OperatorAccess.require` of a request, which from then on waits in the operator's own turn and not among strangers. */
const makeRequireOperator = Effect.gen(function* () {
  const access = yield* OperatorAccess
  const gate = yield* Admission
  return Effect.fnUntraced(function* (token: string, needed: OperatorRole) {
    const operator = yield* access.require(token, needed)
    gate.recognise(yield* HttpServerRequest.HttpServerRequest, { id: `operator ${operator.name}`, plan: "owner" })
    return operator
  })
})

/** An operator in the place of an account: without charge or limits, each change in the audit log. */
const makeActFor = Effect.gen(function* () {
  const requireOperator = yield* makeRequireOperator
  const accounts = yield* Accounts
  const calls = yield* CallsUnderWay
  const log = yield* AuditLog
  return Effect.fnUntraced(function* <E, R>(
    name: string,
    token: string,
    /** Undefined: a read. */
    change: { readonly action: string; readonly hasDryRun: boolean } | undefined,
    handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
  ) {
    const { isIn, name: operator } = yield* requireOperator(token, change === undefined ? "viewer" : "maintainer")
    const account = yield* accounts.byName(name)
    if (account === undefined) return yield* operatorOnly(`there is no account of the name "${name}"`)
    const identity: Identity = { account, isOperator: true, keyId: undefined, isSessionOpen: isIn }
    const known = yield* RequestAccount
    known.accountId = account.id
    known.caller = operator === firstOperator.name ? operator : `${firstOperator.name}:${operator}`
    const request = yield* HttpServerRequest.HttpServerRequest
    const acting = Effect.provideService(handler, Caller, identity)
    return yield* change === undefined
      ? acting
      : auditedAction({ log, ...change, operator, account: name }, request, calls.acting(account.id, acting))
  })
})

const verified = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, audience: ServiceAudience) {
  const { headers, method, url } = request
  const body = HttpMethod.hasBody(method) ? new Uint8Array(yield* Effect.orDie(request.arrayBuffer)) : new Uint8Array()
  const signed = { method, url, body, headers, versionPrefix: "/v1", audience: audience.ofRequest(request) }
  return yield* verifyWalletRequest(signed)
})

/** No wallet could ever sign up. */
export class SignUpMisconfigured extends Data.TaggedError("SignUpMisconfigured") {
  override readonly message = "MUNIMENT_WALLET_SIGNUP: paid needs deposits: set MUNIMENT_PAYMENT_NETWORKS"
}

/** A deposit takes an amount of its own. */
const depositOperation = "deposit"

/** Where sign-up is paid: the newcomer's account, once the deposit is there that the request is asked for. */
const settledIn = Effect.fnUntraced(function* (
  desk: PaymentDesk["Service"],
  { newcomer, ...identity }: Identity,
  request: HttpServerRequest.HttpServerRequest
) {
  if (newcomer === undefined) return identity
  const demand = { account: identity.account, units: topUpUnits, purpose: "deposit" } as const
  yield* desk.take(demand, httpCarrier(request))
  yield* newcomer.open("paid")
  return identity
})

export const operatorAuthorization = Layer.effect(
  OperatorAuthorization,
  Effect.gen(function* () {
    const requireOperator = yield* makeRequireOperator
    const log = yield* AuditLog
    return {
      operator: (handler, { credential, endpoint, group }) =>
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          const action = `${group.identifier}.${endpoint.identifier}`
          const operator = yield* requireOperator(Redacted.value(credential), roleNeeded(action))
          const acting = Effect.provideService(handler, CurrentOperator, operator)
          const audited = { log, action, hasDryRun: hasDryRun(endpoint), operator: operator.name }
          return yield* auditedAction(audited, request, acting)
        })
    }
  })
)

const unknownKey = () =>
  new Unauthenticated({ code: "invalid_api_key", error: "the API key is unknown, expired or revoked" })

const missingCredentials = () =>
  new Unauthenticated({ code: "missing_credentials", error: "send an API key: Authorization: Bearer <key>" })

const operatorOnly = (error: string) => new Forbidden({ code: "operator_only", error })
