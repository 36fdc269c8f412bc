/**
 * State of a payment on the chain, found by our own first signature, which no one else can make; where a facilitator
 * signs and does not tell, among the transactions of the payer's token account.
 *
 * `Never` must not be wrong, because the payer is told that no money moved. A payment has expired only if a finalized
 * block is higher than any block that could include it (`SvmLifetimes`), the node then reports its blockhash as invalid,
 * and a node that has reached that block still has no success of it. A lagging node fails these checks, and we wait.
 * A transaction counts as paid only once it was read: a status alone is a node's word.
 */
import { Data, Effect } from "effect"
import {
  type Blockhash,
  createSolanaRpc,
  isSolanaError,
  type Rpc,
  type Signature,
  SOLANA_ERROR__RPC__TRANSPORT_HTTP_ERROR,
  type SolanaRpcApi,
  type TransactionError
} from "@solana/kit"
import { LRUCache } from "lru-cache"
import { Limits } from "@muniment/domain/Limits"
import { type PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"
import type { ChainView, UnpaidNext } from "../chain/PaymentChain.ts"
import { decodeSvmPayload, type SvmTransaction } from "./SvmTransaction.ts"

export type SvmConfirmations = "confirmed" | "finalized"

interface SvmViewed {
  readonly id: string
  /** Names what is to be moved to which token account. */
  readonly transaction: SvmTransaction
  /** The fee payer's, the first; empty if a facilitator has not told it. */
  readonly signature: string
  readonly units: number
}

/** Confirmations of a finalized transaction. */
const finalizedConfirmations = 32
/** Newest transactions of the payer among which an unnamed one is searched. */
const searchedMax = 100

export const lookAtSvm = Effect.fn("SvmView.look")(function* (
  rpc: SvmRpc,
  lifetimes: SvmLifetimes,
  wanted: SvmConfirmations,
  viewed: SvmViewed
) {
  const signature = viewed.signature === "" ? yield* findSignature(rpc, viewed) : viewed.signature
  const status = signature === undefined ? null : (yield* statusOf(rpc, signature)).status
  if (signature === undefined || status === null) return (yield* endOf(rpc, lifetimes, viewed)) ?? unpaid("resend")
  const isFinal = status.confirmationStatus === "finalized"
  if (!isFinal && (wanted === "finalized" || status.confirmationStatus !== "confirmed")) return unpaid("wait")
  if (status.err !== null) return (yield* endOf(rpc, lifetimes, viewed)) ?? { ...unpaid("wait"), isReverted: true }
  yield* requireMoved(rpc, { ...viewed, signature })
  if (isFinal) lifetimes.forget(viewed.id)
  // A block confirmed by the cluster counts as one confirmation, before any later block.
  const confirmations = isFinal ? finalizedConfirmations : Math.max(1, Number(status.confirmations ?? 1n))
  return { _tag: "Paid", hash: signature, confirmations, isFinal } satisfies ChainView
})

const unpaid = (next: UnpaidNext): Extract<ChainView, { readonly _tag: "Unpaid" }> => ({ _tag: "Unpaid", next })

/** The signature of the payment's message, whoever signed first; undefined if the payer's account has none. */
const findSignature = Effect.fn("SvmView.findSignature")(function* (rpc: SvmRpc, { transaction }: SvmViewed) {
  const config = { commitment: "confirmed", limit: searchedMax } as const
  const method = "getSignaturesForAddress"
  const all = yield* rpc.ask(method, (node, options) =>
    node.getSignaturesForAddress(transaction.transfer.source, config).send(options)
  )
  for (const { signature } of all) {
    const found = yield* readTransaction(rpc, signature)
    if (found !== null && (yield* isMessage(found, transaction))) return signature
  }
  if (all.length < searchedMax) return undefined
  return yield* new SvmRpcFailure({ method, reason: "the payer has too many transactions to search", codes: [] })
})

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

/**
 * `Never` if the payment, which has no success, can never get one; undefined while it may. A failed transaction cannot
 * be included again either, but a status alone is believed only once the blockhash has run out.
 */
const endOf = Effect.fn("SvmView.endOf")(function* (
  rpc: SvmRpc,
  lifetimes: SvmLifetimes,
  viewed: SvmViewed
): Effect.fn.Return<ChainView | undefined, SvmRpcFailure> {
  const { id, transaction } = viewed
  const lastHeight = lifetimes.lastHeightOf(id)
  if (lastHeight === undefined) {
    yield* rpc.ask("getHealth", (node, options) => node.getHealth().send(options))
    const config = { commitment: "processed" } as const
    const now = yield* rpc.ask("getEpochInfo", (node, options) => node.getEpochInfo(config).send(options))
    lifetimes.seenAt(id, now.blockHeight)
    return undefined
  }
  const config = { commitment: "finalized" } as const
  const final = yield* rpc.ask("getEpochInfo", (node, options) => node.getEpochInfo(config).send(options))
  if (final.blockHeight <= lastHeight) return undefined
  const { value: isValid } = yield* rpc.ask("isBlockhashValid", (node, options) =>
    node
      .isBlockhashValid(transaction.blockhash as Blockhash, { ...config, minContextSlot: final.absoluteSlot })
      .send(options)
  )
  if (isValid) return undefined
  // Asked again: a payment included in between is finalized by now, and this node must have reached that block.
  const signature = viewed.signature === "" ? yield* findSignature(rpc, viewed) : viewed.signature
  if (signature === undefined) return { _tag: "Never", block: final.absoluteSlot }
  const { status, slot } = yield* statusOf(rpc, signature)
  const isSuccess = status !== null && status.err === null
  return !isSuccess && slot >= final.absoluteSlot ? { _tag: "Never", block: final.absoluteSlot } : undefined
})

const transactionConfig = { commitment: "confirmed", encoding: "base64", maxSupportedTransactionVersion: 0 } as const
const transactionMethod = "getTransaction"

const readTransaction = (rpc: SvmRpc, signature: string) =>
  rpc.ask(transactionMethod, (node, options) =>
    node.getTransaction(signature as Signature, transactionConfig).send(options)
  )

const isMessage = (
  { transaction: [wire] }: { readonly transaction: readonly [string, string] },
  ours: SvmTransaction
) =>
  decodeSvmPayload({ transaction: wire }).pipe(
    Effect.map(({ messageHash }) => messageHash === ours.messageHash),
    Effect.catch(() => Effect.succeed(false))
  )

/** The transaction moved the units; a node that cannot show it, or shows another, proves nothing. */
const requireMoved = Effect.fn("SvmView.requireMoved")(function* (
  rpc: SvmRpc,
  { transaction, signature, units }: SvmViewed
) {
  const unproven = (reason: string) => new SvmRpcFailure({ method: transactionMethod, reason, codes: [] })
  const found = yield* readTransaction(rpc, signature)
  if (found === null) return yield* unproven("the node does not have the transaction that it reports")
  if (!(yield* isMessage(found, transaction))) return yield* unproven("the transaction is another one")
  const { err, preTokenBalances, postTokenBalances } = found.meta ?? {}
  if (err !== null || !preTokenBalances || !postTokenBalances) {
    return yield* unproven("the node does not show what the transaction moved")
  }
  const at = transaction.accounts.indexOf(transaction.transfer.destination)
  const moved = balanceAt(postTokenBalances, at) - balanceAt(preTokenBalances, at)
  if (moved !== BigInt(units)) return yield* unproven(`the transaction moved ${moved} units, not ${units}`)
})

type TokenBalances = ReadonlyArray<{
  readonly accountIndex: number
  readonly uiTokenAmount: { readonly amount: string }
}>

const balanceAt = (balances: TokenBalances, at: number): bigint =>
  BigInt(balances.find(({ accountIndex }) => accountIndex === at)?.uiTokenAmount.amount ?? 0)

const blockhashBlocksMax = 150n
const forkBlocksMax = 32n
const lagBlocksMax = 150n
const lifetimesMax = 4_096

/**
 * Last block height at which a payment may be included. A blockhash is valid for 150 blocks (the runtime's
 * MAX_PROCESSING_AGE), but no RPC call returns a blockhash's height, and `isBlockhashValid` is false both before the node
 * has seen it and after it has expired. So the bound is kept from the first observation: a node called it valid at some
 * height: 150 blocks after that, plus a margin for forks; or, after a restart, first asked about at some height of a
 * healthy node (at most 128 slots behind its cluster): 150 blocks more, because the payer may have read a blockhash that
 * this node had not seen. In memory only: losing a bound costs time until a payment counts as failed, never money.
 */
export class SvmLifetimes {
  readonly #lastHeights = new LRUCache<string, bigint>({ max: lifetimesMax })

  /** Last block height at which the payment may be included; undefined if unknown. */
  lastHeightOf(paymentId: string): bigint | undefined {
    return this.#lastHeights.get(paymentId)
  }

  /** A node reported the payment's blockhash as valid at height `height` or less. */
  seenValid(paymentId: string, height: bigint): void {
    this.#keep(paymentId, height + blockhashBlocksMax + forkBlocksMax)
  }

  /** The payment exists while a healthy node is at `height`. */
  seenAt(paymentId: string, height: bigint): void {
    this.#keep(paymentId, height + lagBlocksMax + blockhashBlocksMax)
  }

  forget(paymentId: string): void {
    this.#lastHeights.delete(paymentId)
  }

  /** The lower bound wins: both hold. */
  #keep(paymentId: string, lastHeight: bigint): void {
    const known = this.#lastHeights.get(paymentId)
    this.#lastHeights.set(paymentId, known !== undefined && known < lastHeight ? known : lastHeight)
  }
}

/**
 * Calls of a Solana RPC node, bounded in time. An error is the network's, never the payment's. The first call verifies
 * the cluster by its genesis hash, so that a wrong URL neither refuses valid payments nor accepts worthless ones.
 *
 * Failures are described by codes only: texts of libraries and nodes may contain the URL with its key.
 */
export class SvmRpcFailure extends Data.TaggedError("SvmRpcFailure")<{
  readonly method: string
  readonly reason: string
  /** Codes of the nested Solana errors, outermost first. */
  readonly codes: ReadonlyArray<number>
}> {}

export interface SvmRpc {
  readonly ask: <A>(
    method: string,
    call: (rpc: Rpc<SolanaRpcApi>, options: { readonly abortSignal: AbortSignal }) => Promise<A>
  ) => Effect.Effect<A, SvmRpcFailure>
}

export const svmRpc = (network: PaymentNetwork, url: string): SvmRpc => {
  const rpc = createSolanaRpc(url)
  let isOurCluster = false
  const askUnproven: SvmRpc["ask"] = (method, call) =>
    Effect.tryPromise({
      try: (abortSignal) => call(rpc, { abortSignal }),
      catch: (cause) => new SvmRpcFailure({ method, reason: reasonOf(cause), codes: codesOf(cause) })
    }).pipe(
      Effect.timeoutOrElse({
        duration: Limits.chainCallTimeoutMillis,
        orElse: () => Effect.fail(new SvmRpcFailure({ method, reason: "timed out", codes: [] }))
      })
    )
  const proveCluster = Effect.gen(function* () {
    if (isOurCluster) return
    const method = "getGenesisHash"
    const genesis = yield* askUnproven(method, (node, options) => node.getGenesisHash().send(options))
    // A CAIP-2 reference is the genesis hash, truncated.
    if (`solana:${genesis}`.startsWith(paymentNetworks[network].caip2)) isOurCluster = true
    else return yield* new SvmRpcFailure({ method, reason: `the node does not serve ${network}`, codes: [] })
  })
  return { ask: (method, call) => Effect.andThen(proveCluster, askUnproven(method, call)) }
}

/** Errors of libraries are nested two deep at most; the bound stops circular causes. */
const causesMax = 4

const chainOf = (cause: unknown): ReadonlyArray<object> => {
  const chain: Array<object> = []
  for (let one = cause; typeof one === "object" && one !== null && chain.length < causesMax;) {
    chain.push(one)
    one = "cause" in one ? one.cause : undefined
  }
  return chain
}

const codesOf = (cause: unknown): ReadonlyArray<number> =>
  chainOf(cause).flatMap((one) => (isSolanaError(one) ? [one.context.__code] : []))

const reasonOf = (cause: unknown): string => {
  if (isSolanaError(cause, SOLANA_ERROR__RPC__TRANSPORT_HTTP_ERROR)) return `HTTP ${cause.context.statusCode}`
  const [code] = codesOf(cause)
  if (code !== undefined) return `error ${code}`
  const system = chainOf(cause).find((one) => "code" in one && typeof one.code === "string" && isCode(one.code))
  return system !== undefined && "code" in system ? String(system.code) : "unreadable answer"
}

/** `ECONNREFUSED`, `UND_ERR_SOCKET`. */
const isCode = (text: string): boolean => /^[A-Z][A-Z0-9_]{2,40}$/.test(text)
