/**
 * Wallet addresses (contract: Wallet signatures): EVM, `0x` and 40 hex digits in any case, normalised to lower case;
 * Solana, base58 of an Ed25519 public key, unchanged. A normalised address is also the id of the account that the wallet
 * opens by itself.
 */
import { base58 } from "@scure/base"
import { ed25519KeyBytes } from "./Ed25519.ts"

const walletFamilies = ["evm", "sol"] as const
type WalletFamily = (typeof walletFamilies)[number]

export interface WalletAddress {
  readonly family: WalletFamily
  /** Normalised. */
  readonly address: string
}

const evmPattern = /^0x[0-9a-fA-F]{40}$/
/** 32 bytes are 32 to 44 characters; checked first, because decoding takes quadratic time. */
const base58Pattern = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/

/** Parses an address; undefined if it is none. */
export const parseWalletAddress = (text: string): WalletAddress | undefined => {
  if (evmPattern.test(text)) return { family: "evm", address: text.toLowerCase() }
  return solanaPublicKey(text) === undefined ? undefined : { family: "sol", address: text }
}

/** Public key, 32 bytes, of a Solana address, or undefined. */
export const solanaPublicKey = (address: string): Uint8Array | undefined => {
  if (!base58Pattern.test(address)) return undefined
  const key = base58.decode(address)
  return key.length === ed25519KeyBytes ? key : undefined
}

export const solanaAddress = (publicKey: Uint8Array): string => base58.encode(publicKey)

/** True if two names are equal; case matters except in EVM addresses. */
export const isSameAddress = (one: string, other: string): boolean =>
  one === other || (evmPattern.test(one) && evmPattern.test(other) && one.toLowerCase() === other.toLowerCase())
