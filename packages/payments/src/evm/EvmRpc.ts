/**
 * Calls of an EVM node, bounded in time. A failure is the network's, never the payment's; only a revert reported by the
 * node is an answer. The first use verifies the chain id and the token's EIP-712 domain, so that a wrong URL neither
 * refuses valid payments nor accepts worthless ones.
 *
 * Failures are described by names and codes: texts of libraries and nodes may contain the URL with its key, or the
 * payer's signature.
 */
import { Data, Effect } from "effect"
import { BaseError, createPublicClient, decodeErrorResult, domainSeparator, http, isHex, parseAbi } from "viem"
import { decodeFunctionResult, encodeFunctionData, numberToHex } from "viem"
import type { Address, Hex, PublicClient } from "viem"
import { Limits } from "@muniment/domain/Limits"
import { ChainUnavailable } from "../chain/PaymentChain.ts"
import { type EvmToken, usdcAbi } from "./EvmAuthorization.ts"

interface EvmCall {
  readonly to: Address
  readonly data: Hex
  readonly from?: Address | undefined
  readonly gas?: bigint
}

/** Thrown by the node or the transport; never passed on, because it may quote the request. */
class NodeRefused extends Data.TaggedError("NodeRefused")<{ readonly cause: unknown }> {}

/** The chain's answer to a call or an estimate: it would be reverted. `reason` is printable and short. */
export class CallReverted extends Data.TaggedError("CallReverted")<{ readonly reason: string }> {}

export interface EvmRpc {
  readonly token: EvmToken
  readonly ask: <A>(method: string, call: (client: PublicClient) => Promise<A>) => Effect.Effect<A, ChainUnavailable>
  /** -> returned bytes. `block`: by default the pending one, whose time applies to an authorisation. */
  readonly call: (call: EvmCall, block?: bigint | "latest") => Effect.Effect<Hex, CallReverted | ChainUnavailable>
  /** -> gas. */
  readonly estimate: (call: EvmCall) => Effect.Effect<bigint, CallReverted | ChainUnavailable>
  /** True if this nonce of this payer was used or cancelled by the end of the block. */
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
      // The transport's own limit covers only the headers.
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
    Effect.try({ try: decoded, catch: () => unavailable(`${what}: the token's answer cannot be decoded`) })

  const prove = Effect.gen(function* () {
    if (isProven) return
    const chainId = yield* askUnproven("eth_chainId", (node) => node.getChainId())
    const wanted = token.domain.chainId
    if (chainId !== wanted) return yield* unavailable(`the node serves chain ${chainId}; expected ${wanted}`)
    const separator = yield* read(separatorCall, "latest")
    const ours = domainSeparator({ domain: { ...token.domain, verifyingContract: token.address } })
    if (separator !== ours) return yield* unavailable(foreignDomain)
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

const separatorCall = encodeFunctionData({ abi: usdcAbi, functionName: "DOMAIN_SEPARATOR" })
const foreignDomain = "the token's EIP-712 domain differs from the one that payers sign for"

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

/**
 * Reverted: JSON-RPC code 3. Of other ways in which a contract halts nodes speak in the message alone, in the words of
 * geth (`core/vm/errors.go`), revm (`HaltReason`) or "VM execution error".
 */
const revertedCode = 3
const revertedWords = new RegExp(
  [
    "revert|out ?of ?gas|gas required exceeds|gas uint64 overflow|intrinsic gas|out ?of ?funds",
    "invalid (?:fe)?opcode|invalidfeopcode|opcode ?not ?found|not ?activated|invalid ?jump|invalid code",
    "stack ?(?:underflow|overflow|limit)|out ?of ?offset|out of bounds|call ?too ?deep|max call depth",
    "write protection|state ?change ?during|call ?not ?allowed|precompile ?error|code ?size|size ?limit|collision",
    "\\bvm (?:execution|exception)"
  ].join("|"),
  "i"
)
const errorText = parseAbi(["error Error(string)"])

const revertReason = (cause: unknown): string | undefined => {
  const { code, data, message } = rpcError(cause)
  if (code === undefined || (code !== revertedCode && !revertedWords.test(message))) return undefined
  return printable(revertText(data) ?? message.replace(/^.*execution reverted:? ?/i, "")) || "the call is reverted"
}

/** Text of `Error(string)`, with which the token reverts. */
const revertText = (data: unknown): string | undefined => {
  if (!isHex(data)) return undefined
  try {
    return decodeErrorResult({ abi: errorText, data }).args[0]
  } catch {
    // Not Error(string): use the node's message.
    return undefined
  }
}

/** The node's message, wherever viem puts it. */
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
  if (!(cause instanceof BaseError)) return "unreadable answer"
  const status = "status" in cause && typeof cause.status === "number" ? ` ${cause.status}` : ""
  return `${cause.name}${status}`
}

const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, "?").slice(0, reasonCharsMax)
