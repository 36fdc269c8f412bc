/**
 * Contract wallets (ERC-1271): no key signs for them, so the chain must be asked. Off unless the
 * operator names an RPC endpoint; then an EVM signature that no key explains is put to the contract.
 *
 * Invariants: an endpoint that fails or is slow answers nobody's question with yes; calls are few at a
 * time and bounded in time, since anybody may send such a signature.
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
/** What `isValidSignature` returns for a valid one (ERC-1271). */
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

/** Asks the chain behind the operator's RPC endpoint; a failed call is logged and counts as no. */
export const layerRpc = (url: string): Layer.Layer<never> =>
  Layer.effect(
    ContractWallets,
    Effect.gen(function* () {
      // Loaded only where it is configured: viem's clients are large.
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
            // Of a failure only its kind is told: viem's texts repeat the endpoint, which may hold a key.
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
