/**
 * Identity of the caller (contract: Identity): the account behind the credentials, and how a wallet without one gets
 * it.
 */
import { type Effect, Schema } from "effect"
import type { Account } from "./Account.ts"
import type { InsufficientStorage, RateLimited, Unavailable } from "./Errors.ts"
import type { MicroCredits } from "./Money.ts"
import { AgentId, SubjectId } from "./Ids.ts"
import { Limits } from "./Limits.ts"

/** Account, key and wallet to which the credentials of a request belong. */
export interface Identity {
  readonly account: Account
  /** The API key that was used, for auditing and grants; undefined for the in-process operator. */
  readonly keyId: string | undefined
  /** Restrictions of the key; undefined: none. */
  readonly scope?: KeyScope | undefined
  /** When the key ends, milliseconds; undefined: without end. */
  readonly keyExpiresAt?: number | undefined
  /** The wallet that signed the request, normalised; undefined with a key. */
  readonly walletAddress?: string | undefined
  /** Whether the session of a browser is still open that stands for the key, and the operator not revoked; undefined: neither acts. */
  readonly isSessionOpen?: Effect.Effect<boolean> | undefined
  /** The operator acts for the account: without charge and rate limits. */
  readonly isOperator?: boolean
  /** A wallet without an account: `account` is the one that it would get, and nothing is stored for it. */
  readonly newcomer?: Newcomer
}

/** How a wallet without an account gets one (contract: Wallet signatures). */
export interface Newcomer {
  /**
   * What the account may spend in its first month for nothing, undefined without bound; with less than a price, a payment
   * comes first.
   */
  readonly allowance: MicroCredits | undefined
  /** Makes the account, once, as the last step before a call acts; after a payment without bound. */
  readonly open: (how: "free" | "paid") => Effect.Effect<void, RateLimited | InsufficientStorage | Unavailable>
}

const listOf = <S extends Schema.Top>(id: S) =>
  Schema.optionalKey(Schema.NonEmptyArray(id).check(Schema.isMaxLength(Limits.keyBindingsMax)))

export const keyScopeFields = {
  readOnly: Schema.optionalKey(Schema.Boolean),
  /** Sees and changes memories of these agents only. */
  agents: listOf(AgentId),
  /** The same of these subjects; memories without a subject are outside. */
  subjects: listOf(SubjectId)
}

/** Scope of a key: what it may do within its account (contract: Identity). A key without a scope may do all. */
export const KeyScope = Schema.Struct(keyScopeFields)
export type KeyScope = typeof KeyScope.Type
