/**
 * Middleware that every request passes before its handler, outermost first: `BodyLimit` (size, media type),
 * `Authorization` (who), `RateLimiting` (how often), `WellFormedRequest`, `Validation` (fields), `Idempotency` (same
 * key, same answer), `Charging` (what it costs). Declared here so that the contract knows their errors; implemented in
 * the server.
 */
import { Context, type Effect, Schema } from "effect"
import {
  HttpApi,
  type HttpApiEndpoint,
  type HttpApiGroup,
  HttpApiMiddleware,
  HttpApiSecurity,
  OpenApi
} from "effect/http-api"
import type { Identity } from "../Identity.ts"
import {
  Conflict,
  Forbidden,
  InsufficientStorage,
  InternalError,
  InvalidRequest,
  PayloadTooLarge,
  PaymentPending,
  PaymentRequired,
  RateLimited,
  Unauthenticated,
  Unavailable,
  UnsupportedMediaType
} from "../Errors.ts"
import { Limits } from "../Limits.ts"
import { type MicroCredits, microCreditsPerCredit } from "../Money.ts"
import type { Operator } from "../Operator.ts"

/** The authenticated caller. */
export class Caller extends Context.Service<Caller, Identity>()("muniment/domain/Caller") {}

/** Key and body fingerprint of a repeatable write, both hex SHA-256. */
export interface IdempotencyToken {
  readonly key: string
  readonly fingerprint: string
}

/** Token of the current request; undefined when it carries no `Idempotency-Key`. */
export class RequestToken extends Context.Service<RequestToken, IdempotencyToken | undefined>()(
  "muniment/domain/RequestToken"
) {}

export class BodyLimit extends HttpApiMiddleware.Service<BodyLimit>()("muniment/domain/BodyLimit", {
  error: [PayloadTooLarge, UnsupportedMediaType]
}) {}

export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: Caller }>()(
  "muniment/domain/Authorization",
  {
    // Beyond credentials: a wallet without an account is refused, or asked for a deposit.
    error: [
      Unauthenticated,
      Forbidden,
      PaymentRequired,
      PaymentPending,
      Conflict,
      RateLimited,
      InsufficientStorage,
      Unavailable
    ],
    // Wallet headers are the other way in; `OpenApiDocument.ts` documents them.
    security: { bearer: HttpApiSecurity.bearer }
  }
) {}

/** The operator who calls an operator route. */
export class CurrentOperator extends Context.Service<CurrentOperator, Operator>()("muniment/domain/CurrentOperator") {}

/** Operator routes: the token of the data directory or an operator's secret, from this machine only. */
export class OperatorAuthorization extends HttpApiMiddleware.Service<
  OperatorAuthorization,
  { provides: CurrentOperator }
>()("muniment/domain/OperatorAuthorization", {
  error: [Unauthenticated, Forbidden],
  security: { operator: HttpApiSecurity.bearer }
}) {}

/** Refuses bodies that JSON.parse would alter, and names that the contract does not know. */
export class WellFormedRequest extends HttpApiMiddleware.Service<WellFormedRequest>()(
  "muniment/domain/WellFormedRequest",
  {
    error: InvalidRequest
  }
) {}

/** Turns failures of the contract's schemas into `InvalidRequest`. */
export class Validation extends HttpApiMiddleware.Service<Validation>()("muniment/domain/Validation", {
  error: [InvalidRequest, InternalError]
}) {}

export class Idempotency extends HttpApiMiddleware.Service<Idempotency, { requires: Caller; provides: RequestToken }>()(
  "muniment/domain/Idempotency",
  { error: [Conflict, InvalidRequest] }
) {}

/** Refuses more requests than the caller's plan allows (contract: Rate limits). */
export class RateLimiting extends HttpApiMiddleware.Service<RateLimiting, { requires: Caller }>()(
  "muniment/domain/RateLimiting",
  { error: RateLimited }
) {}

/** Failures of reserving a price. */
export const chargeErrors = [
  PaymentRequired,
  PaymentPending,
  Forbidden,
  Conflict,
  RateLimited,
  InsufficientStorage,
  Unavailable
] as const
export type ChargeFailure = InstanceType<(typeof chargeErrors)[number]>

export interface ChargeOptions {
  /** Instead of the operation's price. */
  readonly price?: MicroCredits
  /** The only agent whose memories the call reads. */
  readonly agent?: string | undefined
  /** Agents whose memories the call changes; a reservation for them outlives a crash. */
  readonly changes?: ReadonlyArray<string>
  /** On a full disk the reservation is kept in memory only: erasure works then too. */
  readonly isErasure?: boolean
}

/**
 * One call of a priced operation. The handler passes it to the service that does the work, which reserves
 * the price once, as its last check: a request that fails anyway never asks for money.
 */
export interface PricedCall {
  readonly caller: Identity
  /** Committed with what the call changes, so that the next start can tell whether it happened. */
  readonly token: IdempotencyToken | undefined
  /** Reserves the price; takes a payment when the purses are empty. */
  readonly reserve: (options?: ChargeOptions) => Effect.Effect<void, ChargeFailure>
  /** Pays what the price did not cover, with the payment that the request carries, or asks for one. */
  readonly topUp: Effect.Effect<void, ChargeFailure>
  /** Gives the reservation back: there was nothing to do after all. */
  readonly release: Effect.Effect<void>
}

/** The call that a handler passes on. */
export class CurrentCall extends Context.Service<CurrentCall, PricedCall>()("muniment/domain/CurrentCall") {}

/** Settles what the call reserved when it succeeds, voids it otherwise. */
export class Charging extends HttpApiMiddleware.Service<
  Charging,
  { requires: Caller | RequestToken; provides: CurrentCall }
>()("muniment/domain/Charging", { error: chargeErrors }) {}

/** Request headers of a write. */
export const WriteHeaders = {
  "idempotency-key": Schema.optionalKey(
    Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.idempotencyKeyLengthMax)).annotate({
      description: "1 to 128 characters, kept 24 hours: the same key and body give the first answer again."
    })
  )
}

/** Request headers of a change of one memory. */
export const ChangeHeaders = {
  ...WriteHeaders,
  "if-match": Schema.optionalKey(
    Schema.String.check(
      Schema.isPattern(/^(?:\*|(?:W\/)?"[!#-~]*"(?:[ \t]*,[ \t]*(?:W\/)?"[!#-~]*")*)$/u, {
        expected: "an ETag in quotes, several with commas between, or *"
      })
    ).annotate({ description: "The `ETag` of a read, or several; another version is left as it is: 412." })
  )
}

/** Request headers of a search that may reach into memories of others. */
export const GrantHeaders = {
  "x-grants": Schema.optionalKey(
    Schema.String.annotate({ description: "Base64 JSON array of at most 10 grants; needed for scope `shared`." })
  )
}

/**
 * Documentation of one operation for the OpenAPI document: summary, price and example.
 * `x-price-credits` is the price in whole credits; `x-safe` says of a POST that it changes nothing.
 *
 * Price of an endpoint, for the middleware that charges.
 */
export const Price = Context.Reference<MicroCredits>("muniment/domain/Price", { defaultValue: () => 0 })

/** It changes nothing, whatever its method: not audited, and safe to repeat. */
const IsRead = Context.Reference<boolean>("muniment/domain/IsRead", { defaultValue: () => false })

/** The name in books and logs of an endpoint that is another one's second way in. */
const KnownAs = Context.Reference<string | undefined>("muniment/domain/KnownAs", {
  defaultValue: () => undefined
})

export const operation = (
  summary: string,
  options: {
    readonly description?: string
    readonly price?: MicroCredits
    /** A POST that only reads. */
    readonly isRead?: true
    readonly knownAs?: string
  }
) =>
  Context.mergeAll(
    OpenApi.annotations({
      summary,
      description: options.description,
      override: {
        "x-price-credits": (options.price ?? 0) / microCreditsPerCredit,
        ...(options.isRead && { "x-safe": true })
      }
    }),
    Context.make(Price, options.price ?? 0),
    Context.make(IsRead, options.isRead ?? false),
    Context.make(KnownAs, options.knownAs)
  )

/** As `search`. */
export const operationName = ({ annotations, identifier }: HttpApiEndpoint.Top): string =>
  Context.get(annotations, KnownAs) ?? identifier

/** Unknown names in the body are refused. */
export const hasClosedBody = ({ annotations }: HttpApiEndpoint.Top): boolean =>
  Context.getOrUndefined(annotations, HttpApi.PayloadParseOptions)?.onExcessProperty === "error"

export const isRead = ({ annotations, method }: HttpApiEndpoint.Top): boolean =>
  method === "GET" || Context.get(annotations, IsRead)

/** Routes of accounts that change nothing. */
export const readingGroup = <Id extends string, Endpoints extends HttpApiEndpoint.Constraint>(
  group: HttpApiGroup.HttpApiGroup<Id, Endpoints>
) =>
  group
    .middleware(Validation)
    .middleware(WellFormedRequest)
    .middleware(RateLimiting)
    .middleware(Authorization)
    .prefix("/v1")

/** Routes of accounts that may change something; one that is repeated with the same key gets the same answer. */
export const writingGroup = <Id extends string, Endpoints extends HttpApiEndpoint.Constraint>(
  group: HttpApiGroup.HttpApiGroup<Id, Endpoints>
) => readingGroup(group.middleware(Idempotency)).middleware(BodyLimit)

export const chargedGroup = <Id extends string, Endpoints extends HttpApiEndpoint.Constraint>(
  group: HttpApiGroup.HttpApiGroup<Id, Endpoints>
) => writingGroup(group.middleware(Charging))

export const operatorGroup = <Id extends string, Endpoints extends HttpApiEndpoint.Constraint>(
  group: HttpApiGroup.HttpApiGroup<Id, Endpoints>
) => group.middleware(Validation).middleware(WellFormedRequest).middleware(OperatorAuthorization).prefix("/admin")
