/**
 * Endpoints of credits (contract: Credits, Payments). A deposit without payment answers 402 with the ways to pay; the
 * retry carries the signed payment.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { CreditAccount, CreditTransaction, DepositAmount, Deposited } from "../Credits.ts"
import { Forbidden, InvalidRequest, NotFound, Unavailable } from "../Errors.ts"
import { PageCursor } from "../Ids.ts"
import { Limits } from "../Limits.ts"
import { PaymentName, PaymentReceipt } from "../Payment.ts"
import { WriteHeaders, chargeErrors, operation, writingGroup } from "./Middleware.ts"

const success = Schema.Literal(true)

/** A signed payment; bounded and checked by the payment code, which refuses it with a 402. */
const PaymentHeaders = {
  "x-payment": Schema.optionalKey(
    Schema.String.annotate({ description: "Signed payment, protocol version 1: Base64 JSON." })
  ),
  "payment-signature": Schema.optionalKey(
    Schema.String.annotate({ description: "Signed payment, protocol version 2: Base64 JSON." })
  )
}

export class CreditsApi extends writingGroup(
  HttpApiGroup.make("credits").add(
    HttpApiEndpoint.post("deposit", "/credits/deposit", {
      query: { amount_usd: Schema.optionalKey(DepositAmount) },
      headers: { ...WriteHeaders, ...PaymentHeaders },
      success: Deposited,
      error: [InvalidRequest, ...chargeErrors]
    }).annotateMerge(
      operation("Deposit credits", {
        description:
          "Without payment: 402 with the ways to pay in USDC. With one: credited once, whoever paid. 202 while the outcome is unknown: repeat with the same payment. 1 US dollar is 1,000 credits."
      })
    ),
    HttpApiEndpoint.get("credits", "/credits", {
      success: CreditAccount,
      error: Unavailable
    }).annotateMerge(
      operation("Balance, allowance and plan", {
        description: "The allowance pays operations first; the balance also keeps free-plan memories alive."
      })
    ),
    HttpApiEndpoint.get("receipt", "/credits/payments/:id/receipt", {
      params: { id: PaymentName.annotate({ description: "Id of the payment, or its transaction." }) },
      success: Schema.Struct({ success, ...PaymentReceipt.fields }),
      error: [Forbidden, NotFound]
    }).annotateMerge(
      operation("Receipt of a payment", {
        description:
          "Signed; the same as at the time of the payment. Only for the account that was credited, and not for keys that are bound to agents or subjects."
      })
    ),
    HttpApiEndpoint.get("transactions", "/credits/transactions", {
      query: {
        limit: Schema.optionalKey(
          Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Limits.transactionsPageMax })).annotate({
            description: `Page size, 1 to ${Limits.transactionsPageMax}; default ${Limits.transactionsPageDefault}.`
          })
        ),
        cursor: Schema.optionalKey(PageCursor)
      },
      success: Schema.Struct({
        success,
        transactions: Schema.Array(CreditTransaction),
        nextCursor: Schema.optionalKey(Schema.String)
      }),
      error: [InvalidRequest, Forbidden]
    }).annotateMerge(
      operation("Movements of the account's credits", {
        description: "Newest first, in pages. Not for keys that are bound to agents or subjects."
      })
    )
  )
) {}
