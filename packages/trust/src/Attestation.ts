/**
 * Attestations (contract: Attestations): builds the object, signs its canonical JSON with Ed25519, verifies it offline.
 *
 * Invariants: keys are sorted by code units; the signature covers the whole object as received, including unknown
 * members; verification answers with a reason and never throws.
 */
import { Schema } from "effect"
import { Attestation, type CreateAttestation } from "@muniment/domain/Attestation"
import { durationMillis } from "@muniment/domain/GivenTimes"
import { Limits } from "@muniment/domain/Limits"
import { canonicalJson, NotCanonical, sha256Hex } from "./CanonicalJson.ts"
import { ed25519KeyBytes, ed25519Sign, ed25519SignatureBytes, ed25519Verify } from "./Ed25519.ts"

export const attestationAlgorithm = "Ed25519"
const attestationValidityDefault = "24h"
export const attestationValidDaysMax = Limits.attestationDaysMax
/** Claim of attestations that accompany shared memories; not available on request. */
export const sharedMemoriesClaim = "shared_memories_from"

interface AttestationContent {
  readonly claim: string
  readonly params: Attestation["params"]
  readonly result: Attestation["result"]
  readonly nowMillis: number
  readonly validSeconds: number
  readonly issuer: string
}

export interface SignedAttestation {
  readonly attestation: Attestation
  /** `0x` and 128 hex digits. */
  readonly signature: string
}

export type VerificationFault =
  | "malformed_public_key"
  | "malformed_signature"
  | "malformed_attestation"
  | "bad_signature"
  | "retired_key"
  | "revoked_key"
  | "expired"

/** A published key (contract: Attestations); times in milliseconds. */
export interface VerificationKey {
  readonly publicKey: string
  /** The key was replaced: it signed nothing from then on. */
  readonly retiredAt?: number | undefined
  /** The key is not to be trusted: a thief of it chooses the dates of what they sign, so nothing by it counts. */
  readonly revokedAt?: number | undefined
}

type Verification = { readonly valid: true } | { readonly valid: false; readonly reason: VerificationFault }

/** Times are whole seconds, rounded down: rounding up would exceed the requested duration. */
export const makeAttestation = (content: AttestationContent): Attestation => {
  const issuedAt = Math.floor(content.nowMillis / 1_000)
  return {
    claim: content.claim,
    params: content.params,
    result: content.result,
    issuedAt,
    expiresAt: issuedAt + content.validSeconds,
    issuer: content.issuer
  }
}

/** Only the members that the claim uses; of the filters only known keys. */
export const claimParams = (request: CreateAttestation): Attestation["params"] => {
  const filters = filterParams(request.filters)
  switch (request.claim) {
    case "has_memories_matching":
      return defined({ query: request.query, filters })
    case "memory_count_gte":
      return defined({ threshold: request.threshold, filters })
    case "has_schema":
      return defined({ schemaName: request.schemaName })
  }
}

/** `grantor` as written in the grant; hashes in result order. */
export const sharedMemoriesParams = (grantor: string, memoryHashes: ReadonlyArray<string>): Attestation["params"] => ({
  grantor,
  memoryHashes
})

/** Seconds of an `expiresIn`, default 24 h; undefined if malformed or above 365 days. */
export const attestationValidSeconds = (expiresIn: string = attestationValidityDefault): number | undefined => {
  const millis = durationMillis(expiresIn)
  return millis === undefined || millis > attestationValidDaysMax * 86_400_000 ? undefined : millis / 1_000
}

/** Public name of an account's memories; computable from a wallet's address. */
export const namespaceHash = (service: string, accountId: string): string =>
  `0x${sha256Hex(`${service}:ns:v1:${accountId}`)}`

/** `seed` is the 32-byte secret of the key. */
export const signAttestation = (attestation: Attestation, seed: Uint8Array): SignedAttestation => ({
  attestation,
  signature: hexOf(ed25519Sign(new TextEncoder().encode(canonicalJson(attestation)), seed))
})

/** The keys of a published key file, the current one first. */
export const verificationKeys = (published: {
  readonly attestationPublicKey: string
  readonly previousKeys?: ReadonlyArray<VerificationKey>
}): ReadonlyArray<VerificationKey> => [{ publicKey: published.attestationPublicKey }, ...(published.previousKeys ?? [])]

/** Offline verification; `verificationKey` is from the published key file, or its `0x` hex alone. */
export const verifyAttestation = (
  signed: { readonly attestation: unknown; readonly signature: string },
  verificationKey: string | VerificationKey,
  nowSeconds: number
): Verification => {
  const { publicKey, retiredAt, revokedAt } =
    typeof verificationKey === "string" ? ({ publicKey: verificationKey } as VerificationKey) : verificationKey
  const key = bytesOf(publicKey, ed25519KeyBytes)
  if (key === undefined) return invalid("malformed_public_key")
  const signature = bytesOf(signed.signature, ed25519SignatureBytes)
  if (signature === undefined) return invalid("malformed_signature")
  const { attestation } = signed
  const text = canonicalTextOf(attestation)
  if (text === undefined || !isAttestation(attestation)) return invalid("malformed_attestation")
  if (!ed25519Verify(signature, new TextEncoder().encode(text), key)) return invalid("bad_signature")
  if (revokedAt !== undefined) return invalid("revoked_key")
  if (retiredAt !== undefined && attestation.issuedAt * 1_000 >= retiredAt) return invalid("retired_key")
  return attestation.expiresAt > nowSeconds ? { valid: true } : invalid("expired")
}

/** `0x` and lower-case hex. */
export const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString("hex")}`

/** Bytes of `0x` hex of exactly that length, or undefined. */
export const bytesOf = (hex: string, length: number): Uint8Array | undefined =>
  hexPattern.test(hex) && hex.length === 2 + 2 * length ? Uint8Array.from(Buffer.from(hex.slice(2), "hex")) : undefined

/** Lower case only: one text for one value. */
const hexPattern = /^0x[0-9a-f]*$/
const isAttestation = Schema.is(Attestation)

const canonicalTextOf = (value: unknown): string | undefined => {
  try {
    return canonicalJson(value)
  } catch (error) {
    if (error instanceof NotCanonical) return undefined
    throw error
  }
}

const filterParams = (filters: CreateAttestation["filters"]): Attestation["params"] | undefined => {
  if (filters === undefined) return undefined
  const { agentId, kind, subjectId, tags } = filters
  const known = defined({ agentId, subjectId, kind, tags })
  return Object.keys(known).length === 0 ? undefined : known
}

const defined = (members: Readonly<Record<string, Schema.Json | undefined>>): Record<string, Schema.Json> =>
  Object.fromEntries(Object.entries(members).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])))

const invalid = (reason: VerificationFault): Verification => ({ valid: false, reason })
