/**
 * What every request passes before its handler, outermost first: `BodyLimit` (size, media type),
 * `Authorization` (who), `WellFormedJson`, `Validation` (fields), `Idempotency` (same key, same
 * answer). Declared here so that the contract knows their errors; implemented in the server.
 */
import { Context, Schema } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import type { Identity } from "../Account.ts"
import {
  Conflict,
  Forbidden,
  InsufficientStorage,
  InternalError,
  InvalidRequest,
  PayloadTooLarge,
  Unauthenticated,
  UnsupportedMediaType
} from "../Errors.ts"
import { Limits } from "../Limits.ts"

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
