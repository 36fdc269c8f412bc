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
import {
  type Address,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  hexToBigInt,
  keccak256,
  parseTransaction,
  type PrivateKeyAccount,
  recoverAddress,
  recoverTransactionAddress,
  size,
  type TransactionSerializedEIP1559
} from "viem"
import { ExactEvmScheme } from "@x402/evm/exact/facilitator"
import { Limits } from "@muniment/domain/Limits"
import { paymentNetworks } from "@muniment/domain/Payment"
import { type ChainUnavailable, PaymentInvalid, type SignedTransaction } from "../chain/PaymentChain.ts"
import {
  authorizationDigest,
  contractWalletAbi,
  ecdsaBytes,
  ecdsaParts,
  type EvmAuthorization,
  payloadOf,
  transferData
} from "./EvmAuthorization.ts"
import { type CallReverted, type EvmRpc, rpcError } from "./EvmRpc.ts"

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

/**
 * Verification rules of an EIP-3009 payment ("Verification" of
 * https://github.com/coinbase/x402/blob/main/specs/schemes/exact/scheme_exact_evm.md): ours, then the library's as a
 * second opinion. The library alone would accept a high-s signature, and reports an invalid signature if a node does not
 * answer.
 *
 * Invariant: `PaymentInvalid` only if the payment itself or the chain's answer shows it; a node that does not answer is
 * `ChainUnavailable`.
 */

/** Bounds one transfer: a contract wallet verifies its signature at our expense. */
export const gasMax = 400_000n
/** Stock clients sign for a minute; a payment that is valid much longer could stay unsettled as long. */
export const lifetimeSecondsMax = 86_400
/** ERC-6492: suffix of the signature of a wallet that is not deployed yet. */
const undeployedSuffix = "6492".repeat(16)
/** Returned by `isValidSignature` for a valid signature (ERC-1271). */
const contractWalletYes = "0x1626ba7e"
const curveOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The rules that need no network call; undefined if all hold. `payTo` is ours, `nowSeconds` our clock. */
export const brokenTerm = (
  authorization: EvmAuthorization,
  terms: { readonly payTo: Address; readonly units: number; readonly nowSeconds: number }
): string | undefined => {
  const { from, signature, to, validAfter, validBefore, value } = authorization
  const now = BigInt(terms.nowSeconds)
  if (value !== BigInt(terms.units)) return `authorization.value must be exactly ${terms.units}`
  if (to !== terms.payTo) return `authorization.to must be ${terms.payTo}`
  if (from === terms.payTo) return "the payer is the receiver"
  if (validAfter > now) return "the authorization is not valid yet"
  if (validBefore < now + BigInt(Limits.paymentSpareSeconds)) return expired
  if (validBefore > now + BigInt(lifetimeSecondsMax)) {
    return `the authorization must expire within ${lifetimeSecondsMax} seconds`
  }
  if (signature.endsWith(undeployedSuffix)) return "wallets that are not deployed yet (ERC-6492) cannot pay"
  return undefined
}

const committedText = (committed: number): string =>
  committed === 0 ? "" : `, of which ${committed} are committed to payments under way`

/** The only term that an authorisation which somebody else submitted may break. */
export const expired = `the authorization has expired, or will within ${Limits.paymentSpareSeconds} seconds`

export const verify = Effect.fn("EvmVerify.verify")(function* (
  rpc: EvmRpc,
  authorization: EvmAuthorization,
  terms: {
    readonly payTo: Address
    readonly units: number
    readonly committed: number
    readonly operator: Address | undefined
    readonly isExpired: boolean
  }
) {
  const head = yield* rpc.ask("eth_getBlockByNumber", (node) => node.getBlock({ blockTag: "latest" }))
  yield* verifySignature(rpc, authorization)
  const [isSpent, balance] = yield* Effect.all(
    [rpc.isNonceSpent(authorization.from, authorization.nonce, head.number), rpc.balanceOf(authorization.from)],
    { concurrency: "unbounded" }
  )
  if (isSpent) {
    return yield* new PaymentInvalid({ reason: "the authorization is used or cancelled", isSpent: true })
  }
  const isOver = authorization.validBefore < head.timestamp + BigInt(Limits.paymentSpareSeconds)
  if (terms.isExpired || isOver) return yield* invalid(expired)
  if (balance < authorization.value + BigInt(terms.committed)) {
    return yield* invalid(`the payer's balance is too low: ${balance} units${committedText(terms.committed)}`)
  }
  const call = { to: rpc.token.address, data: transferData(authorization), from: terms.operator, gas: gasMax }
  yield* rpc
    .call(call)
    .pipe(Effect.catchTag("CallReverted", ({ reason }) => invalid(`the transfer would fail: ${reason}`)))
  yield* askLibrary(rpc, authorization, terms)
})

/** As the token does: an address with code is asked (ERC-1271), one without must have signed by ECDSA. */
const verifySignature = Effect.fnUntraced(function* (rpc: EvmRpc, authorization: EvmAuthorization) {
  const { from: address, signature } = authorization
  const digest = authorizationDigest(rpc.token, authorization)
  const code = yield* rpc.ask("eth_getCode", (node) => node.getCode({ address }))
  if (code === undefined) {
    if (size(signature) !== ecdsaBytes) return yield* invalid(`the signature of a plain wallet has ${ecdsaBytes} bytes`)
    const { s, v } = ecdsaParts(signature)
    // The token's rules (EIP-2): one signature has one form.
    if (hexToBigInt(s) > curveOrder / 2n) return yield* invalid("the signature's s is in the upper half (EIP-2)")
    if (v !== 27 && v !== 28) return yield* invalid("the signature's v must be 27 or 28")
    // Recovery may fail: not every r is on the curve.
    const signer = yield* Effect.option(Effect.tryPromise(() => recoverAddress({ hash: digest, signature })))
    if (signer._tag === "None" || signer.value !== address) return yield* invalid("the signature is not the payer's")
    return
  }
  const question = { abi: contractWalletAbi, functionName: "isValidSignature" } as const
  const data = encodeFunctionData({ ...question, args: [digest, signature] })
  const refused = "the payer's contract does not take the signature (ERC-1271)"
  const answer = yield* rpc
    .call({ to: address, data, gas: gasMax })
    .pipe(Effect.catchTag("CallReverted", () => invalid(refused)))
  // A contract that is not a wallet may return anything.
  const isYes = yield* Effect.try(() => decodeFunctionResult({ ...question, data: answer }) === contractWalletYes).pipe(
    Effect.orElseSucceed(() => false)
  )
  if (!isYes) return yield* invalid(refused)
})

/** The second opinion. It hides failures of the node, so its calls record them. */
const askLibrary = Effect.fnUntraced(function* (
  rpc: EvmRpc,
  authorization: EvmAuthorization,
  terms: { readonly payTo: Address; readonly units: number }
) {
  const { address: asset, domain, network } = rpc.token
  const requirements = {
    scheme: "exact",
    network: paymentNetworks[network].caip2,
    asset,
    amount: String(terms.units),
    payTo: terms.payTo,
    maxTimeoutSeconds: Limits.paymentTimeoutSeconds,
    extra: { name: domain.name, version: domain.version }
  }
  const payload = { x402Version: 2, accepted: requirements, payload: { ...payloadOf(authorization) } }
  let away: ChainUnavailable | undefined
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  const ask = <A>(call: Effect.Effect<A, CallReverted | ChainUnavailable>): Promise<A> =>
    run(
      Effect.tapError(call, (error) =>
        Effect.sync(() => {
          if (error._tag === "ChainUnavailable") away = error
        })
      )
    )
  const never = () => Promise.reject(new Error("verification sends nothing"))
  const scheme = new ExactEvmScheme({
    getAddresses: () => [],
    // A failure becomes undefined: the library asks this beside other calls and handles no rejection of it.
    getCode: ({ address }) => ask(rpc.ask("eth_getCode", (node) => node.getCode({ address }))).catch(() => undefined),
    readContract: ({ abi, address, args, functionName }) => {
      const call = { abi, functionName, args: args ?? [] }
      const read = rpc.call({ to: address, data: encodeFunctionData(call), gas: gasMax })
      return ask(Effect.map(read, (data) => (data === "0x" ? undefined : decodeFunctionResult({ ...call, data }))))
    },
    verifyTypedData: never,
    writeContract: never,
    sendTransaction: never,
    waitForTransactionReceipt: never
  })
  const opinion = yield* Effect.result(Effect.tryPromise(() => scheme.verify(payload, requirements)))
  if (away !== undefined) return yield* away
  if (opinion._tag === "Failure") return yield* rpc.unavailable("x402: the second opinion failed")
  if (!opinion.success.isValid) return yield* invalid(`refused: ${opinion.success.invalidReason ?? "no reason given"}`)
})

const invalid = (reason: string) => Effect.fail(new PaymentInvalid({ reason }))
