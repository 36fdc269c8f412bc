/**
 * Port of one payment network: what a signed payment says, whether it is good, how it is sent and what
 * the chain knows of it. The state machine above (`Settlement.ts`) is the same for every network.
 *
 * Invariants: `claim` needs no network; an error of `broadcast` means unknown, never failed; `look`
 * reads the chain and nothing else, so that what it says of a payment does not depend on who sent it.
 */
import { Data, type Effect } from "effect"
import type { PaymentNetwork, PaymentRequirement } from "@muniment/domain/Payment"

/** What a payment says of itself, read without trusting it. */
export interface PaymentClaim {
  /** `evm:<chain id>:<asset>:<from>:<nonce>` or `svm:<cluster>:<sha256 of the message bytes>`, lower case. */
  readonly id: string
  readonly network: PaymentNetwork
  /** Address of whom the money comes from. */
  readonly payer: string
  /** The scheme's payload as JSON, kept so that a restart can read it again by `claim`. */
  readonly payload: Readonly<Record<string, unknown>>
}

/** A signed transaction, journalled before it is sent. */
export interface SignedTransaction {
  /** Transaction hash (EVM) or signature (Solana); empty when a facilitator sends. */
  readonly hash: string
  /** The bytes to send: hex (EVM) or Base64 (Solana). */
  readonly raw: string
}

/** What the chain knows of a payment. */
export type ChainView =
  /** The money is with us, by that transaction, whoever sent it. */
  | { readonly _tag: "Paid"; readonly hash: string; readonly confirmations: number; readonly isFinal: boolean }
  /** Not there (yet): what to do about it. */
  | { readonly _tag: "Unpaid"; readonly next: UnpaidNext }

/**
 * `wait`: it is on its way. `resend`: the journalled bytes may still land. `resign`: they never will, but
 * the payment is still good (the operator's nonce was taken). `never`: the payment itself has run out or
 * was spent elsewhere; no money came and none can come.
 */
export type UnpaidNext = "wait" | "resend" | "resign" | "never"

/** The payment is against a rule; no money moved. `reason` is for the payer. */
export class PaymentInvalid extends Data.TaggedError("PaymentInvalid")<{ readonly reason: string }> {}
/** The network (or the facilitator) cannot be asked now. */
export class ChainUnavailable extends Data.TaggedError("ChainUnavailable")<{
  readonly network: PaymentNetwork
  readonly cause: unknown
}> {}

export interface PaymentChain {
  readonly network: PaymentNetwork
  /** Whether many may be signed and sent side by side, as nothing numbers them; default: one at a time. */
  readonly sendsInParallel?: boolean
  /** The network's part of a 402 body; needs no network. */
  readonly requirement: (quote: {
    readonly units: number
    readonly resource: string
    readonly description: string
  }) => PaymentRequirement
  /** Reads the scheme's payload: shapes and sizes only. */
  readonly claim: (payload: unknown) => Effect.Effect<PaymentClaim, PaymentInvalid>
  /**
   * Every verification rule (payments.md), for exactly `units` of USDC to us. `promised`: units of the same
   * payer that are on their way to us already, which his balance must cover as well (default 0).
   */
  readonly verify: (
    claim: PaymentClaim,
    units: number,
    promised?: number
  ) => Effect.Effect<void, PaymentInvalid | ChainUnavailable>
  /**
   * Signs what will be sent; sends nothing. The caller lets one at a time through, up to `broadcast`.
   * `previous`: what was signed for this payment before and is to be replaced.
   */
  readonly sign: (
    claim: PaymentClaim,
    previous?: SignedTransaction
  ) => Effect.Effect<SignedTransaction, PaymentInvalid | ChainUnavailable>
  /**
   * Sends; a transaction that is known already counts as sent. Returns what is to be journalled in place
   * of `transaction`, where only the sender (a facilitator) could tell.
   */
  readonly broadcast: (
    claim: PaymentClaim,
    transaction: SignedTransaction
  ) => Effect.Effect<SignedTransaction | void, ChainUnavailable>
  /** Asked at any time later, also after a restart; `transaction` is the last one journalled. */
  readonly look: (
    claim: PaymentClaim,
    transaction: SignedTransaction,
    units: number
  ) => Effect.Effect<ChainView, ChainUnavailable>
}
