/**
 * The operator's Solana key, in the formats of wallets and `solana-keygen`. Signs messages and has an address; the seed
 * stays in a closure, so that no log or error can contain it.
 */
import { Redacted } from "effect"
import { ed25519KeyBytes, ed25519PublicKey, ed25519Sign } from "@muniment/trust/Ed25519"
import { type Address, getAddressDecoder, getBase16Encoder, getBase58Encoder } from "@solana/kit"

export interface SolanaKey {
  readonly address: Address
  /** Ed25519 signature, 64 bytes; the same for the same message. */
  readonly sign: (message: Uint8Array) => Uint8Array
}

/**
 * Reads a 64-byte secret key (seed and public key) as base58 or as a JSON array of numbers, or a 32-byte
 * seed as base58 or hex. Undefined for anything else, and if the public half does not belong to the seed.
 */
export const parseSolanaKey = (key: Redacted.Redacted<string>): SolanaKey | undefined => {
  const bytes = keyBytes(Redacted.value(key).trim())
  if (bytes === undefined) return undefined
  const seed = bytes.slice(0, ed25519KeyBytes)
  const publicKey = ed25519PublicKey(seed)
  const written = bytes.slice(ed25519KeyBytes)
  if (written.length > 0 && !publicKey.every((byte, at) => byte === written[at])) return undefined
  return { address: getAddressDecoder().decode(publicKey), sign: (message) => ed25519Sign(message, seed) }
}

const secretKeyBytes = 2 * ed25519KeyBytes
/** 64 bytes are at most 88 characters; checked first, because decoding takes quadratic time. */
const base58Pattern = /^[1-9A-HJ-NP-Za-km-z]{32,88}$/
const hexSeedPattern = /^(0x)?[0-9a-fA-F]{64}$/
const jsonPattern = /^\[[\d\s,]{127,512}\]$/

const keyBytes = (text: string): Uint8Array | undefined => {
  if (hexSeedPattern.test(text)) return new Uint8Array(getBase16Encoder().encode(text.replace(/^0x/, "").toLowerCase()))
  if (jsonPattern.test(text)) return bytesOfJson(text)
  if (!base58Pattern.test(text)) return undefined
  const bytes = new Uint8Array(getBase58Encoder().encode(text))
  return bytes.length === ed25519KeyBytes || bytes.length === secretKeyBytes ? bytes : undefined
}

const bytesOfJson = (text: string): Uint8Array | undefined => {
  const numbers = text
    .slice(1, -1)
    .split(",")
    .map((one) => one.trim())
  const areBytes = numbers.every((one) => /^\d{1,3}$/.test(one) && Number(one) <= 255)
  return areBytes && numbers.length === secretKeyBytes ? Uint8Array.from(numbers, Number) : undefined
}
