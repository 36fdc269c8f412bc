/**
 * Calls of an EVM node: each bounded in time, each failure the network's and never the payment's; only a
 * call that the node says was reverted is an answer. The first use proves that the node is of our chain
 * and the token the one whose domain payers sign for, so that a wrong URL neither refuses good payments
 * nor takes worthless ones.
 *
 * What a failure says is made of names and codes: texts of libraries and nodes may hold the URL with its
 * key, or the payer's signature.
 */
import { Data, Effect } from "effect"
import { BaseError, createPublicClient, decodeErrorResult, domainSeparator, http, isHex, parseAbi } from "viem"
import { decodeFunctionResult, encodeFunctionData, numberToHex } from "viem"
import type { Address, Hex, PublicClient } from "viem"
import { Limits } from "@muniment/domain/Limits"
import { ChainUnavailable } from "../PaymentChain.ts"
import type { EvmToken } from "./EvmAuthorization.ts"
import { usdcAbi } from "./UsdcAbi.ts"

export interface EvmCall {
  readonly to: Address
  readonly data: Hex
  readonly from?: Address | undefined
  readonly gas?: bigint
}

/** The chain's answer to a call or an estimate: it would be reverted. `reason` is printable and short. */
/** What the node or the way to it threw; never passed on, since it may quote what was sent. */
class NodeRefused extends Data.TaggedError("NodeRefused")<{ readonly cause: unknown }> {}

export class CallReverted extends Data.TaggedError("CallReverted")<{ readonly reason: string }> {}

export interface EvmRpc {
  readonly token: EvmToken
  readonly ask: <A>(method: string, call: (client: PublicClient) => Promise<A>) => Effect.Effect<A, ChainUnavailable>
  /** -> what it returns. `block`: default the one to come, whose time counts for an authorisation. */
  readonly call: (call: EvmCall, block?: bigint | "latest") => Effect.Effect<Hex, CallReverted | ChainUnavailable>
  /** -> gas. */
  readonly estimate: (call: EvmCall) => Effect.Effect<bigint, CallReverted | ChainUnavailable>
  /** Whether the token has seen this nonce of this payer, used or cancelled, by the end of a block. */
  readonly isNonceSpent: (from: Address, nonce: Hex, block: bigint) => Effect.Effect<boolean, ChainUnavailable>
  /** Units. */
  readonly balanceOf: (owner: Address) => Effect.Effect<bigint, ChainUnavailable>
  readonly unavailable: (cause: string) => ChainUnavailable
}

const reasonCharsMax = 200

export const evmRpc = (token: EvmToken, url: string): EvmRpc => {
  const client = createPublicClient({
    transport: http(url, { timeout: Limits.chainCallTimeoutMillis, retryCount: 0 }),
    cacheTime: 0
  })
  const unavailable = (cause: string) => new ChainUnavailable({ network: token.network, cause })
  let isProven = false

  const attempt = <A>(method: string, call: (client: PublicClient) => Promise<A>) =>
    Effect.tryPromise({ try: () => call(client), catch: (cause) => new NodeRefused({ cause }) }).pipe(
      // The transport's own limit ends with the headers.
      Effect.timeoutOrElse({
        duration: Limits.chainCallTimeoutMillis,
        orElse: () => Effect.fail(unavailable(`${method}: timed out`))
      })
    )
  const asUnavailable = (method: string) => (error: NodeRefused | ChainUnavailable) =>
    error._tag === "ChainUnavailable" ? error : unavailable(`${method}: ${kindOf(error.cause)}`)
  const askUnproven: EvmRpc["ask"] = (method, call) =>
    attempt(method, call).pipe(Effect.mapError(asUnavailable(method)))
  const read = (data: Hex, block: bigint | "latest") =>
    askUnproven("eth_call", (node) => ethCall(node, { to: token.address, data }, block))
  const decode = <A>(what: string, decoded: () => A) =>
    Effect.try({ try: decoded, catch: () => unavailable(`${what}: the token answers nonsense`) })

  const prove = Effect.gen(function* () {
    if (isProven) return
    const chainId = yield* askUnproven("eth_chainId", (node) => node.getChainId())
    const wanted = token.domain.chainId
    if (chainId !== wanted) return yield* unavailable(`the node is of chain ${chainId}, not of ${wanted}`)
    const data = encodeFunctionData({ abi: usdcAbi, functionName: "DOMAIN_SEPARATOR" })
    const separator = yield* read(data, "latest")
    const ours = domainSeparator({ domain: { ...token.domain, verifyingContract: token.address } })
    if (separator !== ours) return yield* unavailable("the token's EIP-712 domain is not the one that payers sign for")
    isProven = true
  })
  const proven = <A, E>(effect: Effect.Effect<A, E>) => Effect.andThen(prove, effect)

  const answer = <A>(method: string, call: (client: PublicClient) => Promise<A>) =>
    proven(
      attempt(method, call).pipe(
        Effect.mapError((error) => {
          const reason = error._tag === "NodeRefused" ? revertReason(error.cause) : undefined
          return reason === undefined ? asUnavailable(method)(error) : new CallReverted({ reason })
        })
      )
    )
  return {
    token,
    unavailable,
    ask: (method, call) => proven(askUnproven(method, call)),
    call: (call, block) => answer("eth_call", (node) => ethCall(node, call, block)),
    estimate: (call) =>
      answer("eth_estimateGas", async (node) =>
        BigInt(await node.request({ method: "eth_estimateGas", params: [rpcCall(call), "pending"] }))
      ),
    isNonceSpent: (from, nonce, block) => {
      const call = { abi: usdcAbi, functionName: "authorizationState", args: [from, nonce] } as const
      return Effect.flatMap(proven(read(encodeFunctionData(call), block)), (data) =>
        decode("authorizationState", () => decodeFunctionResult({ ...call, data }))
      )
    },
    balanceOf: (owner) => {
      const call = { abi: usdcAbi, functionName: "balanceOf", args: [owner] } as const
      return Effect.flatMap(proven(read(encodeFunctionData(call), "latest")), (data) =>
        decode("balanceOf", () => decodeFunctionResult({ ...call, data }))
      )
    }
  }
}

const ethCall = (client: PublicClient, call: EvmCall, block?: bigint | "latest"): Promise<Hex> =>
  client.request({
    method: "eth_call",
    params: [rpcCall(call), typeof block === "bigint" ? numberToHex(block) : (block ?? "pending")]
  })

const rpcCall = ({ data, from, gas, to }: EvmCall) => ({
  to,
  data,
  ...(from === undefined ? {} : { from }),
  ...(gas === undefined ? {} : { gas: numberToHex(gas) })
})

/** Reverted: JSON-RPC code 3; older nodes say so in words only, and so do all of them when gas runs out. */
const revertedCode = 3
const revertedWords = /revert|out of gas|outofgas|gas required exceeds|invalid opcode|intrinsic gas/i
const errorText = parseAbi(["error Error(string)"])

const revertReason = (cause: unknown): string | undefined => {
  const { code, data, message } = rpcError(cause)
  if (code === undefined || (code !== revertedCode && !revertedWords.test(message))) return undefined
  return printable(revertText(data) ?? message.replace(/^.*execution reverted:? ?/i, "")) || "the call is reverted"
}

/** Of `Error(string)`, which is what the token reverts with. */
const revertText = (data: unknown): string | undefined => {
  if (!isHex(data)) return undefined
  try {
    return decodeErrorResult({ abi: errorText, data }).args[0]
  } catch {
    // Another error than Error(string): the node's words must do.
    return undefined
  }
}

/** What the node said, wherever viem put it. */
export const rpcError = (
  cause: unknown
): { readonly code?: number; readonly message: string; readonly data?: unknown } => {
  if (!(cause instanceof BaseError)) return { message: "" }
  const found = cause.walk((inner) => inner instanceof Error && "code" in inner && inner.name === "RpcRequestError")
  if (!(found instanceof BaseError) || !("code" in found) || typeof found.code !== "number") return { message: "" }
  return { code: found.code, message: found.details, data: "data" in found ? found.data : undefined }
}

const kindOf = (cause: unknown): string => {
  const { code } = rpcError(cause)
  if (code !== undefined) return `error ${code}`
  if (!(cause instanceof BaseError)) return "no answer that can be read"
  const status = "status" in cause && typeof cause.status === "number" ? ` ${cause.status}` : ""
  return `${cause.name}${status}`
}

const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, "?").slice(0, reasonCharsMax)
