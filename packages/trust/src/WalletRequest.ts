/**
 * Requests signed by a wallet (contract: Wallet signatures): three headers, and a signature over
 * `METHOD|PATH|BODYHASH|TIMESTAMP`.
 *
 * Invariants: a signature is bound to the method, the path, the raw bytes of the body and a time at most 120 s away, both
 * ends included. Within that window it may be repeated, because a paying client repeats the headers with its payment. A
 * path signed without its query does not bind the query.
 */
import { Clock, Effect } from "effect"
import { sha256Hex } from "./CanonicalJson.ts"
import { SignatureVerifier } from "./SignatureVerifier.ts"
import { parseWalletAddress, type WalletAddress } from "./WalletAddress.ts"
import type { WalletSigner } from "./WalletSigner.ts"

export const walletHeaders = {
  address: "x-wallet-address",
  timestamp: "x-wallet-timestamp",
  signature: "x-wallet-signature"
} as const

export const walletWindowMillis = 120_000

export interface SignedRequest {
  readonly method: string
  /** Path with query, as in the request line. */
  readonly url: string
  /** Raw body; empty if there is none. */
  readonly body: Uint8Array
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Version segment of REST paths, as in `/v1`. */
  readonly versionPrefix: string
}

export type WalletOutcome =
  | { readonly _tag: "Verified"; readonly wallet: WalletAddress }
  | {
      readonly _tag: "Refused"
      readonly code: "invalid_signature" | "timestamp_out_of_range"
      /** For the caller. */
      readonly error: string
    }

/** Text signed by a wallet; `path` in any of the accepted forms. */
export interface RequestText {
  readonly method: string
  readonly path: string
  readonly body: string | Uint8Array
  readonly timestampMillis: number
}

/** True if the caller tries to authenticate by wallet: any of the three headers is present. */
export const hasWalletHeaders = (headers: SignedRequest["headers"]): boolean =>
  Object.values(walletHeaders).some((name) => headers[name] !== undefined)

export const walletRequestText = ({ body, method, path, timestampMillis }: RequestText): string =>
  textOf(method, path, sha256Hex(body), String(timestampMillis))

/** The three headers for a request, by lower-case name. */
export const signWalletRequest = async (signer: WalletSigner, text: RequestText): Promise<Record<string, string>> => ({
  [walletHeaders.address]: signer.wallet.address,
  [walletHeaders.timestamp]: String(text.timestampMillis),
  [walletHeaders.signature]: await signer.sign(walletRequestText(text))
})

/** Verifies the signature of a request. */
export const verifyWalletRequest = Effect.fn("WalletRequest.verify")(function* (
  request: SignedRequest
): Effect.fn.Return<WalletOutcome, never, SignatureVerifier> {
  const { headers } = request
  const wallet = parseWalletAddress(headers[walletHeaders.address] ?? "")
  const signature = headers[walletHeaders.signature]
  if (wallet === undefined || signature === undefined || signature === "") {
    return refused("invalid_signature", `send ${Object.values(walletHeaders).join(", ")}`)
  }
  // Times first: they are cheap to check, and the caller learns the reason.
  const timestamp = headers[walletHeaders.timestamp] ?? ""
  const now = yield* Clock.currentTimeMillis
  if (!timestampPattern.test(timestamp) || Math.abs(now - Number(timestamp)) > walletWindowMillis) {
    return refused("timestamp_out_of_range", `${walletHeaders.timestamp} is the time in milliseconds, within 120 s`)
  }
  const verifier = yield* SignatureVerifier
  const bodyHash = sha256Hex(request.body)
  for (const path of pathSpellings(request.url, request.versionPrefix)) {
    const message = textOf(request.method, path, bodyHash, timestamp)
    if (yield* verifier.verify({ wallet, message, signature })) return { _tag: "Verified", wallet }
  }
  return refused("invalid_signature", "the signature is not by that wallet over this request")
})

/** Accepted forms of a path, the usual ones first: without and with the version prefix, each with and without query. */
export const pathSpellings = (url: string, versionPrefix: string): ReadonlyArray<string> => {
  const below = url.startsWith(`${versionPrefix}/`) ? [url.slice(versionPrefix.length)] : []
  return [...new Set([...below, url].flatMap((spelling) => [spelling, withoutQuery(spelling)]))]
}

/** No sign, no leading zero: one text for one time. */
const timestampPattern = /^[1-9][0-9]{0,14}$/

const textOf = (method: string, path: string, bodyHash: string, timestamp: string): string =>
  [method.toUpperCase(), path, bodyHash, timestamp].join("|")

const withoutQuery = (url: string): string => url.split("?", 1)[0] ?? ""

const refused = (code: "invalid_signature" | "timestamp_out_of_range", error: string): WalletOutcome => ({
  _tag: "Refused",
  code,
  error
})
