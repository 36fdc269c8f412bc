/**
 * The x402 extension `offer-receipt`, version 1: what a 402 asks for and what a settlement confirms, each signed by the
 * service as a JSON Web Signature, so that a payer can prove both to others. Only version 2 of x402 has extensions.
 */
import { type PaymentNetwork, paymentNetworks, type PaymentRequirement } from "@muniment/domain/Payment"

/** Compact JSON Web Signature of a payload. */
export type SignPayload = (payload: Readonly<Record<string, string | number>>) => string

export interface SignedOffer {
  readonly format: "jws"
  /** Place in `accepts`. */
  readonly acceptIndex: number
  readonly signature: string
}

export interface SignedReceipt {
  readonly format: "jws"
  readonly signature: string
}

/** By requirement, in the order of `accepts`; each is good as long as its payment may take. */
export const signOffers = (
  { accepts, resource }: { readonly accepts: ReadonlyArray<PaymentRequirement>; readonly resource: string },
  { atMillis, sign }: { readonly atMillis: number; readonly sign: SignPayload }
): ReadonlyArray<SignedOffer> =>
  accepts.map(({ asset, maxAmountRequired, maxTimeoutSeconds, network, payTo, scheme }, acceptIndex) => ({
    format: "jws",
    acceptIndex,
    signature: sign({
      version: 1,
      resourceUrl: resource,
      scheme,
      network: paymentNetworks[network].caip2,
      asset,
      payTo,
      amount: maxAmountRequired,
      validUntil: Math.floor(atMillis / 1_000) + maxTimeoutSeconds
    })
  }))

/** `resource`: URL of the call that was paid for. */
export const signReceipt = (
  { hash, network, payer }: { readonly hash: string; readonly network: PaymentNetwork; readonly payer: string },
  { atMillis, resource, sign }: { readonly atMillis: number; readonly resource: string; readonly sign: SignPayload }
): SignedReceipt => ({
  format: "jws",
  signature: sign({
    version: 1,
    network: paymentNetworks[network].caip2,
    resourceUrl: resource,
    payer,
    issuedAt: Math.floor(atMillis / 1_000),
    transaction: hash
  })
})

/** `extensions` of a 402. */
export const offersExtension = (offers: ReadonlyArray<SignedOffer>) => ({
  "offer-receipt": { info: { offers }, schema: { type: "object", properties: offersSchema, required: ["offers"] } }
})

/** `extensions` of a settlement. */
export const receiptExtension = (receipt: SignedReceipt) => ({
  "offer-receipt": {
    info: { receipt: { ...receipt } },
    schema: { type: "object", properties: receiptSchema, required: ["receipt"] }
  }
})

const signedSchema = {
  type: "object",
  properties: { format: { const: "jws" }, acceptIndex: { type: "integer" }, signature: { type: "string" } },
  required: ["format", "signature"]
}
const offersSchema = { offers: { type: "array", items: signedSchema } }
const receiptSchema = { receipt: signedSchema }
