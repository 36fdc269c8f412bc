/**
 * Identity of the caller (contract: Identity): the account behind the credentials, and how a wallet without one gets
 * it.
 */
import type { Effect } from "effect"
import type { Account } from "./Account.ts"
import type { InsufficientStorage, RateLimited, Unavailable } from "./Errors.ts"
import type { KeyScope } from "./KeyScope.ts"
import type { MicroCredits } from "./Money.ts"

/** Account, key and wallet to which the credentials of a request belong. */
export interface Identity {
  readonly account: Account
  /** The API key that was used, for auditing and grants; undefined for the in-process operator. */
  readonly keyId: string | undefined
  /** What the key may do; undefined: all. */
  readonly scope?: KeyScope | undefined
  /** When the key ends, milliseconds; undefined: without end. */
  readonly keyExpiresAt?: number | undefined
  /** The wallet that signed the request, normalised; undefined with a key. */
  readonly walletAddress?: string | undefined
  /** Whether the session of a browser is still open that stands for the key, or the operator; undefined: none does. */
  readonly isSessionOpen?: Effect.Effect<boolean> | undefined
  /** The operator acts for the account: without charge and rate limits. */
  readonly isOperator?: boolean
  /** Of a wallet without an account: `account` is the one that it would get, and nothing is stored for it. */
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
