/**
 * What every request passes before its handler, outermost first: `BodyLimit` (size, media type),
 * `Authorization` (who), `RateLimiting` (how often), `WellFormedJson`, `Validation` (fields),
 * `Idempotency` (same key, same answer), `Charging` (what it costs). Declared here so that the contract knows their errors; implemented in the server.
 */
import { Context, Effect, Schema } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import type { Identity } from "../Account.ts"
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
import type { MicroCredits } from "../Money.ts"

/** The authenticated caller. */
export class Caller extends Context.Service<Caller, Identity>()("muniment/domain/Caller") {}

/** Key and body fingerprint of a repeatable write, both hex SHA-256. */
export interface IdempotencyToken {
  readonly key: string
  readonly fingerprint: string
}

/** Token of the current request; undefined when it carries no `Idempotency-Key`. */
export const CurrentIdempotency = Context.Reference<IdempotencyToken | undefined>(
  "muniment/domain/CurrentIdempotency",
  {
    defaultValue: () => undefined
  }
)

export class BodyLimit extends HttpApiMiddleware.Service<BodyLimit>()("muniment/domain/BodyLimit", {
  error: [PayloadTooLarge, UnsupportedMediaType]
}) {}

export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: Caller }>()(
  "muniment/domain/Authorization",
  {
    error: [Unauthenticated, InsufficientStorage],
    // Wallet headers are the other way in; `OpenApiDocument.ts` documents them.
    security: { bearer: HttpApiSecurity.bearer }
  }
) {}

/** Operator routes: the token of the data directory, from this machine only. */
export class OperatorAuthorization extends HttpApiMiddleware.Service<OperatorAuthorization>()(
  "muniment/domain/OperatorAuthorization",
  { error: [Unauthenticated, Forbidden], security: { operator: HttpApiSecurity.bearer } }
) {}

/** Refuses bodies that JSON.parse would take while changing or losing something. */
export class WellFormedJson extends HttpApiMiddleware.Service<WellFormedJson>()("muniment/domain/WellFormedJson", {
  error: InvalidRequest
}) {}

/** Turns failures of the contract's schemas into `InvalidRequest`. */
export class Validation extends HttpApiMiddleware.Service<Validation>()("muniment/domain/Validation", {
  error: [InvalidRequest, InternalError]
}) {}

export class Idempotency extends HttpApiMiddleware.Service<Idempotency, { requires: Caller }>()(
  "muniment/domain/Idempotency",
  { error: [Conflict, InvalidRequest] }
) {}

/** More requests than the caller's plan allows (interface.md section 10.4). */
export class RateLimiting extends HttpApiMiddleware.Service<RateLimiting, { requires: Caller }>()(
  "muniment/domain/RateLimiting",
  { error: RateLimited }
) {}

/** What asking for credits can end with, apart from having them. */
export type ChargeFailure = PaymentRequired | PaymentPending | Conflict | InsufficientStorage | Unavailable
export const chargeErrors = [PaymentRequired, PaymentPending, Conflict, InsufficientStorage, Unavailable] as const

export interface ChargeOptions {
  /** Instead of the endpoint's price. */
  readonly price?: MicroCredits
  /** Agents whose memories the call changes; a reservation for them outlives a crash. */
  readonly changes?: ReadonlyArray<string>
  /** Goes on without such a reservation when the disk is full: erasure works then too. */
  readonly isErasure?: boolean
  /** Gives back what the call reserved: it turned out to have nothing to do. */
  readonly isWaived?: boolean
}

/**
 * Reserves the price of the current call: to be asked when nothing but the act itself can fail any more,
 * so that a request that would fail anyway never asks for money (interface.md section 12). Costs nothing
 * where no middleware charges.
 */
export const CurrentCharge = Context.Reference<(options?: ChargeOptions) => Effect.Effect<void, ChargeFailure>>(
  "muniment/domain/CurrentCharge",
  { defaultValue: () => () => Effect.void }
)

/** Settles what the call reserved when it succeeds, voids it otherwise; takes a payment when purses are empty. */
export class Charging extends HttpApiMiddleware.Service<Charging, { requires: Caller }>()("muniment/domain/Charging", {
  error: chargeErrors
}) {}

/** Request headers of a write. */
export const WriteHeaders = {
  "idempotency-key": Schema.optionalKey(
    Schema.NonEmptyString.check(Schema.isMaxLength(Limits.idempotencyKeyLengthMax)).annotate({
      description: "1 to 128 characters, kept 24 hours: the same key and body give the first answer again."
    })
  )
}

/** Request headers of a search that may reach into memories of others. */
export const GrantHeaders = {
  "x-grants": Schema.optionalKey(
    Schema.String.annotate({ description: "Base64 JSON array of at most 10 grants; needed for scope `shared`." })
  )
}
