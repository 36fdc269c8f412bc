/**
 * The header `PAYMENT-REQUIRED` of a 402 answer, for version 2 of x402. The JSON body, for version 1, is the error
 * `PaymentRequired` of the contract. `accepts` is never missing: stock clients crash on a bare 402.
 *
 * The header is encoded here and not by `@x402/core`, which a service without payments must not load.
 */
import type { PaymentRequired as PaymentRequiredV2 } from "@x402/core/types"
import { paymentNetworks, type PaymentRequirement } from "@muniment/domain/Payment"
import { offersExtension, type SignedOffer } from "./OfferReceipt.ts"

export interface PaymentDemand {
  /** For people. */
  readonly error: string
  /** URL without query. */
  readonly resource: string
  readonly description: string
  /** EVM first (`quote` in `Payments.ts`). */
  readonly accepts: ReadonlyArray<PaymentRequirement>
  /** One for each of `accepts`; version 2 only. */
  readonly offers: ReadonlyArray<SignedOffer>
}

/** Value of `PAYMENT-REQUIRED`. */
export const paymentRequiredHeader = (demand: PaymentDemand): string =>
  Buffer.from(JSON.stringify(paymentRequiredV2(demand))).toString("base64")

const paymentRequiredV2 = ({ accepts, description, error, offers, resource }: PaymentDemand): PaymentRequiredV2 => ({
  x402Version: 2,
  error,
  resource: { url: resource, description, mimeType: "application/json" },
  accepts: accepts.map(requirementV2),
  extensions: offersExtension(offers)
})

/** The same offer in version 2, also sent to a facilitator. */
export const requirementV2 = (requirement: PaymentRequirement): PaymentRequiredV2["accepts"][number] => ({
  scheme: requirement.scheme,
  network: paymentNetworks[requirement.network].caip2,
  asset: requirement.asset,
  amount: requirement.maxAmountRequired,
  payTo: requirement.payTo,
  maxTimeoutSeconds: requirement.maxTimeoutSeconds,
  extra: { ...requirement.extra }
})
