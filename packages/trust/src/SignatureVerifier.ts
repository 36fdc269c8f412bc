/**
 * Verifies wallet signatures one at a time and caches the valid ones.
 *
 * Invariants: the event loop runs between two verifications, so that many at once delay other work by one verification at
 * most; wallets take turns, so that many for one do not stand before those of others; a cache entry is valid for exactly
 * one address, text and signature; a contract's answer is not cached, because contracts can change their owners.
 */
import { Context, Effect, Layer, PartitionedSemaphore } from "effect"
import { LRUCache } from "lru-cache"
import { traced } from "@muniment/domain/traced"
import { sha256Hex } from "./CanonicalJson.ts"
import { ContractWallets } from "./ContractWallets.ts"
import { isSignedByContract, isSignedByKey, signatureLengthMax, type SignedMessage } from "./WalletSignature.ts"

/** About 150 bytes each. */
const verifiedSignaturesMax = 10_000

export class SignatureVerifier extends Context.Service<
  SignatureVerifier,
  {
    readonly verify: (signed: SignedMessage) => Effect.Effect<boolean>
  }
>()("muniment/trust/SignatureVerifier") {
  /** Contract wallets are verified if `ContractWallets` is provided to this layer. */
  static readonly layer = Layer.effect(
    SignatureVerifier,
    Effect.gen(function* () {
      const contracts = yield* ContractWallets
      const turns = PartitionedSemaphore.makeUnsafe<string>({ permits: 1 })
      const verified = new LRUCache<string, true>({ max: verifiedSignaturesMax })

      const verifyInTurn = Effect.fnUntraced(function* (signed: SignedMessage, digest: string) {
        yield* Effect.yieldNow
        // Looked up again: the same signature may have been verified while this one waited.
        if (verified.get(digest) === true) return true
        const isSigned = yield* isSignedByKey(signed)
        if (isSigned) verified.set(digest, true)
        return isSigned
      })

      return SignatureVerifier.of({
        verify: traced("SignatureVerifier.verify")(function* (signed) {
          if (signed.signature.length > signatureLengthMax) return false
          const digest = digestOf(signed)
          if (verified.get(digest) === true) return true
          if (yield* turns.withPermit(signed.wallet.address)(verifyInTurn(signed, digest))) return true
          return yield* Effect.provideService(isSignedByContract(signed), ContractWallets, contracts)
        })
      })
    })
  )
}

const digestOf = ({ message, signature, wallet }: SignedMessage): string =>
  sha256Hex(JSON.stringify([wallet.address, message, signature]))

/** The service that a signed request or a grant was made for (contract: Wallet signatures, Grants). */
export interface Audience {
  /** Whether an origin, `scheme://host[:port]`, is this service's. */
  readonly isOwn: (origin: string) => boolean
  /** Name that callers are told to sign; undefined: the service was not told its name. */
  readonly name: string | undefined
  /** Whether what names no service is refused. */
  readonly isRequired: boolean
}
