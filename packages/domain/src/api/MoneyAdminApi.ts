/**
 * Operator routes for money: the ledger's proof, payments, corrections, plans, the daily job. Same credentials as the
 * other operator routes.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Plan } from "../Account.ts"
import { CalendarDay } from "../GivenTimes.ts"
import { AdjustmentCredits } from "../Credits.ts"
import { Conflict, InsufficientStorage, InvalidRequest, NotFound, Unavailable } from "../Errors.ts"
import { Limits } from "../Limits.ts"
import {
  ClockStep,
  JobReport,
  JobRun,
  LedgerReport,
  ModelUsageDay,
  PaymentRecord,
  PaymentState,
  RefundOffer,
  RefundRecord
} from "../Operations.ts"
import { PaymentName, PaymentReceipt } from "../Payment.ts"
import { AgentCostQuery, AgentCosts, Revenue, RevenueQuery, Statement, StatementQuery } from "../Statement.ts"
import { AccountName, AccountRecord } from "./AdminApi.ts"
import { BodyLimit, operation, operatorGroup } from "./Middleware.ts"
import { WebhookRecord, WebhookState, WebhookTrial } from "../Events.ts"

const success = Schema.Literal(true)

export class MoneyAdminApi extends operatorGroup(
  HttpApiGroup.make("money").add(
    HttpApiEndpoint.get("checkLedger", "/ledger/check", {
      success: Schema.Struct({ success, ...LedgerReport.fields }),
      error: [InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Prove the ledger", {
        description: "Sum zero, no negative purse, each payment credited once; recomputed from the transfers."
      })
    ),
    HttpApiEndpoint.post("adjust", "/ledger/adjustments", {
      payload: Schema.Struct({
        account: AccountName,
        credits: AdjustmentCredits,
        reason: Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.schemaDescriptionLengthMax)),
        key: Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.identifierLengthMax)).annotate({
          description: "Names the correction: the same key is carried out once."
        })
      }).annotate({
        examples: [{ account: "research", credits: 500, reason: "refund of 2026-11-20", key: "refund-17" }]
      }),
      success: Schema.Struct({ success, balance: Schema.Finite, replayed: Schema.Boolean }),
      error: [InvalidRequest, NotFound, Conflict, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Give or take credits by hand", { description: "Never below zero; recorded with its reason." })
    ),
    HttpApiEndpoint.get("listPayments", "/payments", {
      query: {
        state: Schema.optionalKey(PaymentState),
        account: Schema.optionalKey(AccountName),
        limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })))
      },
      success: Schema.Struct({ success, payments: Schema.Array(PaymentRecord) }),
      error: NotFound
    }).annotateMerge(operation("Payments and their states", { description: "Newest first." })),
    HttpApiEndpoint.get("receipt", "/payments/receipt", {
      query: { payment: PaymentName },
      success: Schema.Struct({ success, ...PaymentReceipt.fields }),
      error: NotFound
    }).annotateMerge(
      operation("Receipt of any payment", { description: "By id or transaction; as its account gets it." })
    ),
    HttpApiEndpoint.post("reconcile", "/payments/reconcile", {
      success: Schema.Struct({ success, looked: Schema.Int }),
      error: [InsufficientStorage, Unavailable]
    }).annotateMerge(operation("Ask the chains about unfinished payments now", {})),
    HttpApiEndpoint.get("refundOffer", "/refunds", {
      query: { payment: PaymentName },
      success: Schema.Struct({ success, ...RefundOffer.fields }),
      error: [NotFound, Conflict]
    }).annotateMerge(
      operation("What of a payment can be refunded", {
        description: "Only what is final on its chain and not spent. Changes nothing."
      })
    ),
    HttpApiEndpoint.post("refund", "/refunds", {
      payload: Schema.Struct({
        payment: PaymentName,
        authorization: Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.paymentHeaderBytesMax)).annotate({
          description: "The offer, signed as an x402 payment, version 2: Base64 JSON."
        })
      }).annotate({
        examples: [{ payment: "evm:8453:0x8335:0x1950:0x01", authorization: "eyJ4NDAyVmVyc2lvbiI6Mn0=" }]
      }),
      success: Schema.Struct({ success, refund: RefundRecord }),
      error: [InvalidRequest, NotFound, Conflict, Unavailable, InsufficientStorage]
    }).annotateMerge(
      operation("Refund a payment on its chain", {
        description:
          "Takes the credits, journals what was signed, sends it. A repeat, also after a kill, goes on with the first one."
      })
    ),
    HttpApiEndpoint.get("statement", "/statement", {
      query: { account: AccountName, ...StatementQuery },
      success: Schema.Struct({ success, ...Statement.fields }),
      error: [InvalidRequest, NotFound]
    }).annotateMerge(
      operation("Statement of any account's credits", { description: "As the account itself gets it." })
    ),
    HttpApiEndpoint.get("revenue", "/revenue", {
      query: RevenueQuery,
      success: Schema.Struct({ success, ...Revenue.fields }),
      error: [InvalidRequest, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Revenue by period", {
        description:
          "By day, week or month: USDC by network, and what was charged by operation and purse. As CSV with `format=csv` or `Accept: text/csv`."
      })
    ),
    HttpApiEndpoint.get("costs", "/costs", {
      query: { account: Schema.optionalKey(AccountName), ...AgentCostQuery },
      success: Schema.Struct({ success, ...AgentCosts.fields }),
      error: [InvalidRequest, NotFound, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("What each agent cost", {
        description: "Of one account or of all: sums of the charges of a period, the dearest agent first."
      })
    ),
    HttpApiEndpoint.post("setPlan", "/accounts/plan", {
      payload: Schema.Struct({ account: AccountName, plan: Plan }).annotate({
        examples: [{ account: "research", plan: "starter" }]
      }),
      success: Schema.Struct({ success, account: AccountRecord }),
      error: [NotFound, InsufficientStorage, Unavailable]
    }).annotateMerge(operation("Change an account's plan", { description: "Acts on the next request." })),
    HttpApiEndpoint.get("listJobs", "/jobs", {
      success: Schema.Struct({
        success,
        nextRunAt: Schema.Int,
        clockStep: Schema.NullOr(ClockStep),
        runs: Schema.Array(JobRun)
      })
    }).annotateMerge(operation("Runs of the daily job", { description: "Newest first." })),
    HttpApiEndpoint.post("runJobs", "/jobs/run", {
      payload: Schema.Struct({
        dryRun: Schema.optionalKey(Schema.Boolean),
        acceptClock: Schema.optionalKey(
          Schema.Boolean.annotate({ description: "The clock is right although it has stepped by more than a day." })
        )
      }).annotate({ examples: [{ dryRun: true }] }),
      success: Schema.Struct({ success, ...JobReport.fields }),
      error: [Conflict, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Run the daily job for the days that are due", {
        description:
          "Repeating changes nothing. A dry run shows what would be done (of the next run if none is due). 409 `clock_step` while the clock is not believed."
      })
    ),
    HttpApiEndpoint.get("modelUsage", "/models/usage", {
      query: {
        account: Schema.optionalKey(AccountName),
        from: Schema.optionalKey(CalendarDay.annotate({ description: "First day, UTC; default 30 days ago." })),
        to: Schema.optionalKey(CalendarDay.annotate({ description: "Last day, UTC; default today." }))
      },
      success: Schema.Struct({ success, usage: Schema.Array(ModelUsageDay) }),
      error: NotFound
    }).annotateMerge(
      operation("What the language model was used for", { description: "By day, newest first, and by account." })
    )
  )
).middleware(BodyLimit) {}

/** Operator routes of the webhook (contract: Webhooks). Same credentials as the other operator routes. */
export class WebhookAdminApi extends operatorGroup(
  HttpApiGroup.make("webhooks").add(
    HttpApiEndpoint.get("listWebhooks", "/webhooks", {
      query: {
        state: Schema.optionalKey(WebhookState),
        limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })))
      },
      success: Schema.Struct({ success, webhooks: Schema.Array(WebhookRecord) })
    }).annotateMerge(operation("Messages for the webhook and their states", { description: "Newest first." })),
    HttpApiEndpoint.post("resendWebhooks", "/webhooks/resend", {
      payload: Schema.Struct({
        webhook: Schema.optionalKey(
          Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.identifierLengthMax)).annotate({
            description: "Id of a message in any state; without it all that were given up."
          })
        )
      }).annotate({ examples: [{ webhook: "msg_5a0f2c41e9b3d7765a0f2c41e9b3d776" }] }),
      success: Schema.Struct({ success, resent: Schema.Int }),
      error: [NotFound, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Send messages again", { description: "With the same id, so that receivers know them." })
    ),
    HttpApiEndpoint.post("testWebhook", "/webhooks/test", {
      success: Schema.Struct({ success, ...WebhookTrial.fields }),
      error: Conflict
    }).annotateMerge(operation("Send a message of type `test` now", { description: "Once; it is not kept." }))
  )
).middleware(BodyLimit) {}
