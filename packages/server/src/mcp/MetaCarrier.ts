/**
 * Payments and credits of MCP messages (contract: MCP), which travel in `_meta`: the payment in that of the request,
 * what became of it and what the call cost in that of the result.
 */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { JsonObject } from "@muniment/domain/Memory"
import { toCredits } from "@muniment/domain/Money"
import type { PaymentHeaders } from "@muniment/payments/wire/PaymentHeader"
import type { Charged } from "../credits/ChargedCalls.ts"
import { httpCarrier, type PaymentCarrier, type PaymentNews } from "../credits/PaymentCarrier.ts"
import { metaNames } from "./ToolResult.ts"

/** The payment of a call is in its message; what becomes of it is collected for the result. */
export const metaCarrier = (
  request: HttpServerRequest.HttpServerRequest,
  payment: unknown
): { readonly carrier: PaymentCarrier; readonly news: ReadonlyArray<PaymentNews> } => {
  const news: Array<PaymentNews> = []
  const carrier: PaymentCarrier = {
    ...httpCarrier(request),
    carried: paymentHeaders(payment),
    tell: (told) => Effect.sync(() => void news.push(told))
  }
  return { carrier, news }
}

/** Base64 as in the header, or the JSON itself, which is then held to the bounds of the header. */
const paymentHeaders = (payment: unknown): PaymentHeaders => {
  if (payment === undefined) return {}
  const text = typeof payment === "string" ? payment : Buffer.from(JSON.stringify(payment)).toString("base64")
  return { "x-payment": text }
}

export const creditsMeta = ({
  charged,
  purses: { allowance, balance, isUnlimited }
}: Charged<unknown>): JsonObject => ({
  [metaNames.credits]: {
    charged: toCredits(charged),
    remaining: isUnlimited ? "unlimited" : toCredits(allowance + balance)
  }
})
