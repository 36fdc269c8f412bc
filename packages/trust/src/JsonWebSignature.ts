/**
 * JSON Web Signatures (RFC 7515, compact form) by Ed25519 keys (RFC 8037) over canonical JSON. The key is named by the
 * `did:key` of its public half, so a reader needs no document of ours, only the published key to compare it with.
 *
 * Invariant: no signature of an attestation is one of these, nor the other way about: what is signed here begins with
 * Base64 of a header and holds a dot, an attestation is a JSON object.
 */
import { base58 } from "@scure/base"
import { canonicalJson } from "./CanonicalJson.ts"
import { ed25519Sign } from "./Ed25519.ts"

/** A key that signs; its name is made once, as it costs more than a signature. */
export interface JwsKey {
  /** 32 bytes. */
  readonly seed: Uint8Array
  /** `didKeyOf` its public half. */
  readonly kid: string
}

/** Signs a payload; equal payloads by one key give equal bytes. Throws `NotCanonical`. */
export const signJws = (payload: unknown, { kid, seed }: JwsKey): string => {
  const header = { alg: "EdDSA", kid }
  const signed = [header, payload].map((part) => Buffer.from(canonicalJson(part)).toString("base64url")).join(".")
  return `${signed}.${Buffer.from(ed25519Sign(Buffer.from(signed), seed)).toString("base64url")}`
}

/** The DID URL of an Ed25519 public key: multicodec 0xed, in base58. */
export const didKeyOf = (publicKey: Uint8Array): string => {
  const name = `z${base58.encode(Uint8Array.of(0xed, 0x01, ...publicKey))}`
  return `did:key:${name}#${name}`
}
