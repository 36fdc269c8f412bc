/**
 * Every rule that an EIP-3009 payment must keep (x402, scheme_exact_evm.md, "Verification"), ours first
 * and then the library's: it must agree, but it alone would take a high-s signature, and it calls an
 * invalid signature what is a node that does not answer.
 *
 * Invariant: a rule is broken (`PaymentInvalid`) only where the payment says so or the chain has
 * answered; a node that is away is `ChainUnavailable`.
 */
import { Effect } from "effect"
import { decodeFunctionResult, encodeFunctionData, hexToBigInt, recoverAddress, size } from "viem"
import type { Address } from "viem"
import { ExactEvmScheme } from "@x402/evm/exact/facilitator"
import { Limits } from "@muniment/domain/Limits"
import { paymentNetworks } from "@muniment/domain/Payment"
import { type ChainUnavailable, PaymentInvalid } from "../PaymentChain.ts"
import { authorizationDigest, ecdsaBytes, ecdsaParts, type EvmAuthorization } from "./EvmAuthorization.ts"
import { payloadOf, transferData } from "./EvmAuthorization.ts"
import type { CallReverted, EvmRpc } from "./EvmRpc.ts"
import { contractWalletAbi } from "./UsdcAbi.ts"

/** What one transfer may cost: a contract wallet's check of its signature is run at our expense. */
export const gasMax = 400_000n
/** Stock clients sign for a minute; one that could land much later would stay unsettled as long. */
export const lifetimeSecondsMax = 86_400
/** ERC-6492: a signature of a wallet that is yet to be deployed ends so. */
const undeployedSuffix = "6492".repeat(16)
/** What `isValidSignature` returns for a valid one (ERC-1271). */
const contractWalletYes = "0x1626ba7e"
const curveOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** What must hold without asking anybody; undefined: it does. `payTo` is ours, `nowSeconds` our clock. */
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

const promisedText = (promised: number): string =>
  promised === 0 ? "" : `, of which ${promised} are promised by payments under way`

const expired = `the authorization has expired, or will within ${Limits.paymentSpareSeconds} seconds`

export const verify = Effect.fn("EvmVerify.verify")(function* (
  rpc: EvmRpc,
  authorization: EvmAuthorization,
  terms: {
    readonly payTo: Address
    readonly units: number
    readonly promised: number
    readonly operator: Address | undefined
  }
) {
  const head = yield* rpc.ask("eth_getBlockByNumber", (node) => node.getBlock({ blockTag: "latest" }))
  if (authorization.validBefore < head.timestamp + BigInt(Limits.paymentSpareSeconds)) return yield* invalid(expired)
  yield* verifySignature(rpc, authorization)
  const [isSpent, balance] = yield* Effect.all(
    [rpc.isNonceSpent(authorization.from, authorization.nonce, head.number), rpc.balanceOf(authorization.from)],
    { concurrency: "unbounded" }
  )
  if (isSpent) return yield* invalid("the authorization is used or cancelled")
  if (balance < authorization.value + BigInt(terms.promised)) {
    return yield* invalid(`the payer's balance is too low: ${balance} units${promisedText(terms.promised)}`)
  }
  const call = { to: rpc.token.address, data: transferData(authorization), from: terms.operator, gas: gasMax }
  yield* rpc
    .call(call)
    .pipe(Effect.catchTag("CallReverted", ({ reason }) => invalid(`the transfer would fail: ${reason}`)))
  yield* askLibrary(rpc, authorization, terms)
})

/** As the token itself does it: whoever has code is asked, whoever has none must have signed by ECDSA. */
const verifySignature = Effect.fnUntraced(function* (rpc: EvmRpc, authorization: EvmAuthorization) {
  const { from: address, signature } = authorization
  const digest = authorizationDigest(rpc.token, authorization)
  const code = yield* rpc.ask("eth_getCode", (node) => node.getCode({ address }))
  if (code === undefined) {
    if (size(signature) !== ecdsaBytes) return yield* invalid(`the signature of a plain wallet has ${ecdsaBytes} bytes`)
    const { s, v } = ecdsaParts(signature)
    // The token's own rules (EIP-2): one signature has one spelling.
    if (hexToBigInt(s) > curveOrder / 2n) return yield* invalid("the signature's s is in the upper half (EIP-2)")
    if (v !== 27 && v !== 28) return yield* invalid("the signature's v must be 27 or 28")
    // Not every r is a point of the curve.
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
  // A contract that is no wallet may answer anything.
  const isYes = yield* Effect.try(() => decodeFunctionResult({ ...question, data: answer }) === contractWalletYes).pipe(
    Effect.orElseSucceed(() => false)
  )
  if (!isYes) return yield* invalid(refused)
})

/** The second opinion. It hides what the node did, hence the note of what its calls ran into. */
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
    getCode: ({ address }) => ask(rpc.ask("eth_getCode", (node) => node.getCode({ address }))),
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
