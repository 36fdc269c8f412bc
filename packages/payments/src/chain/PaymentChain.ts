/**
 * Port of one payment network: read, verify, sign, send and look up a payment. The state machine above it
 * (`settlement/Settlement.ts`) is the same for every network.
 *
 * Invariants: `claim` makes no network call; an error of `broadcast` means unknown, never failed; `look` reads only the
 * chain, so its result does not depend on who sent the payment; a journalled payment is judged by the payee and the
 * asset of its own payload, which were ours when it was claimed, whatever is configured by now.
 */
import { Data, type Effect } from "effect"
import type { PaymentNetwork, PaymentRequirement } from "@muniment/domain/Payment"

/** The payment's own claims, not verified. */
export interface PaymentClaim {
  /** `evm:<chain id>:<asset>:<from>:<nonce>` or `svm:<cluster>:<sha256 of the message bytes>`, lower case. */
  readonly id: string
  readonly network: PaymentNetwork
  /** Address that the money comes from. */
  readonly payer: string
  /** Where it goes: an address (EVM) or a token account (Solana). Ours only once `verify` has said so. */
  readonly payTo: string
  /** The scheme's payload as JSON, journalled so that `claim` can read it after a restart. */
  readonly payload: Readonly<Record<string, unknown>>
}

/** A signed transaction, journalled before it is sent. */
export interface SignedTransaction {
  /** Transaction hash (EVM) or signature (Solana); empty when a facilitator sends. */
  readonly hash: string
  /** The bytes to send: hex (EVM) or Base64 (Solana). */
  readonly raw: string
}

/** State of a payment on the chain. */
export type ChainView =
  /** The transaction that brought the money, from any sender. */
  | { readonly _tag: "Paid"; readonly hash: string; readonly confirmations: number; readonly isFinal: boolean }
  /** It has not arrived (yet). `isReverted`: a transaction of ours was included, failed, and cost us its fee. */
  | { readonly _tag: "Unpaid"; readonly next: UnpaidNext; readonly isReverted?: boolean }
  /**
   * No money came, and by `block` (a height or slot) the payment can no longer be included. One look may be wrong: two
   * by different blocks count (`Doubts` in `settlement/PaymentDriver.ts`).
   */
  | { readonly _tag: "Never"; readonly block: bigint }

/**
 * `wait`: it is under way, or spent elsewhere as far as this look can tell. `resend`: the journalled bytes may still be
 * included. `resign`: they never will be, but the payment is still valid (the operator's nonce was taken).
 */
export type UnpaidNext = "wait" | "resend" | "resign"

export interface VerifyOptions {
  /** Units of the same payer's earlier payments under way, which the balance must cover as well; default 0. */
  readonly committed?: number
  /** True for a payment that the journal has: its payee was ours when it was claimed. */
  readonly isJournalled?: boolean
}

/**
 * The payment violates a rule; no money moved. `reason` is for the payer. `isSpent`: the only broken rule is that the
 * authorisation was used before, by which the money may have reached us.
 */
export class PaymentInvalid extends Data.TaggedError("PaymentInvalid")<{
  readonly reason: string
  readonly isSpent?: boolean
}> {}
/** The network (or the facilitator) is not available. */
export class ChainUnavailable extends Data.TaggedError("ChainUnavailable")<{
  readonly network: PaymentNetwork
  readonly cause: unknown
}> {}

export const isChainUnavailable = (error: unknown): error is ChainUnavailable => error instanceof ChainUnavailable

/** State that a network needs to take payments, as its node says. */
export interface ChainHealth {
  /** Coins of the operator (ETH, SOL); undefined where a facilitator pays the fees. */
  readonly feeBalance: number | undefined
  /** The fee balance is enough for the dearest payment that we would send now. */
  readonly isFunded: boolean
  /** Units of USDC that the configured payee holds. */
  readonly held: number
  /** Height (EVM) or slot (Solana) of the newest block that the node knows. */
  readonly block: number
}

/** One node of a network. */
export interface NodeStatus {
  /** Host of its URL, whose other parts may be a key. */
  readonly name: string
  readonly isReachable: boolean
  /** The newest that it knew when it was asked last; undefined: it never answered. */
  readonly block: number | undefined
  /** Less than the newest of all nodes of the network. */
  readonly blocksBehind: number
  /** Too far: it is asked only where no other answers. */
  readonly isBehind: boolean
  /** Calls that it did not answer since the start. */
  readonly failures: number
}

export interface PaymentChain {
  readonly network: PaymentNetwork
  /** Fails where the node cannot be asked; undefined without a node of ours. */
  readonly health?: Effect.Effect<ChainHealth, ChainUnavailable> | undefined
  /** Undefined without a node of ours. */
  readonly nodes?: (() => ReadonlyArray<NodeStatus>) | undefined
  /** True if transactions have no sequence number, so that many may be signed and sent concurrently; default false. */
  readonly sendsInParallel?: boolean
  /** The network's part of a 402 body; makes no network call. */
  readonly requirement: (quote: {
    readonly units: number
    readonly resource: string
    readonly description: string
  }) => PaymentRequirement
  /** Where money for an address arrives, as claims name it: the address (EVM), its token account (Solana). */
  readonly receiverOf: (address: string) => Effect.Effect<string>
  /** Reads the scheme's payload: shapes and sizes only. */
  readonly claim: (payload: unknown) => Effect.Effect<PaymentClaim, PaymentInvalid>
  /** Every verification rule, for exactly `units` of USDC to us. */
  readonly verify: (
    claim: PaymentClaim,
    units: number,
    options?: VerifyOptions
  ) => Effect.Effect<void, PaymentInvalid | ChainUnavailable>
  /**
   * Signs the transaction; sends nothing. The caller allows one at a time, until `broadcast` has ended.
   * `previous`: the transaction signed for this payment before, to be replaced.
   */
  readonly sign: (
    claim: PaymentClaim,
    previous?: SignedTransaction
  ) => Effect.Effect<SignedTransaction, PaymentInvalid | ChainUnavailable>
  /**
   * Sends; a transaction that is already known counts as sent. Returns the transaction to journal instead of
   * `transaction` if only the sender (a facilitator) knows it.
   */
  readonly broadcast: (
    claim: PaymentClaim,
    transaction: SignedTransaction
  ) => Effect.Effect<SignedTransaction | void, ChainUnavailable>
  /** May be called at any later time, also after a restart; `transaction` is the last one journalled. */
  readonly look: (
    claim: PaymentClaim,
    transaction: SignedTransaction,
    units: number
  ) => Effect.Effect<ChainView, ChainUnavailable>
}
