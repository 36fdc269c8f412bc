/**
 * Signs with a wallet's key, for the command line and tests; the server has no wallet keys. Key texts: EVM, 32 bytes in
 * hex; Solana, seed and public key (64 bytes) in base58 as exported by wallets, or as a JSON array as written by
 * `solana-keygen`. Base58 of 32 bytes is refused: it may be an address given by mistake.
 */
import { base58, base64 } from "@scure/base"
import { Schema } from "effect"
import { privateKeyToAccount } from "viem/accounts"
import { ed25519KeyBytes, ed25519PublicKey, ed25519Sign } from "./Ed25519.ts"
import { solanaAddress, type WalletAddress } from "./WalletAddress.ts"

export interface WalletSigner {
  readonly wallet: WalletAddress
  /** EVM `0x` hex, Solana base64. */
  readonly sign: (message: string) => Promise<string>
}

/** The text is not a wallet key. It is not repeated, because it may be a key with a typing error. */
export class InvalidWalletKey extends Schema.TaggedError<InvalidWalletKey>()("InvalidWalletKey", {
  reason: Schema.String
}) {
  override get message(): string {
    return `no wallet key: ${this.reason}`
  }
}

const evmKeyPattern = /^(?:0x)?([0-9a-fA-F]{64})$/
const keyTextLengthMax = 1_024

/** Throws `InvalidWalletKey`. */
export const walletSignerOf = (keyText: string): WalletSigner => {
  const text = keyText.trim()
  if (text.length > keyTextLengthMax) throw new InvalidWalletKey({ reason: "too long" })
  return evmKeyPattern.test(text) ? evmSigner(text) : solanaSigner(solanaKeyBytes(text))
}

/** `key` is 64 hex digits, with or without `0x`. */
export const evmSigner = (key: string): WalletSigner => {
  const account = evmAccount(key)
  return {
    wallet: { family: "evm", address: account.address.toLowerCase() },
    sign: (message) => account.signMessage({ message })
  }
}

/** `key` is a seed of 32 bytes, or a seed and its public key, 64 bytes. */
export const solanaSigner = (key: Uint8Array): WalletSigner => {
  const seed = key.slice(0, ed25519KeyBytes)
  if (key.length !== ed25519KeyBytes && key.length !== 2 * ed25519KeyBytes) {
    throw new InvalidWalletKey({ reason: "a Solana key has 32 or 64 bytes" })
  }
  const publicKey = ed25519PublicKey(seed)
  if (key.length > ed25519KeyBytes && !Buffer.from(publicKey).equals(key.subarray(ed25519KeyBytes))) {
    throw new InvalidWalletKey({ reason: "the public half does not belong to the secret half" })
  }
  return {
    wallet: { family: "sol", address: solanaAddress(publicKey) },
    sign: (message) => Promise.resolve(base64.encode(ed25519Sign(new TextEncoder().encode(message), seed)))
  }
}

const evmAccount = (key: string) => {
  const digits = evmKeyPattern.exec(key)?.[1]
  if (digits === undefined) throw new InvalidWalletKey({ reason: "an EVM key is 32 bytes in hex" })
  try {
    return privateKeyToAccount(`0x${digits}`)
  } catch {
    throw new InvalidWalletKey({ reason: "zero, or beyond the order of the curve" })
  }
}

const decodeByteList = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))))
)

const solanaKeyBytes = (text: string): Uint8Array => {
  const decode = text.startsWith("[") ? () => Uint8Array.from(decodeByteList(text)) : () => base58.decode(text)
  let bytes: Uint8Array
  try {
    bytes = decode()
  } catch {
    throw new InvalidWalletKey({ reason: "neither hex nor base58 nor a list of bytes" })
  }
  if (bytes.length !== 2 * ed25519KeyBytes) throw new InvalidWalletKey({ reason: "a Solana key text has 64 bytes" })
  return bytes
}
