/**
 * Ed25519 (RFC 8032): keys and signatures by Node, verification by `@noble/ed25519` with Node's SHA-512. It is strict:
 * small-order keys and non-canonical encodings are refused, so that this verifier agrees with others (Node, openssl),
 * and no second signature can be derived from a valid one.
 */
import { hashes, verify } from "@noble/ed25519"
import { createPrivateKey, createPublicKey, hash, type KeyObject, sign } from "node:crypto"

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
