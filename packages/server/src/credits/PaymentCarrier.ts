/**
 * How a call carries its payment, and hears what became of it. Over HTTP both are headers (interface.md
 * section 11); MCP has them in the `_meta` of its messages (section 15).
 */
import { Context, Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import type { PaymentHeaders, WirePayment } from "@muniment/payments/wire/PaymentHeader"
import { type PaymentDemand, paymentRequiredHeader } from "@muniment/payments/wire/PaymentRequired"
import { paymentResponseHeader, type SettledTransaction } from "@muniment/payments/wire/PaymentResponse"
import { answerHeaders } from "../http/RateLimits.ts"

export type PaymentNews =
  | { readonly _tag: "Demanded"; readonly demand: PaymentDemand }
  | { readonly _tag: "Pending"; readonly retryAfterSeconds: number }
  | { readonly _tag: "Settled"; readonly version: WirePayment["version"]; readonly transaction: SettledTransaction }

export interface PaymentCarrier {
  readonly carried: Effect.Effect<PaymentHeaders, never, HttpServerRequest.HttpServerRequest>
  /** Beside the answer itself, which says what went wrong. */
  readonly tell: (news: PaymentNews) => Effect.Effect<void, never, HttpServerRequest.HttpServerRequest>
}

const headerCarrier: PaymentCarrier = {
  carried: Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) => ({
    "x-payment": headers["x-payment"],
    "payment-signature": headers["payment-signature"]
  })),
  tell: (news) => answerHeaders(headersOf(news))
}

/** Of the current call; headers unless a protocol of its own says otherwise. */
export const CurrentPaymentCarrier = Context.Reference<PaymentCarrier>("muniment/server/PaymentCarrier", {
  defaultValue: () => headerCarrier
})

const headersOf = (news: PaymentNews): Readonly<Record<string, string>> => {
  switch (news._tag) {
    case "Demanded":
      // The body is version 1; this header says the same in version 2.
      return { "payment-required": paymentRequiredHeader(news.demand), "cache-control": "no-store" }
    case "Pending":
      return { "retry-after": String(news.retryAfterSeconds) }
    case "Settled":
      return paymentResponseHeader(news.version, news.transaction)
  }
}
