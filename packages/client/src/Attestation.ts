/**
 * Offline verification of attestations (contract: Attestations), with WebCrypto's Ed25519: Node 18, Deno, Bun, workers,
 * and browsers of 2025 or later on a secure origin.
 *
 * Invariant: an invalid attestation is a result with a reason; only a runtime that cannot verify throws.
 */
import { canonicalJson, utf8 } from "./CanonicalJson.ts"
import { MunimentError } from "./MunimentError.ts"
import { webCrypto } from "./Runtime.ts"

/** The service's key file under `/.well-known/`; `issuedAt` in milliseconds. */
export interface PublishedKeys {
  readonly attestationPublicKey: string
  readonly algorithm: "Ed25519"
  readonly issuedAt: number
  /** Keys of earlier attestations. */
  readonly previousKeys?: ReadonlyArray<{
    readonly publicKey: string
    readonly issuedAt: number
    /** The key signed nothing from then on. */
    readonly retiredAt: number
    /** Nothing by the key counts: its secret may be known to others. */
    readonly revokedAt?: number
  }>
}

export type VerificationFault =
  | "malformed_public_key"
  | "malformed_signature"
  | "malformed_attestation"
  | "bad_signature"
  | "retired_key"
  | "revoked_key"
  | "expired"

export type Verification = { readonly valid: true } | { readonly valid: false; readonly reason: VerificationFault }

const keyBytes = 32
const signatureBytes = 64

/**
 * `signed` is an answer of `attest`, or a value of `sourceAttestations`; further members are ignored.
 * `keys` are those the service publishes, or one of them as `0x` hex: never the key sent with the
 * attestation, which proves nothing.
 */
export const verifyAttestation = async (
  signed: { readonly attestation: unknown; readonly signature: string },
  keys: string | PublishedKeys,
  nowSeconds: number
): Promise<Verification> => {
  const publicKeys = keysOf(keys).map((key) => ({ ...key, bytes: bytesOf(key.publicKey, keyBytes) }))
  const signature = bytesOf(signed.signature, signatureBytes)
  const { attestation } = signed
  const text = canonicalTextOf(attestation)
  if (publicKeys.some(({ bytes }) => bytes === undefined)) return invalid("malformed_public_key")
  if (signature === undefined) return invalid("malformed_signature")
  if (text === undefined || !isAttestation(attestation)) return invalid("malformed_attestation")
  for (const { bytes, retiredAt, revokedAt } of publicKeys) {
    if (bytes === undefined || !(await isSignedBy(bytes, signature, utf8(text)))) continue
    if (revokedAt !== undefined) return invalid("revoked_key")
    if (retiredAt !== undefined && attestation.issuedAt * 1_000 >= retiredAt) return invalid("retired_key")
    return attestation.expiresAt > nowSeconds ? { valid: true } : invalid("expired")
  }
  return invalid("bad_signature")
}

interface VerificationKey {
  readonly publicKey: string
  readonly retiredAt?: number
  readonly revokedAt?: number
}

const keysOf = (keys: string | PublishedKeys): ReadonlyArray<VerificationKey> =>
  typeof keys === "string"
    ? [{ publicKey: keys }]
    : [{ publicKey: keys.attestationPublicKey }, ...(keys.previousKeys ?? [])]

type Bytes = Uint8Array<ArrayBuffer>

const isSignedBy = async (publicKey: Bytes, signature: Bytes, message: Bytes): Promise<boolean> => {
  const { subtle } = await webCrypto()
  try {
    const key = await subtle.importKey("raw", publicKey, "Ed25519", false, ["verify"])
    return await subtle.verify("Ed25519", key, signature, message)
  } catch (error) {
    // Some runtimes look at the key already here: bytes that are no point of the curve sign nothing.
    if (error instanceof DOMException && error.name === "DataError") return false
    throw error
  }
}

/** Lower case only, as the service writes it: one spelling for one value. */
const hexPattern = /^0x[0-9a-f]*$/

const bytesOf = (hex: unknown, length: number): Bytes | undefined =>
  typeof hex === "string" && hexPattern.test(hex) && hex.length === 2 + 2 * length
    ? Uint8Array.from({ length }, (_, at) => Number.parseInt(hex.slice(2 + 2 * at, 4 + 2 * at), 16))
    : undefined

const canonicalTextOf = (value: unknown): string | undefined => {
  try {
    return canonicalJson(value)
  } catch (error) {
    if (error instanceof MunimentError) return undefined
    throw error
  }
}

const isAttestation = (value: unknown): value is { readonly issuedAt: number; readonly expiresAt: number } => {
  if (!isObject(value) || !isObject(value["params"]) || !isObject(value["result"])) return false
  const { claim, expiresAt, issuedAt, issuer, result } = value
  const { matchCount, namespace, satisfied } = result as Readonly<Record<string, unknown>>
  return (
    [claim, issuer, namespace].every((text) => typeof text === "string") &&
    [expiresAt, issuedAt, matchCount].every(Number.isSafeInteger) &&
    typeof satisfied === "boolean"
  )
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const invalid = (reason: VerificationFault): Verification => ({ valid: false, reason })
