/**
 * Every failure that a caller can receive (contract: Errors): one class per HTTP status, whose `code` names the case. A
 * class travels unchanged from where it is raised to the wire, encoded as `{success: false, error, code, details?}`.
 * The texts never contain internals, keys or memory content.
 */
import { Effect, Schema } from "effect"
import { paymentRequiredFields } from "./Credits.ts"

/** One finding of a failed validation: index of the memory in the request, JSON pointer, reason. */
export const ErrorDetail = Schema.Struct({
  index: Schema.optionalKey(Schema.Int),
  path: Schema.optionalKey(Schema.String),
  message: Schema.String
})
export type ErrorDetail = typeof ErrorDetail.Type

/** A finding as a sentence: its place, and what is wrong there. */
export const faultText = ({ message, path = "" }: ErrorDetail): string =>
  path === "" ? message : `${path}: ${message}`

const wire = <const Codes extends ReadonlyArray<string>>(codes: Codes) => ({
  success: Schema.Literal(false).pipe(Schema.withConstructorDefault(Effect.succeed(false as const))),
  error: Schema.String,
  code: Schema.Literals(codes),
  details: Schema.optionalKey(Schema.Array(ErrorDetail))
})

const invalidRequestCodes = [
  "invalid_json",
  "invalid_request",
  "unknown_parameter",
  "invalid_duration",
  "invalid_expiry",
  "invalid_tag",
  "unknown_kind",
  "unknown_schema",
  "schema_validation_failed",
  "unique_field_missing",
  "invalid_schema",
  "batch_too_large",
  "invalid_filters",
  "grants_required",
  "invalid_grants_header",
  "too_many_grants",
  "limit_exceeded",
  "invalid_amount"
] as const
export type InvalidRequestCode = (typeof invalidRequestCodes)[number]

/** 400: the request itself is wrong; `details` name the places. */
export class InvalidRequest extends Schema.Error<InvalidRequest>("InvalidRequest")(wire(invalidRequestCodes), {
  httpApiStatus: 400,
  description: "The request is malformed or against a rule; nothing was stored."
}) {
  readonly _tag = "InvalidRequest"
  override get message(): string {
    return this.error
  }
}

/** 401: no usable credentials. */
export class Unauthenticated extends Schema.Error<Unauthenticated>("Unauthenticated")(
  wire([
    "missing_credentials",
    "invalid_api_key",
    "invalid_signature",
    "timestamp_out_of_range",
    "audience_required",
    "wrong_audience",
    "invalid_link",
    "session_ended"
  ]),
  { httpApiStatus: 401, description: "No credentials, or credentials that are unknown or revoked." }
) {
  readonly _tag = "Unauthenticated"
  override get message(): string {
    return this.error
  }
}

/** 402 (contract: Payments): always with the ways to pay. */
export class PaymentRequired extends Schema.Error<PaymentRequired>("PaymentRequired")(paymentRequiredFields, {
  httpApiStatus: 402,
  description:
    "Payment is needed; `accepts` says how. The header PAYMENT-REQUIRED says the same for protocol version 2. To a request that carries a payment, 202 `payment_pending` may be the answer, as to a deposit."
}) {
  readonly _tag = "PaymentRequired"
  override get message(): string {
    return this.error
  }
}

/** 202: a payment was accepted and its outcome is not known yet; the request itself was not served. */
export class PaymentPending extends Schema.Error<PaymentPending>("PaymentPending")(wire(["payment_pending"]), {
  httpApiStatus: 202,
  description: "The payment is on its way: repeat the same request with the same payment after `Retry-After` seconds."
}) {
  readonly _tag = "PaymentPending"
  override get message(): string {
    return this.error
  }
}

/** 403: the credentials are good, and may not do this; empty purses where nothing can be paid. */
export class Forbidden extends Schema.Error<Forbidden>("Forbidden")(
  wire([
    "builtin_schema",
    "operator_only",
    "operator_role",
    "not_grantor",
    "sign_up_closed",
    "insufficient_credits",
    "account_suspended",
    "key_scope",
    "csrf",
    "console_off",
    "deposits_off"
  ]),
  {
    httpApiStatus: 403,
    description: "The operation is not allowed on this resource."
  }
) {
  readonly _tag = "Forbidden"
  override get message(): string {
    return this.error
  }
}

/** 404: the same for unknown, expired and other accounts' resources, so that existence never leaks. */
export class NotFound extends Schema.Error<NotFound>("NotFound")(
  wire([
    "memory_not_found",
    "schema_not_found",
    "route_not_found",
    "account_not_found",
    "key_not_found",
    "wallet_not_found",
    "payment_not_found",
    "webhook_not_found",
    "session_not_found",
    "operator_not_found",
    "consolidation_not_found"
  ]),
  { httpApiStatus: 404, description: "There is nothing here for these credentials." }
) {
  readonly _tag = "NotFound"
  override get message(): string {
    return this.error
  }
}

/** 405: the path exists, the method does not; the `Allow` header lists those that do. */
export class MethodNotAllowed extends Schema.Error<MethodNotAllowed>("MethodNotAllowed")(wire(["method_not_allowed"]), {
  httpApiStatus: 405
}) {
  readonly _tag = "MethodNotAllowed"
  override get message(): string {
    return this.error
  }
}

/** 408: the request did not arrive in time; its connection ends. */
export class RequestTimeout extends Schema.Error<RequestTimeout>("RequestTimeout")(wire(["request_timeout"]), {
  httpApiStatus: 408
}) {
  readonly _tag = "RequestTimeout"
}

/** 409: the request contradicts what is stored. */
export class Conflict extends Schema.Error<Conflict>("Conflict")(
  wire([
    "schema_exists",
    "kind_mismatch",
    "idempotency_conflict",
    "id_conflict",
    "account_exists",
    "operator_exists",
    "payment_already_used",
    "insufficient_balance",
    "clock_step",
    "not_refundable",
    "webhook_not_configured",
    "cluster_backup",
    "backup_not_configured",
    "no_language_model",
    "consolidation_off",
    "consolidation_superseded",
    "erasure_open"
  ]),
  { httpApiStatus: 409, description: "The request contradicts what is stored." }
) {
  readonly _tag = "Conflict"
  override get message(): string {
    return this.error
  }
}

/** 412: `If-Match` names another version. */
export class PreconditionFailed extends Schema.Error<PreconditionFailed>("PreconditionFailed")(
  wire(["version_mismatch"]),
  { httpApiStatus: 412, description: "The memory is another version than `If-Match` names; nothing was changed." }
) {
  readonly _tag = "PreconditionFailed"
  override get message(): string {
    return this.error
  }
}

/** Which quota is used up, how much of it is used, and its limit. */
const quota = Schema.optionalKey(Schema.Struct({ name: Schema.String, used: Schema.Int, limit: Schema.Int }))

/** 413: the body is above the limit, or the account would hold more than its quota. */
export class PayloadTooLarge extends Schema.Error<PayloadTooLarge>("PayloadTooLarge")(
  { ...wire(["payload_too_large", "quota_exceeded"]), quota },
  {
    httpApiStatus: 413,
    description: "The body is above 1 MiB, or the account would hold more than its quota, which `quota` names."
  }
) {
  readonly _tag = "PayloadTooLarge"
  override get message(): string {
    return this.error
  }
}

/** 415: a body that is not JSON. */
export class UnsupportedMediaType extends Schema.Error<UnsupportedMediaType>("UnsupportedMediaType")(
  wire(["unsupported_media_type"]),
  { httpApiStatus: 415, description: "Bodies must be application/json." }
) {
  readonly _tag = "UnsupportedMediaType"
  override get message(): string {
    return this.error
  }
}

/** 417: `Expect` with anything but `100-continue`. */
export class ExpectationFailed extends Schema.Error<ExpectationFailed>("ExpectationFailed")(
  wire(["expectation_failed"]),
  { httpApiStatus: 417 }
) {
  readonly _tag = "ExpectationFailed"
}

/** 431: request line and headers are above the limit; their connection ends. */
export class HeadersTooLarge extends Schema.Error<HeadersTooLarge>("HeadersTooLarge")(wire(["headers_too_large"]), {
  httpApiStatus: 431
}) {
  readonly _tag = "HeadersTooLarge"
}

/** 429: more requests, or more of the language model, than the account may have; `Retry-After` says when to retry. */
export class RateLimited extends Schema.Error<RateLimited>("RateLimited")(
  { ...wire(["rate_limited", "model_budget_exhausted", "sign_up_limited", "quota_exceeded"]), quota },
  { httpApiStatus: 429, description: "More than the account may have now; see Retry-After." }
) {
  readonly _tag = "RateLimited"
  override get message(): string {
    return this.error
  }
}

/** 500: a defect; the log has the cause, the answer has the request id only. */
export class InternalError extends Schema.Error<InternalError>("InternalError")(wire(["internal_error"]), {
  httpApiStatus: 500,
  description: "A defect of the service; its log has the cause."
}) {
  readonly _tag = "InternalError"
  override get message(): string {
    return this.error
  }
}

/** 503: try again later. */
export class Unavailable extends Schema.Error<Unavailable>("Unavailable")(
  wire([
    "namespace_unavailable",
    "control_unavailable",
    "overloaded",
    "extraction_unavailable",
    "model_unavailable",
    "payment_unavailable"
  ]),
  {
    httpApiStatus: 503,
    description:
      "The service cannot do this now. After `namespace_unavailable` or `control_unavailable` a write may be done: repeat it with its Idempotency-Key."
  }
) {
  readonly _tag = "Unavailable"
  override get message(): string {
    return this.error
  }
}

/** 507: the disk is full; reads and deletes still work. */
export class InsufficientStorage extends Schema.Error<InsufficientStorage>("InsufficientStorage")(
  wire(["insufficient_storage"]),
  { httpApiStatus: 507, description: "The disk is full; reads and deletes still work." }
) {
  readonly _tag = "InsufficientStorage"
  override get message(): string {
    return this.error
  }
}

export const memoryNotFound = () => new NotFound({ code: "memory_not_found", error: "no such memory" })
export const schemaNotFound = (name: string) =>
  new NotFound({ code: "schema_not_found", error: `no schema is registered under the name "${name}"` })
