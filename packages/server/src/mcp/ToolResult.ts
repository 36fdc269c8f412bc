/**
 * Result of a tool call (contract: MCP): REST's answer as structured content, and the same as one text item. A failure
 * says the same as REST says; a demand for payment is where paying clients look for it: in `_meta`, in the structured
 * content and in the text.
 */
import type {
  Conflict,
  PreconditionFailed,
  Forbidden,
  InsufficientStorage,
  InvalidRequest,
  NotFound,
  PayloadTooLarge,
  PaymentPending,
  PaymentRequired,
  RateLimited,
  Unavailable
} from "@muniment/domain/Errors"
import type { JsonObject } from "@muniment/domain/Memory"
import { settlementResponse } from "@muniment/payments/wire/PaymentHeader"
import type { PaymentNews } from "../credits/PaymentCarrier.ts"

/** Failures of the services behind the tools. */
export type ToolFailure =
  | InvalidRequest
  | NotFound
  | PayloadTooLarge
  | Forbidden
  | Conflict
  | PreconditionFailed
  | PaymentRequired
  | PaymentPending
  | RateLimited
  | InsufficientStorage
  | Unavailable

export const metaNames = {
  payment: "x402/payment",
  paymentError: "x402/error",
  paymentResponse: "x402/payment-response",
  idempotencyKey: "muniment/idempotency-key",
  idempotencyReplayed: "muniment/idempotency-replayed",
  credits: "muniment/credits"
} as const

/** `json` is REST's answer: some hosts show their model the text, others the structured content. */
export const successResult = (json: string, meta: JsonObject): JsonObject => ({
  content: [{ type: "text", text: json }],
  structuredContent: JSON.parse(json),
  ...(Object.keys(meta).length > 0 && { _meta: meta })
})

export const failureResult = (failure: ToolFailure, news: ReadonlyArray<PaymentNews>): JsonObject => {
  const settled = paymentMeta(news)
  const said = failureJson(failure, news)
  if (failure._tag === "PaymentRequired") {
    return { ...errorContent(said), structuredContent: said, _meta: { ...settled, [metaNames.paymentError]: said } }
  }
  return { ...errorContent(said), ...(Object.keys(settled).length > 0 && { _meta: settled }) }
}

/** REST's body of the failure; a demand for payment as paying clients know it. */
export const failureJson = (failure: ToolFailure, news: ReadonlyArray<PaymentNews>): JsonObject => {
  if (failure._tag === "PaymentRequired") {
    const { accepts, code, error, x402Version } = failure
    return { x402Version, error, accepts, code }
  }
  const { code, error } = failure
  const later = news.find((told) => told._tag === "Later")
  return {
    success: false,
    error,
    code,
    ...(failure.details !== undefined && { details: failure.details }),
    ...("quota" in failure && failure.quota !== undefined && { quota: failure.quota }),
    ...(later !== undefined && { retryAfterSeconds: later.retryAfterSeconds })
  }
}

/** The settlement, also of a failed call: the payment is credited. */
export const paymentMeta = (news: ReadonlyArray<PaymentNews>): JsonObject => {
  const settled = news.find((told) => told._tag === "Settled")
  return settled === undefined
    ? {}
    : { [metaNames.paymentResponse]: { ...settlementResponse(settled.version, settled.transaction) } }
}

const errorContent = (json: JsonObject): JsonObject => ({
  content: [{ type: "text", text: JSON.stringify(json) }],
  isError: true
})
