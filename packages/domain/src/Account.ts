/** Accounts (contract: Identity) own memories, schemas and credits; keys and wallets only authenticate. */
import { Schema } from "effect"
import type { Remember } from "./Memory.ts"

/** Contract: Plans and the daily job. */
export const Plan = Schema.Literals(["free", "starter", "pro", "owner"])
export type Plan = typeof Plan.Type

export interface Account {
  readonly id: string
  readonly name: string
  readonly plan: Plan
  readonly createdAt: number
  /** Whether conversations leave messages behind; undefined: as the installation says. */
  readonly remember?: Remember
  /** Instructions for a model that reads its conversations. */
  readonly instructions?: string
  /** Milliseconds; its keys and wallets are refused since then. */
  readonly suspendedAt?: number
}

/** Counts of all that an erasure removes. */
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

/** Proof that an account was erased wholly (contract: Operator routes). Times in milliseconds, credits in whole ones. */
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
    /** Credits that were booked out, or would be, by ledger account. */
    closed: Schema.Array(Schema.Struct({ name: Schema.String, credits: Schema.Finite })),
    /** Credits of all its ledger accounts after the booking. */
    total: Schema.Finite
  })
})
export type AccountErasureReport = typeof AccountErasureReport.Type
