/**
 * Accounts own memories, schemas and credits; keys only open the door (interface.md section 2).
 */
import { Schema } from "effect"

/** Plans of interface.md section 10.3. */
export const Plan = Schema.Literals(["free", "starter", "pro", "owner"])
export type Plan = typeof Plan.Type

export interface Account {
  readonly id: string
  readonly name: string
  readonly plan: Plan
  readonly createdAt: number
}

/** Who the credentials of a request belong to. */
export interface Identity {
  readonly account: Account
  /** The API key that was used, for auditing and grants; undefined for the in-process operator. */
  readonly keyId: string | undefined
  /** The wallet that signed the request, normalised; undefined with a key. */
  readonly walletAddress?: string | undefined
}
