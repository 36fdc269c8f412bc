/**
 * API keys (contract: Identity): a prefix without meaning, then 40 random url-safe characters. Only the SHA-256 is stored;
 * a plain digest suffices, because 240 random bits cannot be guessed. The secret is shown once.
 */
import { timingSafeEqual } from "node:crypto"
import { sha256Hex } from "./CanonicalJson.ts"

/** Random bytes of a key: 30 bytes are 40 characters of base64url, 240 bits. */
export const apiKeyBytes = 30
const shownCharacters = 6

/** Secrets chosen by operators: a bearer token of RFC 6750 with at least 128 bits, at 6 bits a character. */
const secretPattern = /^[A-Za-z0-9._~+/=-]{22,256}$/

/** Secrets that `isUsableSecret` accepts. */
export const usableSecret = "22 to 256 characters of A-Z a-z 0-9 . _ ~ + / = -"

/** `prefix` and 40 characters; `randomBytes` are `apiKeyBytes` bytes of a secure source. */
export const makeApiKey = (prefix: string, randomBytes: Uint8Array): string => {
  if (randomBytes.length !== apiKeyBytes) throw new Error(`a key takes ${apiKeyBytes} random bytes`)
  return prefix + Buffer.from(randomBytes).toString("base64url")
}

/** True if a chosen secret is long enough and valid in an Authorization header. */
export const isUsableSecret = (secret: string): boolean => secretPattern.test(secret)

/** Hex SHA-256 of the whole secret, prefix included, as stored and looked up. */
export const hashApiKey = (secret: string): string => sha256Hex(secret)

/** The part that may be displayed: `prefix`, if the secret has it, and 6 characters. */
export const displayPrefix = (secret: string, prefix = ""): string =>
  secret.slice(0, (secret.startsWith(prefix) ? prefix.length : 0) + shownCharacters)

/** Constant-time comparison, for tokens that are not looked up by hash. Comparing digests also hides the lengths. */
export const isSameSecret = (one: string, other: string): boolean =>
  timingSafeEqual(Buffer.from(hashApiKey(one), "hex"), Buffer.from(hashApiKey(other), "hex"))
