/** The receipt of a payment as it is fetched later (contract: Payments). */
import { Schema } from "effect"

/** Names a payment: its id (the longest, of an EVM authorisation, has about 170 characters) or its transaction. */
export const PaymentName = Schema.NonEmptyString.check(Schema.isMaxCodePoints(256)).annotate({
  examples: ["evm:8453:0x8335:0x1950:0x01"]
})

export const PaymentReceipt = Schema.Struct({
  payment: Schema.String.annotate({ description: "Id of the payment." }),
  settledAt: Schema.Int.annotate({ description: "Milliseconds: when it was credited." }),
  receipt: Schema.Struct({
    format: Schema.Literal("jws"),
    signature: Schema.String.annotate({
      description: "Compact JSON Web Signature: the receipt of the x402 extension `offer-receipt`."
    })
  })
})
export type PaymentReceipt = typeof PaymentReceipt.Type
