/**
 * Text kept so that only who knows its secret can read it: AES-256-GCM under SHA-256 of the secret,
 * a nonce of its own for each sealing. The secret itself is never stored; it must have the entropy that
 * the text deserves, since nothing here slows a guesser down.
 */
import { createCipheriv, createDecipheriv, createHash } from "node:crypto"

const algorithm = "aes-256-gcm"
/** Random bytes that a sealing takes. */
export const nonceBytes = 12
const tagBytes = 16

/** Base64url of nonce, authentication tag and ciphertext; `nonce` is `nonceBytes` bytes of a secure source. */
export const seal = (text: string, secret: string, nonce: Uint8Array): string => {
  const cipher = createCipheriv(algorithm, keyOf(secret), nonce)
  const ciphertext = Buffer.concat([cipher.update(text, "utf8"), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]).toString("base64url")
}

/** The text, or undefined when the secret is another or the sealed text was changed. */
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
    // The one failure of `final`: the tag does not fit.
    return undefined
  }
}

const keyOf = (secret: string): Uint8Array => createHash("sha256").update(`muniment sealed text\0${secret}`).digest()
