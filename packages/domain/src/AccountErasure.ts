/** Proof that an account was erased wholly (contract: Operator routes). Times in milliseconds, credits in whole ones. */
import { Schema } from "effect"

/** What an account has that an erasure removes. */
export const ErasedCounts = Schema.Struct({
  agents: Schema.Int,
  /** Live ones; those of files that cannot be read are not counted, their files are removed too. */
  memories: Schema.Int,
  keys: Schema.Int,
  wallets: Schema.Int,
  schemas: Schema.Int,
  /** Kept for `Idempotency-Key`. */
  answers: Schema.Int
})
export type ErasedCounts = typeof ErasedCounts.Type

export const AccountErasureReport = Schema.Struct({
  /** Id of the account. */
  account: Schema.String,
  dryRun: Schema.Boolean,
  startedAt: Schema.Int,
  /** Null in a dry run. */
  finishedAt: Schema.NullOr(Schema.Int),
  removed: ErasedCounts,
  files: Schema.Struct({
    /** Names of the agents' files, below `namespaces/`. */
    removed: Schema.Array(Schema.String),
    /** Looked for after the removal: empty is the proof. */
    left: Schema.Array(Schema.String)
  }),
  ledger: Schema.Struct({
    /** What was booked out, or would be, by ledger account. */
    closed: Schema.Array(Schema.Struct({ name: Schema.String, credits: Schema.Finite })),
    /** Of all ledger accounts of this account, after the booking. */
    total: Schema.Finite
  })
})
export type AccountErasureReport = typeof AccountErasureReport.Type
