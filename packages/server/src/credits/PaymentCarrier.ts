/**
 * Carrier of a call's payment and of its outcome: headers over HTTP (contract: Payments), `_meta` of the messages in
 * MCP.
 */
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import {
  type PaymentDemand,
  type PaymentHeaders,
  paymentRequiredHeader,
  paymentResponseHeader,
  type SettledTransaction,
  type WirePayment
} from "@muniment/payments/wire/PaymentHeader"
import { leaveLane } from "../admission/Gate.ts"
import { answerHeaders } from "../headers.ts"

export type PaymentNews =
  | { readonly _tag: "Demanded"; readonly demand: PaymentDemand }
  /** Answered by a 202, or a 503 of the network. */
  | { readonly _tag: "Later"; readonly retryAfterSeconds: number }
  | { readonly _tag: "Settled"; readonly version: WirePayment["version"]; readonly transaction: SettledTransaction }

export interface PaymentCarrier {
  /** Origin of the request that is paid for, and its path without the query. */
  readonly origin: string
  readonly path: string
  readonly carried: PaymentHeaders
  /** The call waits for a chain from here on. */
  readonly waits: Effect.Effect<void>
  /** Reports news of the payment, beside the answer, which says what went wrong. */
  readonly tell: (news: PaymentNews) => Effect.Effect<void>
}

export const httpCarrier = (request: HttpServerRequest.HttpServerRequest): PaymentCarrier => {
  const { headers, source, url } = request
  return {
    origin: originOf(request),
    path: url.split("?", 1)[0]!,
    carried: { "x-payment": headers["x-payment"], "payment-signature": headers["payment-signature"] },
    waits: Effect.sync(() => leaveLane(source)),
    tell: (news) => Effect.provideService(answerHeaders(headersOf(news)), HttpServerRequest.HttpServerRequest, request)
  }
}

/** The address that a request was sent to. */
export const originOf = ({ headers }: HttpServerRequest.HttpServerRequest): string =>
  `http://${headers["host"] ?? "localhost"}`

const headersOf = (news: PaymentNews): Readonly<Record<string, string>> => {
  switch (news._tag) {
    case "Demanded":
      // The body is version 1; this header says the same in version 2.
      return { "payment-required": paymentRequiredHeader(news.demand), "cache-control": "no-store" }
    case "Later":
      return { "retry-after": String(news.retryAfterSeconds) }
    case "Settled":
      return paymentResponseHeader(news.version, news.transaction)
  }
}
