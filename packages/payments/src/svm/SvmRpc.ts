/**
 * Calls of a Solana RPC node, bounded in time. An error is the network's, never the payment's. The first call verifies
 * the cluster by its genesis hash, so that a wrong URL neither refuses valid payments nor accepts worthless ones.
 *
 * Failures are described by codes only: texts of libraries and nodes may contain the URL with its key.
 */
import { Data, Effect } from "effect"
import { createSolanaRpc, isSolanaError, SOLANA_ERROR__RPC__TRANSPORT_HTTP_ERROR, type SolanaRpcApi } from "@solana/kit"
import type { Rpc } from "@solana/kit"
import { Limits } from "@muniment/domain/Limits"
import { type PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"

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
