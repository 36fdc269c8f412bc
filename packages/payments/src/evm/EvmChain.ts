/**
 * Payment chain of Base and Base Sepolia: USDC by EIP-3009. Without an RPC endpoint quotes and claims still work; signing
 * also needs the operator's key.
 *
 * Loads viem: import this module only if payments are configured.
 */
import { Clock, Effect, Redacted, Result } from "effect"
import {
  type Address,
  type Block,
  BlockNotFoundError,
  encodeEventTopics,
  formatEther,
  getAddress,
  type Hash,
  isAddressEqual,
  isHex,
  type Log,
  numberToHex,
  pad,
  parseEventLogs,
  TransactionNotFoundError,
  type TransactionReceipt,
  TransactionReceiptNotFoundError
} from "viem"
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts"
import { Limits } from "@muniment/domain/Limits"
import type { PaymentRequirement } from "@muniment/domain/Payment"
import {
  type ChainHealth,
  ChainUnavailable,
  type ChainView,
  type PaymentChain,
  type PaymentClaim,
  PaymentInvalid,
  type SignedTransaction,
  type UnpaidNext
} from "../chain/PaymentChain.ts"
import {
  type EvmAuthorization,
  evmClaim,
  type EvmNetwork,
  type EvmToken,
  evmToken,
  readAuthorization,
  usdcEvents
} from "./EvmAuthorization.ts"
import { evmRpc, type EvmRpc, rpcError } from "./EvmRpc.ts"
import {
  broadcast,
  brokenTerm,
  expired,
  feePerGasWeiMax,
  gasMax,
  lifetimeSecondsMax,
  previousOf,
  sign,
  verify
} from "./EvmSettle.ts"

export interface EvmChainOptions {
  readonly network: EvmNetwork
  /** An address in any case. */
  readonly payTo: string
  readonly rpcUrl: string | undefined
  /** `0x` and 64 hex digits; pays the gas. */
  readonly operatorKey: Redacted.Redacted<string> | undefined
  /** Confirmations after which a block ends a payment. */
  readonly confirmations: number
}

/** Throws for an invalid address or key (see `isOperatorKey`). */
export const evmChain = (options: EvmChainOptions): PaymentChain => {
  const { confirmations, network, operatorKey, rpcUrl } = options
  const token = evmToken(network)
  const payTo = getAddress(options.payTo)
  const operator = operatorKey === undefined ? undefined : operatorAccount(operatorKey)
  const unavailable = (cause: string) => Effect.fail(new ChainUnavailable({ network, cause }))
  const rpc =
    rpcUrl === undefined ? unavailable("no RPC endpoint is configured") : Effect.succeed(evmRpc(token, rpcUrl))
  const authorizationOf = (claim: PaymentClaim) => Effect.fromResult(readAuthorization(claim.payload))
  return {
    network,
    health:
      rpcUrl === undefined
        ? undefined
        : Effect.flatMap(rpc, (node) => evmHealth(node, { payTo, operator: operator?.address })),
    requirement: (quote) => requirement(token, payTo, quote),
    receiverOf: (address) => Effect.sync(() => getAddress(address)),
    claim: (payload) => evmClaim(network, payload),
    verify: Effect.fnUntraced(function* (claim, units, { committed = 0, isJournalled = false } = {}) {
      const authorization = yield* authorizationOf(claim)
      const nowSeconds = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
      const payee = isJournalled ? authorization.to : payTo
      const reason = brokenTerm(authorization, { payTo: payee, units, nowSeconds })
      // An authorisation that somebody else submitted may be presented for a day after its end.
      const isExpired = reason === expired && authorization.validBefore > BigInt(nowSeconds - lifetimeSecondsMax)
      if (reason !== undefined && !isExpired) return yield* new PaymentInvalid({ reason })
      const terms = { payTo: payee, units, committed, operator: operator?.address, isExpired }
      yield* verify(yield* rpc, authorization, terms)
    }),
    sign: Effect.fnUntraced(function* (claim, previous) {
      const authorization = yield* authorizationOf(claim)
      if (operator === undefined) return yield* unavailable("no operator key is configured")
      return yield* sign(yield* rpc, operator, authorization, previous)
    }),
    broadcast: (_, transaction) => Effect.flatMap(rpc, (node) => broadcast(node, transaction)),
    look: Effect.fnUntraced(function* (claim, transaction, units) {
      // A journalled claim was read before: one that cannot be read now is a defect.
      const authorization = yield* Effect.orDie(authorizationOf(claim))
      return yield* look(yield* rpc, authorization, transaction, { units, confirmations })
    })
  }
}

/** True for a private key that can sign. */
export const isOperatorKey = (key: Redacted.Redacted<string>): boolean => Result.isSuccess(accountOf(key))

const operatorAccount = (key: Redacted.Redacted<string>): PrivateKeyAccount =>
  Result.getOrThrowWith(accountOf(key), () => new Error("the operator's EVM key is not a private key"))

const keyPattern = /^0x[0-9a-fA-F]{64}$/

const accountOf = (key: Redacted.Redacted<string>): Result.Result<PrivateKeyAccount, "not a key"> => {
  const text = Redacted.value(key)
  if (!isHexKey(text)) return Result.fail("not a key")
  // Zero and numbers beyond the curve's order; the library's message may contain the key.
  return Result.try({ try: () => privateKeyToAccount(text), catch: () => "not a key" as const })
}

const isHexKey = (text: string): text is `0x${string}` => keyPattern.test(text)

const requirement = (
  { address, domain, network }: EvmToken,
  payTo: string,
  quote: { readonly units: number; readonly resource: string; readonly description: string }
): PaymentRequirement => ({
  scheme: "exact",
  network,
  maxAmountRequired: String(quote.units),
  resource: quote.resource,
  description: quote.description,
  mimeType: "application/json",
  payTo,
  maxTimeoutSeconds: Limits.paymentTimeoutSeconds,
  asset: address,
  extra: { name: domain.name, version: domain.version }
})

/**
 * Whether the network can take payments now: its node answers, and the operator can pay the gas. `operator`: undefined
 * where a facilitator sends.
 */
const evmHealth = Effect.fn("EvmChain.health")(function* (
  rpc: EvmRpc,
  { operator, payTo }: { readonly payTo: Address; readonly operator: Address | undefined }
) {
  const held = Number(yield* rpc.balanceOf(payTo))
  const { baseFeePerGas, number } = yield* rpc.ask("eth_getBlockByNumber", (node) =>
    node.getBlock({ blockTag: "latest" })
  )
  const seen = { held, block: Number(number) }
  if (operator === undefined) return { ...seen, feeBalance: undefined, isFunded: true } satisfies ChainHealth
  const balance = yield* rpc.ask("eth_getBalance", (node) => node.getBalance({ address: operator }))
  // As a payment is signed: the base fee may double.
  const generous = 2n * (baseFeePerGas ?? 0n) + tipWei
  const price = generous < feePerGasWeiMax ? generous : feePerGasWeiMax
  return {
    ...seen,
    feeBalance: Number(formatEther(balance)),
    isFunded: balance >= gasMax * price
  } satisfies ChainHealth
})

/** A tip with which a payment is included soon on Base. */
const tipWei = 1_000_000n

/** The transfer looked for: `units` to the authorisation's receiver. */
interface EvmTerms {
  readonly units: number
  /** Confirmations after which a block ends a payment. */
  readonly confirmations: number
  /** Blocks searched for logs in one call; default `logWindowBlocks`. */
  readonly windowBlocks?: bigint
}

/** Used if a node does not report the final block. */
const finalConfirmations = 64
/** JSON-RPC (EIP-1474). */
const limitExceededCode = -32_005
/** Many nodes refuse larger searches. */
const logWindowBlocks = 1_000n
/** A day of Base's blocks needs 44 windows. */
const logWindowsMax = 128

type Head = Pick<Block<bigint, false, "latest">, "number" | "timestamp" | "baseFeePerGas">

/**
 * State of a payment on the chain, whichever address sent the transaction. An authorisation is public once it is sent,
 * so another sender may submit it first: the money arrives all the same.
 *
 * Invariants: one block, the head, answers both "is it spent" and "is it too late", so that a payment included between
 * two calls is not given up. A nonce pays for the Transfer log that directly follows its own AuthorizationUsed log (the
 * token writes them in that order, with no call between): other transfers in the transaction are other payments.
 */
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
  if (yield* isTooLate(rpc, authorization, terms, head)) return neverBy(head)
  const next = yield* whatNext(rpc, authorization, transaction, ours, head)
  return ours?.status === "reverted" ? ({ ...unpaid(next), isReverted: true } as const) : unpaid(next)
})

/** Unspent and not expired: the state of our transaction decides. */
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
    // A contract can pass each estimate and revert in the block, at our cost: no second attempt.
    const code = yield* rpc.ask("eth_getCode", (node) => node.getCode({ address: from }))
    return code === undefined ? "resign" : "wait"
  }
  const mined = yield* rpc.ask("eth_getTransactionCount", (node) =>
    node.getTransactionCount({ address: ours.sender, blockNumber: head.number })
  )
  // Another transaction used the operator's nonce, or our fee is too low.
  if (mined > ours.nonce || ours.max < (head.baseFeePerGas ?? 0n)) return "resign"
  const known = yield* rpc.ask("eth_getTransactionByHash", (node) =>
    orNotFound(node.getTransaction({ hash: ours.hash }))
  )
  return known === undefined ? "resend" : "wait"
})

/** Spent: paid to us, paid elsewhere, or cancelled. Only once it has expired is the answer that it was not paid to us. */
const whereSpent = Effect.fnUntraced(function* (
  rpc: EvmRpc,
  authorization: EvmAuthorization,
  terms: EvmTerms,
  head: Head
) {
  const receipt = yield* receiptOf(
    rpc,
    yield* findSpending(rpc, authorization, terms.windowBlocks ?? logWindowBlocks, head)
  )
  if (receipt === undefined) return unpaid("wait")
  if (isPaidBy(rpc, receipt.logs, authorization, terms)) return yield* paid(rpc, receipt, head)
  const isOver = head.timestamp > authorization.validBefore
  return isOver && confirmationsOf(receipt, head) >= terms.confirmations ? neverBy(head) : unpaid("wait")
})

const paid = Effect.fnUntraced(function* (rpc: EvmRpc, receipt: TransactionReceipt, head: Head) {
  const confirmations = confirmationsOf(receipt, head)
  const final = yield* rpc.ask("eth_getBlockByNumber", (node) =>
    node.getBlock({ blockTag: "finalized" }).then(
      ({ number }) => number,
      (cause: unknown) => {
        if (!isTagUnknown(cause)) throw cause
        return undefined
      }
    )
  )
  const isFinal = final === undefined ? confirmations >= finalConfirmations : final >= receipt.blockNumber
  return { _tag: "Paid", hash: receipt.transactionHash, confirmations, isFinal } satisfies ChainView
})

/** The node answered that there is no such block; a rate limit is not such an answer. */
const isTagUnknown = (cause: unknown): boolean => {
  if (cause instanceof BlockNotFoundError) return true
  const { code } = rpcError(cause)
  return code !== undefined && code !== limitExceededCode
}

/** Every block that could still include the authorisation is later than it allows. */
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

const isPaidBy = (
  { token }: Pick<EvmRpc, "token">,
  logs: ReadonlyArray<Log<bigint, number, false>>,
  { from, nonce, to }: EvmAuthorization,
  { units }: Pick<EvmTerms, "units">
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
      isAddressEqual(args.to, to) &&
      args.value === BigInt(units)
  )
}

/**
 * The log that spent the nonce. It was unspent when we accepted the payment, at most `lifetimeSecondsMax` before it
 * expires, and the token accepts none later: those blocks are searched first, backwards. Only a cancellation can be later.
 */
const findSpending = Effect.fnUntraced(function* (
  rpc: EvmRpc,
  authorization: EvmAuthorization,
  window: bigint,
  head: Head
) {
  const { from, nonce, validAfter, validBefore } = authorization
  const earliest = validBefore - BigInt(lifetimeSecondsMax)
  const first = yield* blockBefore(rpc, earliest > validAfter ? earliest : validAfter, window, head)
  const isOver = head.timestamp > validBefore
  const last = isOver ? (yield* blockBefore(rpc, validBefore, window, head)) + window : head.number
  const topics = [[authorizationUsed, authorizationCanceled], pad(from), nonce]
  const ends = { first, last: last > head.number ? head.number : last, head: head.number }
  for (const [fromBlock, toBlock] of logWindows(ends, window)) {
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

/** From `last` back to `first`, then from `last` forward to `head`; both ends of a window are included. */
const logWindows = (
  { first, head, last }: { readonly first: bigint; readonly last: bigint; readonly head: bigint },
  size: bigint
): ReadonlyArray<readonly [bigint, bigint]> => {
  const windows: Array<readonly [bigint, bigint]> = []
  for (let to = last; to >= first && windows.length < logWindowsMax; to -= size) {
    const from = to - size + 1n
    windows.push([from > first ? from : first, to])
  }
  for (let from = last + 1n; from <= head && windows.length < logWindowsMax; from += size) {
    const to = from + size - 1n
    windows.push([from, to < head ? to : head])
  }
  return windows
}

/** A block older than `time` (Unix seconds), or block 0; the oldest block not older than `time` is within a window of it. */
const blockBefore = Effect.fnUntraced(function* (rpc: EvmRpc, time: bigint, window: bigint, head: Head) {
  const isBefore = (number: bigint) => Effect.map(blockAt(rpc, number), ({ timestamp }) => timestamp < time)
  let high = head.number
  let low = head.number
  // Usually recent. Both loops halve or double, so they take logarithmic time.
  for (let stride = window; ; stride *= 2n) {
    low = low > stride ? low - stride : 0n
    if (low === 0n || (yield* isBefore(low))) break
    high = low
  }
  while (high - low > window) {
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

/** 1 for a receipt that is newer than the head. */
const confirmationsOf = ({ blockNumber }: TransactionReceipt, head: Head): number =>
  Math.max(1, Number(head.number - blockNumber) + 1)

const neverBy = ({ number }: Head) => ({ _tag: "Never", block: number }) as const satisfies ChainView

const unpaid = (next: UnpaidNext) => ({ _tag: "Unpaid", next }) as const satisfies ChainView
