/**
 * Requests signed by a wallet (contract: Wallet signatures): the text, and the headers that carry the signature. The
 * full text names the service and the headers that choose what the request does, so that no other service and no other
 * headers can use the signature: `METHOD|PATH|BODYHASH|TIMESTAMP|ORIGIN|HEADERSHASH`. The hash is WebCrypto's, so
 * browsers need a secure origin.
 */
import { utf8 } from "./CanonicalJson.ts"
import { webCrypto } from "./Runtime.ts"

/** Holder of the key: a browser wallet, a key in memory, a signing service. */
export interface Wallet {
  /** EVM, `0x` and 40 hex digits, or a Solana address in base58. */
  readonly address: string
  /** EVM: personal message (EIP-191) in hex. Solana: Ed25519 over the UTF-8 bytes in Base64. */
  readonly sign: (message: string) => Promise<string>
}

export interface RequestToSign {
  readonly method: string
  /** With its version prefix and query, exactly as it is sent. */
  readonly path: string
  readonly body: string | undefined
  readonly timestampMillis: number
  /** For the full text; without it the plain one is signed, `METHOD|PATH|BODYHASH|TIMESTAMP`. */
  readonly bound?:
    | {
        /** `scheme://host[:port]` of the service's public URL. */
        readonly audience: string
        /** Headers of the request by lower-case name. */
        readonly headers: Readonly<Record<string, string>>
      }
    | undefined
}

/** Headers that the full text covers, in its order. */
const boundHeaders = ["idempotency-key", "x-agent-id", "x-grants", "x-subject-id", "x-thread-id"]

export const walletHeaders = async (wallet: Wallet, request: RequestToSign): Promise<Record<string, string>> => ({
  "x-wallet-address": wallet.address,
  "x-wallet-timestamp": String(request.timestampMillis),
  ...(request.bound !== undefined && { "x-wallet-audience": request.bound.audience }),
  "x-wallet-signature": await wallet.sign(await walletRequestText(request))
})

export const walletRequestText = async (request: RequestToSign): Promise<string> => {
  const { body, bound, method, path, timestampMillis } = request
  const plain = [method.toUpperCase(), path, await sha256Hex(utf8(body ?? "")), timestampMillis]
  return (bound === undefined ? plain : [...plain, bound.audience, await sha256Hex(linesOf(bound.headers))]).join("|")
}

/** `name:value` and a line feed for each of `boundHeaders` that is sent; a character of a header is one byte. */
const linesOf = (headers: Readonly<Record<string, string>>): Uint8Array<ArrayBuffer> => {
  const lines = boundHeaders.flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [`${name}:${value.replace(/^[ \t]+|[ \t]+$/g, "")}\n`]
  })
  return Uint8Array.from(lines.join(""), (character) => character.charCodeAt(0))
}

const sha256Hex = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> => {
  const { subtle } = await webCrypto()
  const digest = await subtle.digest("SHA-256", bytes)
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")
}
