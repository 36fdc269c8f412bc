/**
 * Accounts (contract: Identity) own memories, schemas and credits; keys and wallets only authenticate.
 */
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
  /** What conversations leave behind; undefined: as the installation says. */
  readonly remember?: Remember
  /** What to remember of its conversations and what to leave out, in words for a model. */
  readonly instructions?: string
  /** Milliseconds; its keys and wallets are refused since then. */
  readonly suspendedAt?: number
}
