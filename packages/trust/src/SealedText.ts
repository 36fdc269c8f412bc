/**
 * Text encrypted with a secret that is not stored: AES-256-GCM under the SHA-256 of the secret, a new nonce each time. The
 * secret needs enough entropy, because nothing slows down guessing.
 */
import { createCipheriv, createDecipheriv, createHash } from "node:crypto"

const algorithm = "aes-256-gcm"
/** Random bytes needed for sealing. */
export const nonceBytes = 12
const tagBytes = 16

/** Base64url of nonce, authentication tag and ciphertext; `nonce` is `nonceBytes` bytes of a secure source. */
export const seal = (text: string, secret: string, nonce: Uint8Array): string => {
  const cipher = createCipheriv(algorithm, keyOf(secret), nonce)
  const ciphertext = Buffer.concat([cipher.update(text, "utf8"), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]).toString("base64url")
}

/** The text, or undefined if the secret is wrong or the sealed text was changed. */
export const unseal = (sealed: string, secret: string): string | undefined => {
  const bytes = Buffer.from(sealed, "base64url")
  if (bytes.length < nonceBytes + tagBytes) return undefined
  const decipher = createDecipheriv(algorithm, keyOf(secret), bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes
  })
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
  const text = decipher.update(bytes.subarray(nonceBytes + tagBytes))
  try {
    return Buffer.concat([text, decipher.final()]).toString("utf8")
  } catch {
    // `final` throws only for a wrong tag.
    return undefined
  }
}

const keyOf = (secret: string): Uint8Array => createHash("sha256").update(`muniment sealed text\0${secret}`).digest()
