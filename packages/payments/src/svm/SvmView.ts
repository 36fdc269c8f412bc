/**
 * State of a payment on the chain, found by our own first signature, which no one else can make.
 *
 * `never` must not be wrong, because the payer is told that no money moved. A payment has expired only if a finalized
 * block is higher than any block that could include it (`SvmLifetimes`), the node then reports its blockhash as invalid,
 * and a node that has reached that block has no status of it. A lagging node fails these checks, and we wait.
 */
import { Effect } from "effect"
import {
  type Address,
  type Blockhash,
  SOLANA_ERROR__JSON_RPC__METHOD_NOT_FOUND,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_TRANSACTION_HISTORY_NOT_AVAILABLE,
  type Signature,
  type TransactionError
} from "@solana/kit"
import type { ChainView, UnpaidNext } from "../chain/PaymentChain.ts"
import type { SvmLifetimes } from "./SvmLifetimes.ts"
import { type SvmRpc, SvmRpcFailure } from "./SvmRpc.ts"
import { decodeSvmPayload, type SvmTransaction } from "./SvmTransaction.ts"

export type SvmConfirmations = "confirmed" | "finalized"

export interface SvmViewed {
  readonly id: string
  readonly transaction: SvmTransaction
  /** Our own, the first. */
  readonly signature: string
  readonly destination: Address
  readonly units: number
}

/** Confirmations of a finalized transaction. */
const finalizedConfirmations = 32
/** Error of a node without history. */
const historyCodes: ReadonlySet<number> = new Set<number>([
  SOLANA_ERROR__JSON_RPC__METHOD_NOT_FOUND,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_TRANSACTION_HISTORY_NOT_AVAILABLE
])

export const lookAtSvm = Effect.fn("SvmView.look")(function* (
  rpc: SvmRpc,
  lifetimes: SvmLifetimes,
  wanted: SvmConfirmations,
  viewed: SvmViewed
) {
  if (viewed.signature === "") return yield* unnamed
  const { status } = yield* statusOf(rpc, viewed.signature)
  if (status === null) return unpaid((yield* hasRunOut(rpc, lifetimes, viewed)) ? "never" : "resend")
  const isFinal = status.confirmationStatus === "finalized"
  if (!isFinal && (wanted === "finalized" || status.confirmationStatus !== "confirmed")) return unpaid("wait")
  if (status.err !== null) return unpaid("never")
  yield* requireMoved(rpc, viewed)
  if (isFinal) lifetimes.forget(viewed.id)
  // A block confirmed by the cluster counts as one confirmation, before any later block.
  const confirmations = isFinal ? finalizedConfirmations : Math.max(1, Number(status.confirmations ?? 1n))
  return { _tag: "Paid", hash: viewed.signature, confirmations, isFinal } satisfies ChainView
})

/** Sent by a facilitator under an unknown signature, so finding nothing proves nothing. */
const unnamed = Effect.fail(
  new SvmRpcFailure({ method: "getSignatureStatuses", reason: "the signature is not known", codes: [] })
)

const unpaid = (next: UnpaidNext): ChainView => ({ _tag: "Unpaid", next })

interface Status {
  readonly confirmationStatus: string | null
  readonly confirmations: bigint | null
  readonly err: TransactionError | null
}

const statusOf = (
  rpc: SvmRpc,
  signature: string
): Effect.Effect<{ status: Status | null; slot: bigint }, SvmRpcFailure> =>
  rpc
    .ask("getSignatureStatuses", (node, options) =>
      node.getSignatureStatuses([signature as Signature], { searchTransactionHistory: true }).send(options)
    )
    .pipe(Effect.map(({ context, value: [status] }) => ({ status: status ?? null, slot: context.slot })))

/** True if the payment, which has no status, can never get one. */
const hasRunOut = Effect.fn("SvmView.hasRunOut")(function* (
  rpc: SvmRpc,
  lifetimes: SvmLifetimes,
  { id, transaction, signature }: SvmViewed
) {
  const lastHeight = lifetimes.lastHeightOf(id)
  if (lastHeight === undefined) {
    yield* rpc.ask("getHealth", (node, options) => node.getHealth().send(options))
    const config = { commitment: "processed" } as const
    const now = yield* rpc.ask("getEpochInfo", (node, options) => node.getEpochInfo(config).send(options))
    lifetimes.seenAt(id, now.blockHeight)
    return false
  }
  const config = { commitment: "finalized" } as const
  const final = yield* rpc.ask("getEpochInfo", (node, options) => node.getEpochInfo(config).send(options))
  if (final.blockHeight <= lastHeight) return false
  const { value: isValid } = yield* rpc.ask("isBlockhashValid", (node, options) =>
    node
      .isBlockhashValid(transaction.blockhash as Blockhash, { ...config, minContextSlot: final.absoluteSlot })
      .send(options)
  )
  if (isValid) return false
  // Asked again: a payment included in between is finalized by now, and this node must have reached that block.
  const { status, slot } = yield* statusOf(rpc, signature)
  return status === null && slot >= final.absoluteSlot
})

/**
 * By the rules a successful transaction must have moved the units; a node that reports otherwise contradicts itself, which
 * proves nothing. A node without history cannot tell.
 */
const requireMoved = Effect.fn("SvmView.requireMoved")(function* (
  rpc: SvmRpc,
  { transaction, signature, destination, units }: SvmViewed
) {
  const config = { commitment: "confirmed", encoding: "base64", maxSupportedTransactionVersion: 0 } as const
  const method = "getTransaction"
  const found = yield* rpc
    .ask(method, (node, options) => node.getTransaction(signature as Signature, config).send(options))
    .pipe(
      Effect.catchIf(
        ({ codes }) => codes.some((code) => historyCodes.has(code)),
        () => Effect.succeed(null)
      )
    )
  if (found === null) return
  const [wire] = found.transaction
  const isOurs = yield* decodeSvmPayload({ transaction: wire }).pipe(
    Effect.map(({ messageHash }) => messageHash === transaction.messageHash),
    Effect.catch(() => Effect.succeed(false))
  )
  if (!isOurs) return yield* new SvmRpcFailure({ method, reason: "the transaction is another one", codes: [] })
  const { preTokenBalances, postTokenBalances } = found.meta ?? {}
  if (!preTokenBalances || !postTokenBalances) return
  const at = transaction.accounts.indexOf(destination)
  const moved = balanceAt(postTokenBalances, at) - balanceAt(preTokenBalances, at)
  if (moved !== BigInt(units)) {
    return yield* new SvmRpcFailure({ method, reason: `the transaction moved ${moved} units, not ${units}`, codes: [] })
  }
})

type TokenBalances = ReadonlyArray<{
  readonly accountIndex: number
  readonly uiTokenAmount: { readonly amount: string }
}>

const balanceAt = (balances: TokenBalances, at: number): bigint =>
  BigInt(balances.find(({ accountIndex }) => accountIndex === at)?.uiTokenAmount.amount ?? 0)
