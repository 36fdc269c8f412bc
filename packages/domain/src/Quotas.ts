/**
 * Limits of what an account may hold at once (contract: Quotas). The defaults bind accounts that wallets opened by
 * themselves; those that the operator made have none.
 */
import { Effect, Schema } from "effect"
import { Plan } from "./Account.ts"
import { type ErrorDetail, PayloadTooLarge, RateLimited } from "./Errors.ts"

/** `bytes` of memories, `schemas` and their `schemaBytes`, `agents`, working `keys`, `openRequests` at the same time. */
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
