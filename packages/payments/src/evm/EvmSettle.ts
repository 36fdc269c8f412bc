/**
 * The operator's transaction that submits a payer's authorisation to the token (EIP-1559). Signing and sending are
 * separate, because the journal must contain the bytes before the chain does.
 *
 * Invariants: money moves once however often it is signed, because the token accepts a nonce once; no transaction can
 * cost more than `gasMax` times `feePerGasWeiMax` (Base adds the cost of its data on L1, bounded by the signature's
 * size). Two transactions signed before either is sent share the operator's nonce: `look` finds the loser, which is
 * signed again.
 */
import { Effect } from "effect"
import { hexToBigInt, keccak256, parseTransaction, recoverTransactionAddress } from "viem"
import type { Hex, PrivateKeyAccount, TransactionSerializedEIP1559 } from "viem"
import { type ChainUnavailable, PaymentInvalid, type SignedTransaction } from "../chain/PaymentChain.ts"
import { type EvmAuthorization, transferData } from "./EvmAuthorization.ts"
import { type EvmRpc, rpcError } from "./EvmRpc.ts"
import { gasMax } from "./EvmVerify.ts"

/** 5 gwei; Base costs about 0.01. Above it the smallest deposit would cost more than it brings. */
export const feePerGasWeiMax = 5_000_000_000n
/** An estimate and the execution may differ by earlier transactions of the block. */
const gasMarginPercent = 20n
/** Nodes accept a replacement of a pending transaction only if it pays a tenth more. */
const replacementPercent = 15n

/**
 * `previous`, if the payment was signed before: while its operator nonce is free, the new transaction uses the same one
 * with a higher fee, so that it replaces the stuck one instead of queueing behind it.
 */
export const sign = Effect.fn("EvmSettle.sign")(function* (
  rpc: EvmRpc,
  operator: PrivateKeyAccount,
  authorization: EvmAuthorization,
  previous?: SignedTransaction
) {
  const call = { to: rpc.token.address, data: transferData(authorization), from: operator.address }
  const [gas, fees, balance, nonces] = yield* Effect.all(
    [
      estimateGas(rpc, authorization, call),
      estimateFees(rpc),
      rpc.ask("eth_getBalance", (node) => node.getBalance({ address: operator.address })),
      operatorNonces(rpc, operator)
    ],
    { concurrency: "unbounded" }
  )
  const stuck = yield* previousOf(previous)
  const isReplacing = stuck !== undefined && stuck.sender === operator.address && stuck.nonce >= nonces.mined
  const paid = isReplacing ? { tip: more(fees.tip, stuck.tip), max: more(fees.max, stuck.max) } : fees
  if (paid.max > feePerGasWeiMax)
    return yield* rpc.unavailable(`gas costs more than the limit of ${feePerGasWeiMax} wei`)
  if (balance < gas * paid.max) {
    return yield* rpc.unavailable(`the operator's wallet ${operator.address} does not have enough ETH for gas`)
  }
  const raw = yield* Effect.promise(() =>
    operator.signTransaction({
      type: "eip1559",
      chainId: rpc.token.domain.chainId,
      nonce: isReplacing ? stuck.nonce : nonces.next,
      to: call.to,
      data: call.data,
      gas,
      maxFeePerGas: paid.max,
      maxPriorityFeePerGas: paid.tip
    })
  )
  return { hash: keccak256(raw), raw } satisfies SignedTransaction
})

/** An error means: unknown whether the chain has it. */
export const broadcast = Effect.fn("EvmSettle.broadcast")(function* (rpc: EvmRpc, { raw }: SignedTransaction) {
  if (!isEip1559(raw)) return yield* rpc.unavailable("there is no signed transaction to send")
  yield* rpc.ask("eth_sendRawTransaction", (node) =>
    node.sendRawTransaction({ serializedTransaction: raw }).then(
      () => undefined,
      (cause: unknown) => {
        if (!isSentWords.test(rpcError(cause).message)) throw cause
      }
    )
  )
})

/** The chain has the same bytes, or their nonce is used: `look` finds the transaction that used it. */
const isSentWords = /already known|already imported|already exists|known transaction|nonce too low/i

/** Reads a journalled transaction. */
interface JournalledTransaction {
  readonly hash: Hex
  readonly sender: Hex
  readonly nonce: number
  readonly max: bigint
  readonly tip: bigint
}

/** Undefined if none was signed here. */
export const previousOf = Effect.fnUntraced(function* (transaction: SignedTransaction | undefined) {
  const raw = transaction?.raw
  if (raw === undefined || !isEip1559(raw)) return undefined
  const { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n, nonce = 0 } = parseTransaction(raw)
  const sender = yield* Effect.promise(() => recoverTransactionAddress({ serializedTransaction: raw }))
  return {
    hash: keccak256(raw),
    sender,
    nonce,
    max: maxFeePerGas,
    tip: maxPriorityFeePerGas
  } satisfies JournalledTransaction
})

const isEip1559 = (raw: string): raw is TransactionSerializedEIP1559 => /^0x02[0-9a-f]+$/.test(raw)

/** A revert is the payment's fault, unless the authorisation is spent: then the money may have arrived (`look`). */
const estimateGas = (
  rpc: EvmRpc,
  { from, nonce }: EvmAuthorization,
  call: { readonly to: Hex; readonly data: Hex; readonly from: Hex }
): Effect.Effect<bigint, PaymentInvalid | ChainUnavailable> =>
  rpc.estimate(call).pipe(
    Effect.catchTag("CallReverted", ({ reason }) =>
      Effect.gen(function* () {
        const { number } = yield* rpc.ask("eth_getBlockByNumber", (node) => node.getBlock({ blockTag: "latest" }))
        if (yield* rpc.isNonceSpent(from, nonce, number)) {
          return yield* rpc.unavailable("the authorization is already used: the chain decides")
        }
        return yield* new PaymentInvalid({ reason: `the transfer would fail: ${reason}` })
      })
    ),
    Effect.map((estimate) => (estimate * (100n + gasMarginPercent)) / 100n),
    Effect.filterOrFail(
      (gas) => gas <= gasMax,
      () => new PaymentInvalid({ reason: `the transfer would cost more than ${gasMax} gas` })
    )
  )

/** Wei per gas; with `max` the base fee may double while the transaction is pending. */
const estimateFees = Effect.fnUntraced(function* (rpc: EvmRpc) {
  const [tip, { baseFeePerGas }] = yield* Effect.all(
    [
      rpc.ask("eth_maxPriorityFeePerGas", (node) => node.request({ method: "eth_maxPriorityFeePerGas" })),
      rpc.ask("eth_getBlockByNumber", (node) => node.getBlock({ blockTag: "latest" }))
    ],
    { concurrency: "unbounded" }
  )
  if (baseFeePerGas === null) return yield* rpc.unavailable("the chain has no base fee (EIP-1559)")
  const least = baseFeePerGas + hexToBigInt(tip)
  const generous = least + baseFeePerGas
  // A fee that is low, but enough at the moment, is still worth a try.
  return {
    tip: hexToBigInt(tip),
    max: generous > feePerGasWeiMax && least <= feePerGasWeiMax ? feePerGasWeiMax : generous
  }
})

/** `mined`: the first nonce in no block; `next`: the first that no pending transaction has either. */
const operatorNonces = (rpc: EvmRpc, { address }: PrivateKeyAccount) =>
  Effect.all(
    {
      mined: rpc.ask("eth_getTransactionCount", (node) => node.getTransactionCount({ address, blockTag: "latest" })),
      next: rpc.ask("eth_getTransactionCount", (node) => node.getTransactionCount({ address, blockTag: "pending" }))
    },
    { concurrency: "unbounded" }
  )

const more = (wanted: bigint, before: bigint): bigint => {
  const replacing = (before * (100n + replacementPercent)) / 100n + 1n
  return wanted > replacing ? wanted : replacing
}
