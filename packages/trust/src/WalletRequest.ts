/**
 * Requests signed by a wallet (contract: Wallet signatures): headers, and a signature over one of two texts. The plain
 * one, `METHOD|PATH|BODYHASH|TIMESTAMP`, counts at every service. The full one, named by `x-wallet-audience`, adds the
 * origin of the service and a hash of the headers that decide what the request does:
 * `METHOD|PATH|BODYHASH|TIMESTAMP|ORIGIN|HEADERSHASH`.
 *
 * Invariants: a signature is bound to method, path, raw bytes of the body and a time at most
 * `Limits.signatureWindowMillis` away, both ends included; within that window it may be repeated, because a paying
 * client repeats the headers with its payment. Neither text reads as the other: one ends with digits, at most 15, the
 * other with 64.
 */
import { Clock, type Effect } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { traced } from "@muniment/domain/traced"
import { sha256Hex } from "./CanonicalJson.ts"
import { type Audience, SignatureVerifier } from "./SignatureVerifier.ts"
import { parseWalletAddress, type WalletAddress } from "./WalletAddress.ts"
import type { WalletSigner } from "./WalletSigner.ts"

const walletHeaders = {
  address: "x-wallet-address",
  timestamp: "x-wallet-timestamp",
  signature: "x-wallet-signature"
} as const

/** Origin of the service that the full text names; without it the plain text is signed. */
const audienceHeader = "x-wallet-audience"

/** Headers that a full text covers, in its order: they choose whose memories are touched, and which write is a repeat. */
export const boundHeaders = ["idempotency-key", "x-agent-id", "x-grants", "x-subject-id", "x-thread-id"] as const

type Headers = Readonly<Record<string, string | undefined>>

export interface SignedRequest {
  readonly method: string
  /** Path with query, as in the request line. */
  readonly url: string
  /** Raw body; empty if there is none. */
  readonly body: Uint8Array
  /** By lower-case name. */
  readonly headers: Headers
  /** Version segment of REST paths, as in `/v1`. */
  readonly versionPrefix: string
  readonly audience: Audience
}

type RefusalCode = "invalid_signature" | "timestamp_out_of_range" | "audience_required" | "wrong_audience"

type WalletOutcome =
  | { readonly _tag: "Verified"; readonly wallet: WalletAddress }
  | {
      readonly _tag: "Refused"
      readonly code: RefusalCode
      /** For the caller. */
      readonly error: string
    }

/** Text that a wallet signs; a plain one has `path` in any of the accepted forms, a full one in full with its query. */
export interface RequestText {
  readonly method: string
  readonly path: string
  readonly body: string | Uint8Array
  readonly timestampMillis: number
  /** For a full text. */
  readonly bound?: BoundText | undefined
}

export interface BoundText {
  /** `scheme://host[:port]` of the service's URL. */
  readonly audience: string
  /** All headers of the request, by lower-case name. */
  readonly headers: Headers
}

/** True if the caller tries to authenticate by wallet: any of the three headers is present. */
export const hasWalletHeaders = (headers: SignedRequest["headers"]): boolean =>
  Object.values(walletHeaders).some((name) => headers[name] !== undefined)

export const walletRequestText = ({ body, bound, method, path, timestampMillis }: RequestText): string =>
  textOf(method, path, sha256Hex(body), String(timestampMillis), bound)

/** The headers of a signed request, by lower-case name. */
export const signWalletRequest = async (signer: WalletSigner, text: RequestText): Promise<Record<string, string>> => ({
  [walletHeaders.address]: signer.wallet.address,
  [walletHeaders.timestamp]: String(text.timestampMillis),
  ...(text.bound !== undefined && { [audienceHeader]: text.bound.audience }),
  [walletHeaders.signature]: await signer.sign(walletRequestText(text))
})

/** Verifies the signature of a request. */
export const verifyWalletRequest = traced("WalletRequest.verify")(function* (
  request: SignedRequest
): Effect.fn.Return<WalletOutcome, never, SignatureVerifier> {
  const { headers } = request
  const wallet = parseWalletAddress(headers[walletHeaders.address] ?? "")
  const signature = headers[walletHeaders.signature]
  if (wallet === undefined || signature === undefined || signature === "") {
    return refused("invalid_signature", `send ${Object.values(walletHeaders).join(", ")}`)
  }
  // Cheap checks come first, and the caller learns the reason.
  const timestamp = headers[walletHeaders.timestamp] ?? ""
  const now = yield* Clock.currentTimeMillis
  if (!timestampPattern.test(timestamp) || Math.abs(now - Number(timestamp)) > Limits.signatureWindowMillis) {
    const seconds = Limits.signatureWindowMillis / 1_000
    return refused(
      "timestamp_out_of_range",
      `${walletHeaders.timestamp} is the time in milliseconds, within ${seconds} s`
    )
  }
  const { audience } = request
  const named = headers[audienceHeader]
  if (named === undefined && audience.isRequired) return refused("audience_required", signThis(audience))
  if (named !== undefined && !audience.isOwn(named)) return refused("wrong_audience", notOurs(audience))

  const verifier = yield* SignatureVerifier
  const bodyHash = sha256Hex(request.body)
  const isSigned = (message: string) => verifier.verify({ wallet, message, signature })
  if (named !== undefined) {
    const message = textOf(request.method, request.url, bodyHash, timestamp, { audience: named, headers })
    if (yield* isSigned(message)) return { _tag: "Verified", wallet }
    return refused("invalid_signature", `the signature is not by that wallet over this text: ${message}`)
  }
  for (const path of pathSpellings(request.url, request.versionPrefix)) {
    if (yield* isSigned(textOf(request.method, path, bodyHash, timestamp))) return { _tag: "Verified", wallet }
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

const textOf = (method: string, path: string, bodyHash: string, timestamp: string, bound?: BoundText): string =>
  [
    method.toUpperCase(),
    path,
    bodyHash,
    timestamp,
    ...(bound === undefined ? [] : [bound.audience, boundHeadersHash(bound.headers)])
  ].join("|")

/** Over a line `name:value` for each of `boundHeaders` that is there, each ended by a line feed; values byte for byte. */
const boundHeadersHash = (headers: Headers): string =>
  sha256Hex(
    // One character of a header is one byte.
    Buffer.from(boundHeaders.map((name) => lineOf(name, headers[name])).join(""), "latin1")
  )

/** Blanks around a value do not travel. */
const lineOf = (name: string, value: string | undefined): string =>
  value === undefined ? "" : `${name}:${value.replace(/^[ \t]+|[ \t]+$/g, "")}\n`

const signThis = ({ name }: Audience): string =>
  `sign METHOD|PATH|BODYHASH|TIMESTAMP|ORIGIN|HEADERSHASH and send the origin as ${audienceHeader}: ${name ?? "the one that you call"}`

const notOurs = ({ name }: Audience): string =>
  name === undefined
    ? `${audienceHeader} names another service: sign the address that this one listens on, or let its operator set MUNIMENT_PUBLIC_URL`
    : `${audienceHeader} names another service: this one is ${name}`

const withoutQuery = (url: string): string => url.split("?", 1)[0] ?? ""

const refused = (code: RefusalCode, error: string): WalletOutcome => ({
  _tag: "Refused",
  code,
  error
})
