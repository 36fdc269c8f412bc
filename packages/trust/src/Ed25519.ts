/**
 * Ed25519 (RFC 8032): keys and signatures by Node, verification by `@noble/ed25519` with Node's SHA-512. It is strict:
 * small-order keys and non-canonical encodings are refused, so that this verifier agrees with others (Node, openssl),
 * and no second signature can be derived from a valid one.
 */
import { hashes, verify } from "@noble/ed25519"
import { base58 } from "@scure/base"
import { createPrivateKey, createPublicKey, hash, type KeyObject, sign } from "node:crypto"
import { canonicalJson } from "./CanonicalJson.ts"

export const ed25519KeyBytes = 32
export const ed25519SignatureBytes = 64

/** The public key of a 32-byte seed. */
export const ed25519PublicKey = (seed: Uint8Array): Uint8Array => {
  const spki = createPublicKey(privateKeyOf(seed)).export({ type: "spki", format: "der" })
  return new Uint8Array(spki.subarray(-ed25519KeyBytes))
}

/** Signature, 64 bytes, of `message` by the 32-byte seed. */
export const ed25519Sign = (message: Uint8Array, seed: Uint8Array): Uint8Array =>
  sign(undefined, message, privateKeyOf(seed))

const privateKeyOf = (seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([pkcs8Head, seed]), format: "der", type: "pkcs8" })

/** Bytes before the seed in a private key of PKCS #8 (RFC 8410, section 7). */
const pkcs8Head = Buffer.from("302e020100300506032b657004220420", "hex")

/** False for anything else than a signature of `message` by `publicKey`; inputs of any length are allowed. */
export const ed25519Verify = (signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean =>
  signature.length === ed25519SignatureBytes &&
  publicKey.length === ed25519KeyBytes &&
  verify(signature, message, publicKey, { zip215: false })

hashes.sha512 = (message) => new Uint8Array(hash("sha512", message, "buffer"))

/**
 * JSON Web Signatures (RFC 7515, compact form) by Ed25519 keys (RFC 8037) over canonical JSON. The key is named by the
 * `did:key` of its public half, so a reader needs no document of ours, only the published key to compare it with.
 *
 * Invariant: no signature of an attestation is one of these, nor the other way about: what is signed here begins with
 * Base64 of a header and holds a dot, an attestation is a JSON object.
 *
 * A key that signs; its name is made once, as it costs more than a signature.
 */
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
