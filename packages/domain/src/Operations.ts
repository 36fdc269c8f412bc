/**
 * Results of the operator's money routes: the ledger's check, payments, runs of the daily job. Amounts are millionths of
 * a credit unless the name says otherwise.
 */
import { Schema } from "effect"
import { Plan } from "./Account.ts"
import { CalendarDay } from "./GivenTimes.ts"
import { Limits } from "./Limits.ts"
import { AgentId } from "./Ids.ts"
import { PaymentNetwork, PaymentRequirement } from "./Payment.ts"
import { type CallStage, callStages } from "./StageTimes.ts"

export const PaymentState = Schema.Literals(["verified", "broadcasting", "settled", "finalized", "failed", "reversed"])
export type PaymentState = typeof PaymentState.Type

export const LedgerReport = Schema.Struct({
  ok: Schema.Boolean,
  problems: Schema.Array(Schema.String),
  accounts: Schema.Int,
  transfers: Schema.Int,
  balances: Schema.Array(Schema.Struct({ name: Schema.String, debits: Schema.Int, credits: Schema.Int })),
  payments: Schema.Record(Schema.String, Schema.Int)
})

export const PaymentRecord = Schema.Struct({
  id: Schema.String,
  account: Schema.String,
  network: PaymentNetwork,
  payer: Schema.String,
  amountUsd: Schema.Finite,
  state: PaymentState,
  transaction: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String),
  expiresAt: Schema.NullOr(Schema.Int).annotate({
    description: "When the payer's authorisation ends; null: of a network whose transactions have no time."
  }),
  createdAt: Schema.Int,
  updatedAt: Schema.Int
})
export type PaymentRecord = typeof PaymentRecord.Type

/** In logs and counts, of a call whose client left before its answer: neither an error nor a refusal. Never sent. */
export const clientLeft = 499

/** A refund of a payment on its chain; `from` is the wallet that signed it. */
export const RefundRecord = Schema.Struct({
  id: Schema.String,
  payment: Schema.String,
  from: Schema.String,
  amountUsd: Schema.Finite,
  state: PaymentState,
  transaction: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String),
  createdAt: Schema.Int,
  updatedAt: Schema.Int
})
export type RefundRecord = typeof RefundRecord.Type

/** Sum that could be refunded now, or the refund that the payment has. */
export const RefundOffer = Schema.Struct({
  payment: PaymentRecord,
  refund: Schema.NullOr(RefundRecord),
  requirement: Schema.NullOr(PaymentRequirement).annotate({
    description: "To be signed by the wallet that holds the money; null if there is a refund."
  })
})
export type RefundOffer = typeof RefundOffer.Type

/** Work of the daily job, done or due, for one account on one day. */
export const JobAccount = Schema.Struct({
  account: Schema.String,
  plan: Plan,
  live: Schema.Int,
  expired: Schema.Int,
  purged: Schema.Int,
  marked: Schema.Int.annotate({ description: "Found to be purged; removed by a run a day later that finds the same." }),
  insured: Schema.Int,
  chargedMicro: Schema.Int,
  meteredMicro: Schema.Int,
  problem: Schema.optionalKey(Schema.String)
})

/** The clock has stepped by more than a day since the service last saw it; jobs wait until an operator confirms. */
export const ClockStep = Schema.Struct({
  seenAt: Schema.Int.annotate({ description: "Milliseconds: the last time that the service saw." }),
  now: Schema.Int.annotate({ description: "Milliseconds: what the clock says." })
})
export type ClockStep = typeof ClockStep.Type

export const JobReport = Schema.Struct({
  dryRun: Schema.Boolean,
  days: Schema.Array(Schema.Struct({ day: Schema.String, accounts: Schema.Array(JobAccount) }))
})
export type JobReport = typeof JobReport.Type

export const JobRun = Schema.Struct({
  day: Schema.String,
  accounts: Schema.Int,
  expired: Schema.Int,
  purged: Schema.Int,
  insured: Schema.Int,
  chargedMicro: Schema.Int,
  meteredMicro: Schema.Int,
  at: Schema.Int
})
export type JobRun = typeof JobRun.Type

/** Use of the language model by an account on one UTC day; running calls count with their estimate. */
export const ModelUsageDay = Schema.Struct({
  account: Schema.String,
  day: Schema.String.annotate({ description: "YYYY-MM-DD, UTC." }),
  inputTokens: Schema.Int,
  outputTokens: Schema.Int,
  costMicroUsd: Schema.Int
})
export type ModelUsageDay = typeof ModelUsageDay.Type

/** A call's deletion: the filters that were given, and how many memories matched; never what they said. */
export const DeletionRecord = Schema.Struct({
  agentId: Schema.optionalKey(Schema.String),
  subjectId: Schema.optionalKey(Schema.String),
  threadId: Schema.optionalKey(Schema.String),
  kind: Schema.optionalKey(Schema.String),
  memories: Schema.Int,
  dryRun: Schema.optionalKey(Schema.Literal(true).annotate({ description: "They were counted, and are still there." }))
})
export type DeletionRecord = typeof DeletionRecord.Type

const stageMillis = Schema.optionalKey(Schema.Finite)
const stageFields = Object.fromEntries(callStages.map((stage) => [stage, stageMillis])) as Readonly<
  Record<CallStage, typeof stageMillis>
>

/** A call of an account; `at` in milliseconds. */
export const RequestRecord = Schema.Struct({
  id: Schema.Int.annotate({ description: "Counts up." }),
  at: Schema.Int,
  method: Schema.String,
  operation: Schema.String.annotate({ description: "As `memories.create`; `mcp.message` for MCP." }),
  status: Schema.Int,
  millis: Schema.Finite,
  account: Schema.NullOr(Schema.String).annotate({ description: "Name; null: the credentials were refused." }),
  caller: Schema.NullOr(Schema.String).annotate({
    description:
      "Id of the key, address of the wallet, or `operator`, who acted for the account; below `/admin` an added one is `operator:NAME`."
  }),
  agentId: Schema.optionalKey(
    Schema.String.annotate({ description: "The one agent that a priced call read or changed." })
  ),
  code: Schema.optionalKey(
    Schema.String.annotate({
      description: "Of a refusal or a failure, as in its answer.",
      examples: ["quota_exceeded"]
    })
  ),
  deleted: Schema.optionalKey(
    DeletionRecord.annotate({ description: "Of a call that deleted memories, or counted them." })
  ),
  stages: Schema.optionalKey(
    Schema.Struct(stageFields).annotate({
      description: "Milliseconds by stage, of those that took any; what `millis` has beyond them went elsewhere.",
      examples: [{ embedding: 3.1, statistics: 0.2, candidates: 1.5, fusion: 0.3, records: 0.4 }]
    })
  )
})
export type RequestRecord = typeof RequestRecord.Type

/** Name of an operation, of an action, or of whom it concerned. */
export const LogName = Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.identifierLengthMax))

export const RequestQuery = {
  before: Schema.optionalKey(Schema.Int.annotate({ description: "Only calls with a smaller id." })),
  caller: Schema.optionalKey(
    LogName.annotate({
      description: "Id of a key, address of a wallet, `operator` for all operators, or `operator:NAME`."
    })
  ),
  operation: Schema.optionalKey(LogName.annotate({ description: "As `memories.search`, or `memories` for all." })),
  agentId: Schema.optionalKey(AgentId),
  status: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^[1-5](?:\d\d|xx)$/)).annotate({
      description: "A status, or all that begin alike but 499 (the client left).",
      examples: ["404", "5xx"]
    })
  ),
  slowerThan: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 86_400_000 })).annotate({
      description: "Only calls that took at least so many milliseconds."
    })
  ),
  order: Schema.optionalKey(
    Schema.Literals(["newest", "slowest"]).annotate({ description: "What stands first; default `newest`." })
  ),
  after: Schema.optionalKey(Schema.Int.annotate({ description: "Only calls with a greater id." })),
  refused: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "True: only calls with a status from 400 on, but 499 (the client left); false: the others."
    })
  ),
  operator: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "True: only what an operator called in place of an account; false: the others."
    })
  ),
  from: Schema.optionalKey(CalendarDay.annotate({ description: "First day, UTC." })),
  to: Schema.optionalKey(CalendarDay.annotate({ description: "Last day, UTC." })),
  limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })))
}

/** Named fields of the request that an operator made. */
export const AuditDetail = Schema.Record(
  Schema.String,
  Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Array(Schema.String)])
)
export type AuditDetail = typeof AuditDetail.Type

/** A change that an operator made; `at` in milliseconds. */
export const AuditEvent = Schema.Struct({
  id: Schema.Int,
  at: Schema.Int,
  /** The operation's name in the contract, as `keys.create` of the command line is `admin.createKey`. */
  action: Schema.String,
  operator: Schema.NullOr(Schema.String).annotate({
    description: "Name of the operator who did it; null: an account did, or a release did not keep it."
  }),
  /** Account, key, wallet or operator. */
  subject: Schema.NullOr(Schema.String),
  detail: AuditDetail
})
export type AuditEvent = typeof AuditEvent.Type

/** How far back a series goes: the last hour by seconds, the others by minutes. */
export const SeriesWindow = Schema.Literals(["hour", "day", "week", "month"])
export type SeriesWindow = typeof SeriesWindow.Type

/** One step of the series of the service. Calls are those of `/v1` and `/mcp`. */
export const SeriesPoint = Schema.Struct({
  at: Schema.Int.annotate({ description: "Start of the step, milliseconds." }),
  calls: Schema.Int,
  errors: Schema.Int.annotate({ description: "Calls answered with a status from 500 on." }),
  refused: Schema.Int.annotate({ description: "Calls answered 429, and those refused before any work." }),
  p50Millis: Schema.NullOr(Schema.Finite).annotate({
    description: "Half of the calls took at most this long. Of a step of several parts: their mean, by calls."
  }),
  p99Millis: Schema.NullOr(Schema.Finite).annotate({ description: "Of a step of several parts: the highest of them." }),
  processors: Schema.Finite.annotate({ description: "Processors kept busy by the service, such as 0.5." }),
  residentBytes: Schema.Finite,
  memories: Schema.NullOr(Schema.Int).annotate({ description: "Of all accounts; null: not counted since the start." }),
  bytes: Schema.Finite.annotate({ description: "Of all memories, as quotas count them." }),
  charged: Schema.Finite.annotate({
    description: "Credits that calls cost in this step; on the owner's plan what they would have cost."
  }),
  receivedUsd: Schema.Finite.annotate({ description: "USDC received until then, less what was sent back." })
})
export type SeriesPoint = typeof SeriesPoint.Type

/** The service over time, oldest first. Times in milliseconds. */
export const Series = Schema.Struct({
  window: SeriesWindow,
  from: Schema.Int,
  to: Schema.Int,
  stepMillis: Schema.Int,
  points: Schema.Array(SeriesPoint)
})
export type Series = typeof Series.Type
