/**
 * Confirmation of a settled payment to the client: `X-PAYMENT-RESPONSE` (x402 version 1, networks by name) or
 * `PAYMENT-RESPONSE` (version 2, networks by CAIP-2 id), Base64 of JSON.
 */
import type { JsonObject } from "@muniment/domain/Memory"
import { type PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"
import { receiptExtension, type SignedReceipt } from "./OfferReceipt.ts"
import type { WirePayment } from "./PaymentHeader.ts"

export interface SettledTransaction {
  readonly hash: string
  readonly payer: string
  readonly network: PaymentNetwork
  /** Version 2 only. */
  readonly receipt: SignedReceipt
}

/** Name and value of the header that a client of `version` reads. */
export const paymentResponseHeader = (
  version: WirePayment["version"],
  settled: SettledTransaction
): Readonly<Record<string, string>> => {
  const json = JSON.stringify(settlementResponse(version, settled))
  return { [headerNames[version]]: Buffer.from(json).toString("base64") }
}

/** The header's JSON. */
export const settlementResponse = (
  version: WirePayment["version"],
  { hash, network, payer, receipt }: SettledTransaction
): SettlementResponse => ({
  success: true,
  transaction: hash,
  network: version === 1 ? network : paymentNetworks[network].caip2,
  payer,
  ...(version === 2 && { extensions: receiptExtension(receipt) })
})

export interface SettlementResponse {
  readonly success: true
  readonly transaction: string
  readonly network: string
  readonly payer: string
  readonly extensions?: JsonObject
}

const headerNames = { 1: "x-payment-response", 2: "payment-response" } as const
