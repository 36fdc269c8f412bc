/**
 * Requests signed by a wallet (contract: Wallet signatures): the text `METHOD|PATH|BODYHASH|TIMESTAMP`, and
 * the three headers that carry the signature. The hash is WebCrypto's, so browsers need a secure origin.
 */
import { utf8 } from "./CanonicalJson.ts"

/** Holder of the key: a browser wallet, a key in memory, a signing service. */
export interface Wallet {
  /** EVM, `0x` and 40 hex digits, or a Solana address in base58. */
  readonly address: string
  /** EVM: personal message (EIP-191) in hex. Solana: Ed25519 over the UTF-8 bytes in Base64. */
  readonly sign: (message: string) => Promise<string>
}

export interface RequestToSign {
  readonly method: string
  /** Below the version prefix, with its query, exactly as it is sent. */
  readonly path: string
  readonly body: string | undefined
  readonly timestampMillis: number
}

export const walletHeaders = async (wallet: Wallet, request: RequestToSign): Promise<Record<string, string>> => ({
  "x-wallet-address": wallet.address,
  "x-wallet-timestamp": String(request.timestampMillis),
  "x-wallet-signature": await wallet.sign(await walletRequestText(request))
})

export const walletRequestText = async ({ body, method, path, timestampMillis }: RequestToSign): Promise<string> =>
  [method.toUpperCase(), path, await sha256Hex(body ?? ""), timestampMillis].join("|")

const sha256Hex = async (text: string): Promise<string> => {
  const digest = await globalThis.crypto.subtle.digest("SHA-256", utf8(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")
}
