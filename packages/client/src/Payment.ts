/**
 * Payments by HTTP 402 (contract: Payments; x402 versions 1 and 2) as a client handles them: the demand of the service,
 * the header that pays, the receipt. The caller signs: this package knows no chain.
 *
 * Invariant: a call asks for one payment at most. A signed payment is sent again until the outcome is
 * known; no second one is signed.
 */
import type { PaymentNetwork, PaymentRequiredBody } from "./Endpoints.ts"

/** Body of the 402 answer. Check `accepts` before paying: amount, asset, network and payee. */
export type PaymentDemand = PaymentRequiredBody & {
  /** The header PAYMENT-REQUIRED, Base64 JSON: the same for libraries of protocol version 2. */
  readonly header?: string | undefined
}

/** A signed payment as a request carries it: Base64 JSON, in the header of its protocol version, 1 or 2. */
export interface Payment {
  readonly header: "x-payment" | "payment-signature"
  readonly value: string
}

/** Signs one of the ways to pay; what it rejects with, the call rejects with. */
export type Pay = (demand: PaymentDemand) => Promise<Payment>

/** Confirmation of a settled payment. */
export interface PaymentReceipt {
  /** Hash, or signature, of the transaction. */
  readonly transaction: string
  /** By its name, or by its CAIP-2 id for a payment of protocol version 2. */
  readonly network: PaymentNetwork | `${string}:${string}`
  readonly payer?: string
}

/** Undefined for a 402 of another protocol, as a proxy may send. */
export const demandOf = (response: Response, body: Readonly<Record<string, unknown>>): PaymentDemand | undefined => {
  if (response.status !== 402 || !Array.isArray(body["accepts"])) return undefined
  const header = response.headers.get("payment-required") ?? undefined
  return { ...(body as PaymentDemand), header }
}

/** Undefined when the answer has none: nothing was paid, or it is kept from before. */
export const receiptOf = ({ headers }: Response): PaymentReceipt | undefined => {
  const text = headers.get("payment-response") ?? headers.get("x-payment-response")
  if (text === null) return undefined
  try {
    return JSON.parse(atob(text)) as PaymentReceipt
  } catch {
    // The money is credited all the same: an unreadable receipt must not look like a failed payment.
    return undefined
  }
}
