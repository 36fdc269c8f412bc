/**
 * Ed25519 (RFC 8032) by `@noble/ed25519`, with Node's SHA-512. Verification takes the library's strict
 * branch: small-order keys and non-canonical encodings are refused, so that this verifier and others
 * (Node, openssl) agree on what is valid, and no second signature can be derived from a valid one.
 */
import * as noble from "@noble/ed25519"
import { hash } from "node:crypto"

export const ed25519KeyBytes = 32
export const ed25519SignatureBytes = 64

/** The public key of a 32-byte seed. */
export const ed25519PublicKey = (seed: Uint8Array): Uint8Array => noble.getPublicKey(seed)

/** Signature, 64 bytes, of `message` by the 32-byte seed. */
export const ed25519Sign = (message: Uint8Array, seed: Uint8Array): Uint8Array => noble.sign(message, seed)

/** False for anything that is not a signature of `message` by `publicKey`, whatever its lengths. */
export const ed25519Verify = (signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean =>
  signature.length === ed25519SignatureBytes &&
  publicKey.length === ed25519KeyBytes &&
  noble.verify(signature, message, publicKey, { zip215: false })

noble.hashes.sha512 = (message) => new Uint8Array(hash("sha512", message, "buffer"))
