/**
 * Contract wallets (ERC-1271): they have no key, so the chain verifies their signatures. Off unless the operator switches
 * them on; then an EVM signature that fails as a key's is passed to the contract.
 *
 * Invariants: an endpoint that fails or is slow counts as "no"; calls are bounded in number and time, and by caller
 * (`ContractChecks`), because anyone can send such a signature; a "no" of the chain is kept for a short time, a "yes" is
 * not, because contracts can change their owners.
 */
import { Clock, Context, Effect, Layer, Semaphore } from "effect"
import { LRUCache } from "lru-cache"
import type { Hex } from "viem"
import { sha256Hex } from "./CanonicalJson.ts"

export interface ContractWalletQuestion {
  /** Lower-case EVM address. */
  readonly address: Hex
  readonly message: string
  readonly signature: Hex
}

export interface ContractWalletVerifier {
  readonly isSignedBy: (question: ContractWalletQuestion) => Effect.Effect<boolean>
}

/** Runs a question to the chain on the caller's budget; false without asking once that is used up. */
export type ContractBudget = (question: Effect.Effect<boolean>) => Effect.Effect<boolean>

const callsMax = 8
const callTimeoutMillis = 5_000
/** How long a refusal is kept: a wallet that is deployed, or changes its owners, is accepted this much later. */
export const refusalMillis = 30_000
/** About 150 bytes each. */
export const refusalsMax = 10_000
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

/** Budget of the current caller; without bound by default. */
export const ContractChecks = Context.Reference<ContractBudget>("muniment/trust/ContractChecks", {
  defaultValue: () => (question) => question
})

/** `no`: the contract or the chain refuses. `no contract`: nothing is at the address. `unknown`: the endpoint failed. */
type ChainAnswer = "yes" | "no" | "no contract" | "unknown"

/** Calls the chain by the operator's RPC endpoint; a failed call is logged and counts as "no". */
export const layerRpc = (url: string): Layer.Layer<never> =>
  Layer.effect(
    ContractWallets,
    Effect.gen(function* () {
      const ask = yield* chainAt(url)
      const turns = yield* Semaphore.make(callsMax)
      const refusedUntil = new LRUCache<string, number>({ max: refusalsMax })
      const isRefused = (id: string, nowMillis: number) => (refusedUntil.get(id) ?? 0) > nowMillis
      return {
        isSignedBy: Effect.fn("ContractWallets.isSignedBy")(function* (question) {
          const ids = { address: question.address, question: sha256Hex(JSON.stringify(question)) }
          if (isRefused(ids.address, yield* Clock.currentTimeMillis)) return false
          if (isRefused(ids.question, yield* Clock.currentTimeMillis)) return false
          const onBudget = yield* ContractChecks
          return yield* onBudget(
            Effect.gen(function* () {
              const answer = yield* turns.withPermit(ask(question))
              const now = yield* Clock.currentTimeMillis
              if (answer === "no contract") refusedUntil.set(ids.address, now + refusalMillis)
              if (answer === "no") refusedUntil.set(ids.question, now + refusalMillis)
              return answer === "yes"
            })
          )
        })
      }
    })
  )

const chainAt = Effect.fnUntraced(function* (url: string) {
  // Loaded only if configured: viem's clients are large.
  const viem = yield* Effect.promise(() => import("viem"))
  const { readContract } = yield* Effect.promise(() => import("viem/actions"))
  const client = viem.createClient({ transport: viem.http(url, { timeout: callTimeoutMillis, retryCount: 0 }) })
  const isIn = (cause: unknown, ...kinds: ReadonlyArray<abstract new (...all: ReadonlyArray<never>) => unknown>) =>
    cause instanceof viem.BaseError && cause.walk((inner) => kinds.some((kind) => inner instanceof kind)) !== null

  return ({ address, message, signature }: ContractWalletQuestion): Effect.Effect<ChainAnswer> =>
    Effect.tryPromise(() =>
      readContract(client, {
        address,
        abi: isValidSignatureAbi,
        functionName: "isValidSignature",
        args: [viem.hashMessage(message), signature]
      })
    ).pipe(
      Effect.map((answer): ChainAnswer => (answer === magicValue ? "yes" : "no")),
      // Only the kind of a failure is logged: viem's texts contain the endpoint, which may contain a key.
      Effect.catch(({ cause }): Effect.Effect<ChainAnswer> => {
        if (isIn(cause, viem.HttpRequestError, viem.TimeoutError)) {
          return Effect.as(Effect.logWarning("contract wallets: the RPC endpoint does not answer"), "unknown")
        }
        // A contract that halts in any way has refused.
        return Effect.succeed(isIn(cause, viem.ContractFunctionZeroDataError) ? "no contract" : "no")
      })
    )
})
