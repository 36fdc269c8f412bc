/**
 * Prices, and terms of the plans (contract: Plans and the daily job, Rate limits). Memories above the included number are metered,
 * never blocked; `undefined` means without bound.
 */
import type { Plan } from "./Account.ts"
import type { Identity } from "./Identity.ts"
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
