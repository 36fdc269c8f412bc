/**
 * What the chain knows of a payment, whoever sent it. An authorisation is public once it is sent, so
 * that somebody else may hand it in first: the money reaches us all the same.
 *
 * Invariants: one block, the head, answers both "is it spent" and "is it too late", lest a payment that
 * landed between two questions be given up. A nonce pays for the Transfer log that directly follows its
 * own AuthorizationUsed log (the token writes them in that order, with no call between): another
 * transfer in the same transaction is another payment's.
 */
import { Effect } from "effect"
import { encodeEventTopics, isAddressEqual, isHex, type Log, numberToHex, pad, parseEventLogs } from "viem"
import { TransactionNotFoundError, TransactionReceiptNotFoundError } from "viem"
import type { Address, Block, Hash, TransactionReceipt } from "viem"
import type { ChainView, SignedTransaction, UnpaidNext } from "../PaymentChain.ts"
import type { EvmAuthorization } from "./EvmAuthorization.ts"
import { type EvmRpc, rpcError } from "./EvmRpc.ts"
import { previousOf } from "./EvmSettle.ts"
import { lifetimeSecondsMax } from "./EvmVerify.ts"
import { usdcEvents } from "./UsdcAbi.ts"

/** What is looked for: this many units, to us. */
export interface EvmTerms {
  readonly payTo: Address
  readonly units: number
  /** How deep a block must lie before what it holds ends a payment. */
  readonly confirmations: number
}

/** Where a node does not say what is final. */
const finalConfirmations = 64
/** Many nodes refuse to search more at once. */
const logWindowBlocks = 1_000n
/** A day of Base's blocks is 44 windows. */
const logWindowsMax = 128

type Head = Pick<Block<bigint, false, "latest">, "number" | "timestamp" | "baseFeePerGas">

export const look = Effect.fn("EvmView.look")(function* (
  rpc: EvmRpc,
  authorization: EvmAuthorization,
  transaction: SignedTransaction,
  terms: EvmTerms
) {
  const head = yield* rpc.ask("eth_getBlockByNumber", (node) => node.getBlock({ blockTag: "latest" }))
  const ours = isHex(transaction.hash) ? yield* receiptOf(rpc, transaction.hash) : undefined
  if (ours !== undefined && isPaidBy(rpc, ours.logs, authorization, terms)) return yield* paid(rpc, ours, head)
  if (yield* rpc.isNonceSpent(authorization.from, authorization.nonce, head.number)) {
    return yield* whereSpent(rpc, authorization, terms, head)
  }
  if (yield* isTooLate(rpc, authorization, terms, head)) return unpaid("never")
  return unpaid(yield* whatNext(rpc, authorization, transaction, ours, head))
})

/** Unspent and in time: what became of our transaction? */
const whatNext = Effect.fnUntraced(function* (
  rpc: EvmRpc,
  { from }: EvmAuthorization,
  signed: SignedTransaction,
  receipt: TransactionReceipt | undefined,
  head: Head
) {
  const ours = yield* previousOf(signed)
  if (ours === undefined) return "resign"
  if (receipt?.status === "reverted") {
    // A contract can pass every estimate and revert in the block, at our cost each time: once is enough.
    const code = yield* rpc.ask("eth_getCode", (node) => node.getCode({ address: from }))
    return code === undefined ? "resign" : "wait"
  }
  const known = yield* rpc.ask("eth_getTransactionByHash", (node) =>
    orNotFound(node.getTransaction({ hash: ours.hash }))
  )
  if (known !== undefined) {
    const isStuck = known.blockNumber === null && ours.max < (head.baseFeePerGas ?? 0n)
    return isStuck ? "resign" : "wait"
  }
  const mined = yield* rpc.ask("eth_getTransactionCount", (node) =>
    node.getTransactionCount({ address: ours.sender, blockNumber: head.number })
  )
  return mined > ours.nonce ? "resign" : "resend"
})

/** By somebody's transaction: a payment to us, a payment elsewhere, or a cancellation. */
const whereSpent = Effect.fnUntraced(function* (
  rpc: EvmRpc,
  authorization: EvmAuthorization,
  terms: EvmTerms,
  head: Head
) {
  const receipt = yield* receiptOf(rpc, yield* findSpending(rpc, authorization, head))
  if (receipt === undefined) return unpaid("wait")
  if (isPaidBy(rpc, receipt.logs, authorization, terms)) return yield* paid(rpc, receipt, head)
  return unpaid(confirmationsOf(receipt, head) >= terms.confirmations ? "never" : "wait")
})

const paid = Effect.fnUntraced(function* (rpc: EvmRpc, receipt: TransactionReceipt, head: Head) {
  const confirmations = confirmationsOf(receipt, head)
  const final = yield* rpc.ask("eth_getBlockByNumber", (node) =>
    node.getBlock({ blockTag: "finalized" }).then(
      ({ number }) => number,
      (cause: unknown) => {
        // The node has an answer, but no such tag.
        if (rpcError(cause).code === undefined) throw cause
        return undefined
      }
    )
  )
  const isFinal = final === undefined ? confirmations >= finalConfirmations : final >= receipt.blockNumber
  return { _tag: "Paid", hash: receipt.transactionHash, confirmations, isFinal } satisfies ChainView
})

/** Every block that may still take the authorisation has a later time than it allows. */
const isTooLate = Effect.fnUntraced(function* (
  rpc: EvmRpc,
  { validBefore }: EvmAuthorization,
  { confirmations }: EvmTerms,
  head: Head
) {
  if (head.timestamp <= validBefore) return false
  const depth = BigInt(Math.max(confirmations, 1) - 1)
  if (depth === 0n) return true
  const { timestamp } = yield* blockAt(rpc, head.number > depth ? head.number - depth : 0n)
  return timestamp > validBefore
})

export const isPaidBy = (
  { token }: Pick<EvmRpc, "token">,
  logs: ReadonlyArray<Log<bigint, number, false>>,
  { from, nonce }: EvmAuthorization,
  { payTo, units }: Pick<EvmTerms, "payTo" | "units">
): boolean => {
  const events = parseEventLogs({
    abi: usdcEvents,
    logs: logs.filter(({ address }) => isAddressEqual(address, token.address))
  })
  const used = events.find(
    ({ args, eventName }) =>
      eventName === "AuthorizationUsed" && isAddressEqual(args.authorizer, from) && args.nonce === nonce
  )
  if (used === undefined) return false
  return events.some(
    ({ args, eventName, logIndex }) =>
      eventName === "Transfer" &&
      logIndex === used.logIndex + 1 &&
      isAddressEqual(args.from, from) &&
      isAddressEqual(args.to, payTo) &&
      args.value === BigInt(units)
  )
}

/**
 * The log by which the nonce was spent. It was unspent when we took the payment, not more than
 * `lifetimeSecondsMax` before it expires, and the token takes none after that: those blocks are searched
 * first, backwards. Only a cancellation can be later.
 */
const findSpending = Effect.fnUntraced(function* (rpc: EvmRpc, authorization: EvmAuthorization, head: Head) {
  const { from, nonce, validAfter, validBefore } = authorization
  const earliest = validBefore - BigInt(lifetimeSecondsMax)
  const first = yield* blockBefore(rpc, earliest > validAfter ? earliest : validAfter, head)
  const isOver = head.timestamp > validBefore
  const last = isOver ? (yield* blockBefore(rpc, validBefore, head)) + logWindowBlocks : head.number
  const topics = [[authorizationUsed, authorizationCanceled], pad(from), nonce]
  for (const [fromBlock, toBlock] of logWindows(first, last > head.number ? head.number : last, head.number)) {
    const range = { fromBlock: numberToHex(fromBlock), toBlock: numberToHex(toBlock) }
    const logs = yield* rpc.ask("eth_getLogs", (node) =>
      node.request({ method: "eth_getLogs", params: [{ address: rpc.token.address, topics, ...range }] })
    )
    const hash = logs.at(-1)?.transactionHash
    if (hash !== undefined && hash !== null) return hash
  }
  return yield* rpc.unavailable("the authorization is spent, but the node has no log of it")
})

const [authorizationUsed] = encodeEventTopics({ abi: usdcEvents, eventName: "AuthorizationUsed" })
const [authorizationCanceled] = encodeEventTopics({ abi: usdcEvents, eventName: "AuthorizationCanceled" })

/** From `last` back to `first`, then from `last` on to `head`; both ends of a window belong to it. */
const logWindows = (first: bigint, last: bigint, head: bigint): ReadonlyArray<readonly [bigint, bigint]> => {
  const windows: Array<readonly [bigint, bigint]> = []
  for (let to = last; to >= first && windows.length < logWindowsMax; to -= logWindowBlocks) {
    const from = to - logWindowBlocks + 1n
    windows.push([from > first ? from : first, to])
  }
  for (let from = last + 1n; from <= head && windows.length < logWindowsMax; from += logWindowBlocks) {
    const to = from + logWindowBlocks - 1n
    windows.push([from, to < head ? to : head])
  }
  return windows
}

/** A block older than `time` (Unix seconds), or the first of all, at most a window before the next younger one. */
const blockBefore = Effect.fnUntraced(function* (rpc: EvmRpc, time: bigint, head: Head) {
  const isBefore = (number: bigint) => Effect.map(blockAt(rpc, number), ({ timestamp }) => timestamp < time)
  let high = head.number
  let low = head.number
  for (let stride = logWindowBlocks; ; stride *= 2n) {
    low = low > stride ? low - stride : 0n
    if (low === 0n || (yield* isBefore(low))) break
    high = low
  }
  while (high - low > logWindowBlocks) {
    const middle = (low + high) / 2n
    if (yield* isBefore(middle)) low = middle
    else high = middle
  }
  return low
})

const blockAt = (rpc: EvmRpc, blockNumber: bigint) =>
  rpc.ask("eth_getBlockByNumber", (node) => node.getBlock({ blockNumber }))

const receiptOf = (rpc: EvmRpc, hash: Hash) =>
  rpc.ask("eth_getTransactionReceipt", (node) => orNotFound(node.getTransactionReceipt({ hash })))

const orNotFound = <A>(answer: Promise<A>): Promise<A | undefined> =>
  answer.catch((cause: unknown) => {
    if (cause instanceof TransactionNotFoundError || cause instanceof TransactionReceiptNotFoundError) return undefined
    throw cause
  })

/** Of a receipt that came after the head, one. */
const confirmationsOf = ({ blockNumber }: TransactionReceipt, head: Head): number =>
  Math.max(1, Number(head.number - blockNumber) + 1)

const unpaid = (next: UnpaidNext) => ({ _tag: "Unpaid", next }) as const satisfies ChainView
