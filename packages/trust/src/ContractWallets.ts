/**
 * Contract wallets (ERC-1271): they have no key, so the chain verifies their signatures. Off unless the operator
 * configures an RPC endpoint; then an EVM signature that fails as a key's is passed to the contract.
 *
 * Invariants: an endpoint that fails or is slow counts as "no"; calls are bounded in number and time, because anyone can
 * send such a signature.
 */
import { Context, Effect, Layer, Semaphore } from "effect"
import type { Hex } from "viem"

export interface ContractWalletQuestion {
  /** Lower-case EVM address. */
  readonly address: Hex
  readonly message: string
  readonly signature: Hex
}

export interface ContractWalletVerifier {
  readonly isSignedBy: (question: ContractWalletQuestion) => Effect.Effect<boolean>
}

const callsMax = 8
const callTimeoutMillis = 5_000
/** Returned by `isValidSignature` for a valid signature (ERC-1271). */
const magicValue = "0x1626ba7e"

const isValidSignatureAbi = [
  {
    type: "function",
    name: "isValidSignature",
    stateMutability: "view",
    inputs: [
      { name: "hash", type: "bytes32" },
      { name: "signature", type: "bytes" }
    ],
    outputs: [{ name: "", type: "bytes4" }]
  }
] as const

/** Undefined, the default: there are no contract wallets. */
export const ContractWallets = Context.Reference<ContractWalletVerifier | undefined>("muniment/trust/ContractWallets", {
  defaultValue: () => undefined
})

/** Calls the chain by the operator's RPC endpoint; a failed call is logged and counts as "no". */
export const layerRpc = (url: string): Layer.Layer<never> =>
  Layer.effect(
    ContractWallets,
    Effect.gen(function* () {
      // Loaded only if configured: viem's clients are large.
      const { BaseError, createClient, hashMessage, http, HttpRequestError, TimeoutError } = yield* Effect.promise(
        () => import("viem")
      )
      const { readContract } = yield* Effect.promise(() => import("viem/actions"))
      const client = createClient({ transport: http(url, { timeout: callTimeoutMillis, retryCount: 0 }) })
      const turns = yield* Semaphore.make(callsMax)
      return {
        isSignedBy: Effect.fn("ContractWallets.isSignedBy")(({ address, message, signature }) =>
          Effect.tryPromise(() =>
            readContract(client, {
              address,
              abi: isValidSignatureAbi,
              functionName: "isValidSignature",
              args: [hashMessage(message), signature]
            })
          ).pipe(
            Effect.map((answer) => answer === magicValue),
            // Only the kind of a failure is logged: viem's texts contain the endpoint, which may contain a key.
            Effect.catch(({ cause }) => {
              const isEndpoint =
                cause instanceof BaseError &&
                cause.walk((inner) => inner instanceof HttpRequestError || inner instanceof TimeoutError) !== null
              const log = isEndpoint
                ? Effect.logWarning("contract wallets: the RPC endpoint does not answer")
                : Effect.logDebug("contract wallets: no such contract, or it refused")
              return Effect.as(log, false)
            }),
            turns.withPermit
          )
        )
      }
    })
  )
