/**
 * Prices, and terms of the plans (contract: Plans and the daily job, Rate limits). Memories above the included number are metered,
 * never blocked; `undefined` means without bound.
 */
import { Effect, Schema } from "effect"
import { Plan } from "./Account.ts"
import type { Identity } from "./Identity.ts"
import { type ErrorDetail, PayloadTooLarge, RateLimited } from "./Errors.ts"
import { credits, type MicroCredits } from "./Money.ts"

/** So many messages of conversations count as one memory, rounded up by account. */
export const messagesPerMemory = 4

export interface PlanTerms {
  readonly memoriesIncluded: number | undefined
  /** Days after which the daily job removes a memory that is not insured. */
  readonly retentionDays: number | undefined
  /** Prices are recorded, purses are never touched. */
  readonly isUnlimited: boolean
}

export const plans: Readonly<Record<Plan, PlanTerms>> = {
  free: { memoriesIncluded: 0, retentionDays: 7, isUnlimited: false },
  starter: { memoriesIncluded: 50_000, retentionDays: undefined, isUnlimited: false },
  pro: { memoriesIncluded: 500_000, retentionDays: undefined, isUnlimited: false },
  owner: { memoriesIncluded: undefined, retentionDays: undefined, isUnlimited: true }
}

/** Shares of plans while more is asked than the service can do; callers that are not known yet have the least. */
export const turnWeights: Readonly<Record<Plan, number>> = { free: 1, starter: 2, pro: 4, owner: 8 }

/** Requests that a caller may send in a minute, an hour and a day. */
export interface RateLimit {
  readonly minute: number
  readonly hour: number
  readonly day: number
}

const walletWithoutPlan: RateLimit = { minute: 10, hour: 300, day: 5_000 }

const rateLimits: Readonly<Record<Plan, RateLimit | undefined>> = {
  free: { minute: 60, hour: 1_000, day: 10_000 },
  starter: { minute: 100, hour: 3_000, day: 50_000 },
  pro: { minute: 500, hour: 15_000, day: 250_000 },
  owner: undefined
}

/** Limits of a caller; undefined: none. A wallet's signature on the free plan has limits of its own. */
export const rateLimitOf = ({ account, isOperator, keyId }: Identity): RateLimit | undefined => {
  if (isOperator === true) return undefined
  return account.plan === "free" && keyId === undefined ? walletWithoutPlan : rateLimits[account.plan]
}

/**
 * Price of each operation (contract: Credits). A batch costs twice the single operation, regardless of its size.
 */
export const Prices = {
  createMemories: credits(5),
  searchMemories: credits(2),
  context: credits(2),
  chat: credits(2),
  subjects: credits(1),
  profile: credits(1),
  getMemory: credits(1),
  history: credits(1),
  restore: credits(5),
  feedback: credits(1),
  listMemories: credits(1),
  facets: credits(1),
  lookup: credits(1),
  extract: credits(2),
  updateMemory: credits(2),
  deleteMemory: credits(1),
  batchSearch: credits(4),
  batchDelete: credits(2),
  batchUpdate: credits(4),
  batchCreate: credits(10),
  attest: credits(3)
} as const satisfies Record<string, MicroCredits>

/**
 * Limits of what an account may hold at once (contract: Quotas). The defaults bind accounts that wallets opened by
 * themselves; those that the operator made have none.
 *
 * `bytes` of memories, `schemas` and their `schemaBytes`, `agents`, working `keys`, `openRequests` at the same time.
 */
export const QuotaName = Schema.Literals(["bytes", "schemas", "schemaBytes", "agents", "keys", "openRequests"])
export type QuotaName = typeof QuotaName.Type

/** A name that is absent has no limit. */
export type QuotaLimits = Readonly<Partial<Record<QuotaName, number>>>

/** A plan, or `wallet`: accounts on the plan `free` that wallets opened. */
export const QuotaTier = Schema.Literals(["wallet", ...Plan.literals])
export type QuotaTier = typeof QuotaTier.Type

export const quotaDefaults: Readonly<Record<QuotaTier, QuotaLimits>> = {
  wallet: { bytes: 104_857_600, schemas: 50, schemaBytes: 1_048_576, agents: 1_000, keys: 20, openRequests: 32 },
  free: {},
  starter: {},
  pro: {},
  owner: {}
}

/** One quota of an account as it is shown; null: no limit. */
export const QuotaUse = Schema.Struct({ name: QuotaName, used: Schema.Int, limit: Schema.NullOr(Schema.Int) })
export type QuotaUse = typeof QuotaUse.Type

/** Refuses what would leave more than the limit in use. */
export const requireQuota = (
  name: QuotaName,
  limits: QuotaLimits,
  used: number,
  more: number
): Effect.Effect<void, PayloadTooLarge> => {
  const limit = limits[name]
  if (limit === undefined || more <= 0 || used + more <= limit) return Effect.void
  return Effect.fail(
    new PayloadTooLarge({
      code: "quota_exceeded",
      error: `the quota "${name}" of this account is ${limit}: ${used} are used, and this needs ${more} more`,
      quota: { name, used, limit }
    })
  )
}

/** One more request than may be open. */
export const tooManyOpen = (used: number, limit: number, details: ReadonlyArray<ErrorDetail>): RateLimited =>
  new RateLimited({
    code: "quota_exceeded",
    error: `the quota "openRequests" of this account is ${limit}: as many are open; wait for an answer`,
    quota: { name: "openRequests", used, limit },
    details
  })
