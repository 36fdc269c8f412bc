/**
 * The account behind the credentials, and its keys (contract: Identity); its credits: balance, movements, deposits and
 * their receipts (contract: Credits).
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Plan } from "../Account.ts"
import { keyScopeFields } from "../Identity.ts"
import { Conflict, Forbidden, InsufficientStorage, InvalidRequest, NotFound, Unavailable } from "../Errors.ts"
import { chargeErrors, operation, readingGroup, WriteHeaders, writingGroup } from "./Middleware.ts"
import { RequestQuery, RequestRecord } from "../Operations.ts"
import { QuotaUse } from "../Plans.ts"
import { AgentCostQuery, AgentCosts, Statement, StatementQuery } from "../Statement.ts"
import { DurationText } from "../GivenTimes.ts"
import { Limits } from "../Limits.ts"
import { KeyRecord, RevocationQuery, RevokedKey } from "./AdminApi.ts"
import { CreditAccount, CreditTransaction, DepositAmount, Deposited } from "../Credits.ts"
import { PageCursor } from "../Ids.ts"
import { PaymentName, PaymentReceipt } from "../Payment.ts"

export class AccountApi extends readingGroup(
  HttpApiGroup.make("account")
    .add(
      HttpApiEndpoint.get("whoami", "/account", {
        success: Schema.Struct({
          success: Schema.Literal(true),
          account: Schema.Struct({ id: Schema.String, name: Schema.String, plan: Plan, createdAt: Schema.Int }),
          agents: Schema.Array(
            Schema.Struct({
              agentId: Schema.String,
              memories: Schema.NullOr(Schema.Int).annotate({
                description: "Live memories; null while the agent's file cannot be read."
              })
            })
          ),
          quotas: Schema.optionalKey(
            Schema.Array(QuotaUse).annotate({
              description: "What the account holds and may hold; not for keys that are bound to agents or subjects."
            })
          )
        }),
        error: [InsufficientStorage, Unavailable]
      }).annotateMerge(
        operation("Who the credentials belong to", { description: "With the live memories of each agent." })
      )
    )
    .add(
      HttpApiEndpoint.get("statement", "/account/statement", {
        query: StatementQuery,
        success: Schema.Struct({ success: Schema.Literal(true), ...Statement.fields }),
        error: [InvalidRequest, Forbidden]
      }).annotateMerge(
        operation("Statement of the account's credits", {
          description:
            "Movements of a period, oldest first, in pages, with what stood in the purses before and after. As CSV with `format=csv` or `Accept: text/csv`; the header `x-next-cursor` then leads to the next page. Not for keys that are bound to agents or subjects."
        })
      )
    )
    .add(
      HttpApiEndpoint.get("costs", "/account/costs", {
        query: AgentCostQuery,
        success: Schema.Struct({ success: Schema.Literal(true), ...AgentCosts.fields }),
        error: [InvalidRequest, Forbidden, InsufficientStorage, Unavailable]
      }).annotateMerge(
        operation("What each agent cost", {
          description:
            "Sums of the charges of a period by agent and operation, the dearest agent first. As CSV with `format=csv` or `Accept: text/csv`. Not for keys that are bound to agents or subjects."
        })
      )
    )
    .add(
      HttpApiEndpoint.get("requests", "/account/requests", {
        query: RequestQuery,
        success: Schema.Struct({ success: Schema.Literal(true), requests: Schema.Array(RequestRecord) }),
        error: [InvalidRequest, Forbidden]
      }).annotateMerge(
        operation("What the account called", {
          description:
            "Newest first: which operation, by which key or wallet, when, how it ended; never what was said. Kept as long as the operator has set, 30 days by default. Not for keys that are bound to agents or subjects."
        })
      )
    )
) {}

const success = Schema.Literal(true)

/** Keys that an account manages itself (contract: Identity); all free. */
export class KeysApi extends writingGroup(
  HttpApiGroup.make("keys").add(
    HttpApiEndpoint.get("listKeys", "/keys", {
      success: Schema.Struct({ success, keys: Schema.Array(KeyRecord) })
    }).annotateMerge(
      operation("List the account's keys", {
        description:
          "Those that are not revoked, oldest first, without secrets. A restricted key sees those within its restriction."
      })
    ),
    HttpApiEndpoint.post("createKey", "/keys", {
      headers: WriteHeaders,
      payload: Schema.Struct({
        label: Schema.optionalKey(Schema.String.check(Schema.isMaxCodePoints(Limits.accountNameLengthMax))),
        ...keyScopeFields,
        expiresIn: Schema.optionalKey(DurationText)
      }).annotate({ examples: [{ label: "reader", readOnly: true, agents: ["assistant"], expiresIn: "30d" }] }),
      success: Schema.Struct({ success, key: KeyRecord, secret: Schema.String }),
      error: [InvalidRequest, Forbidden, Conflict, InsufficientStorage, Unavailable]
    })
      .annotateMerge(
        operation("Create a key", {
          description:
            "The secret is shown once. A restricted key makes keys within its own restriction, its end included; a key that only reads makes none."
        })
      )
      .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error" }),
    HttpApiEndpoint.delete("revokeKey", "/keys/:id", {
      params: {
        id: Schema.String.annotate({ description: "Key identifier.", examples: ["key_01KAJ8Q0V7E5XK9D2M4N6P8R0T"] })
      },
      query: RevocationQuery,
      headers: WriteHeaders,
      success: RevokedKey,
      error: [InvalidRequest, Forbidden, NotFound, Conflict, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Revoke a key", {
        description:
          "At once and for good, with the keys that it made and those that they made, unless `keepMade`. A restricted key revokes those that it sees."
      })
    )
  )
) {}

/**
 * Endpoints of credits (contract: Credits, Payments). A deposit without payment answers 402 with the ways to pay; the
 * retry carries the signed payment.
 */

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
