/**
 * Verifies wallet signatures one at a time and caches the valid ones.
 *
 * Invariants: the event loop runs between two verifications, so that many at once delay other work by one verification at
 * most; wallets take turns, so that many for one do not stand before those of others; a cache entry is valid for exactly
 * one address, text and signature; a contract's answer is not cached, because contracts can change their owners.
 */
import { Context, Effect, Layer, PartitionedSemaphore } from "effect"
import { LRUCache } from "lru-cache"
import { base58, base64 } from "@scure/base"
import type { Hex } from "viem"
import { traced } from "@muniment/domain/traced"
import { sha256Hex } from "./CanonicalJson.ts"
import { ContractWallets } from "./ContractWallets.ts"
import { ed25519SignatureBytes, ed25519Verify } from "./Ed25519.ts"
import { solanaPublicKey, type WalletAddress } from "./WalletAddress.ts"

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

/**
 * Verification of wallet signatures (contract: Wallet signatures). EVM: EIP-191 personal message, 65 bytes in hex. Solana:
 * Ed25519 over the UTF-8 bytes, base64 or base58.
 *
 * Invariants: any signature text is answered with true or false, never an error; a key's signature of a text has one
 * accepted value (low s as in EIP-2, recovery byte 27 or 28, strict Ed25519), so no second one can be derived from it.
 */
interface SignedMessage {
  readonly wallet: WalletAddress
  readonly message: string
  readonly signature: string
}

/** Longer signatures are refused unread; only contract wallets have long ones. */
const signatureLengthMax = 8_192

const evmSignaturePattern = /^(?:0x)?([0-9a-fA-F]{128})(1[bcBC])$/
const hexPattern = /^(?:0x)?((?:[0-9a-fA-F]{2})+)$/
/** Half the order of secp256k1 (EIP-2): a larger s mirrors a smaller one. */
const lowSMax = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
/** 64 bytes are 86 characters and two of padding in base64, at most 88 in base58. */
const solanaSignatureLengthMax = 88

/** Takes 1 to 2 ms of the event loop; `SignatureVerifier` spreads and caches it. */
export const verifyWalletSignature = traced("WalletSignature.verify")(function* (signed: SignedMessage) {
  if (signed.signature.length > signatureLengthMax) return false
  if (yield* isSignedByKey(signed)) return true
  return yield* isSignedByContract(signed)
})

/** True if the key of the address signed; false for contract wallets. */
const isSignedByKey = (signed: SignedMessage): Effect.Effect<boolean> =>
  signed.wallet.family === "evm" ? isSignedByEvmKey(signed) : Effect.sync(() => isSignedBySolanaKey(signed))

/** True if the contract at the address accepts; false unless `ContractWallets` is provided. */
const isSignedByContract = Effect.fnUntraced(function* ({ message, signature, wallet }: SignedMessage) {
  const contracts = yield* ContractWallets
  const digits = hexPattern.exec(signature)?.[1]
  if (contracts === undefined || wallet.family !== "evm" || digits === undefined) return false
  return yield* contracts.isSignedBy({ address: hexOf(wallet.address), message, signature: `0x${digits}` })
})

const isSignedByEvmKey = ({ message, signature, wallet }: SignedMessage): Effect.Effect<boolean> => {
  const match = evmSignaturePattern.exec(signature)
  if (match === null || BigInt(`0x${match[1]!.slice(64)}`) > lowSMax) return Effect.succeed(false)
  return Effect.promise(async () => {
    // Loaded with the first signature: most services see none, and it is a tenth of what a start reads.
    const { recoverMessageAddress } = await import("viem/utils")
    return recoverMessageAddress({ message, signature: `0x${match[1]}${match[2]}` }).then(
      (address) => address.toLowerCase() === wallet.address,
      // Not every r and s is a signature: r may not be on the curve.
      () => false
    )
  })
}

const isSignedBySolanaKey = ({ message, signature, wallet }: SignedMessage): boolean => {
  const publicKey = solanaPublicKey(wallet.address)
  const bytes = solanaSignature(signature)
  return (
    publicKey !== undefined && bytes !== undefined && ed25519Verify(bytes, new TextEncoder().encode(message), publicKey)
  )
}

/** Padding identifies base64: base58 has no `=`. */
const solanaSignature = (text: string): Uint8Array | undefined => {
  if (text.length > solanaSignatureLengthMax) return undefined
  try {
    const bytes = text.endsWith("==") ? base64.decode(text) : base58.decode(text)
    return bytes.length === ed25519SignatureBytes ? bytes : undefined
  } catch {
    // The codecs throw on invalid characters and on stray bits in the last one.
    return undefined
  }
}

const hexOf = (address: string): Hex => `0x${address.slice(2)}`
