/**
 * Verification rules of an EIP-3009 payment ("Verification" of
 * https://github.com/coinbase/x402/blob/main/specs/schemes/exact/scheme_exact_evm.md): ours, then the library's as a
 * second opinion. The library alone would accept a high-s signature, and reports an invalid signature if a node does not
 * answer.
 *
 * Invariant: `PaymentInvalid` only if the payment itself or the chain's answer shows it; a node that does not answer is
 * `ChainUnavailable`.
 */
import { Effect } from "effect"
import { decodeFunctionResult, encodeFunctionData, hexToBigInt, recoverAddress, size } from "viem"
import type { Address } from "viem"
import { ExactEvmScheme } from "@x402/evm/exact/facilitator"
import { Limits } from "@muniment/domain/Limits"
import { paymentNetworks } from "@muniment/domain/Payment"
import { type ChainUnavailable, PaymentInvalid } from "../chain/PaymentChain.ts"
import {
  authorizationDigest,
  contractWalletAbi,
  ecdsaBytes,
  ecdsaParts,
  type EvmAuthorization
} from "./EvmAuthorization.ts"
import { payloadOf, transferData } from "./EvmAuthorization.ts"
import type { CallReverted, EvmRpc } from "./EvmRpc.ts"

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
    // Never rejects: the library asks for the token's code beside other calls, and nobody handles its failure then.
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
