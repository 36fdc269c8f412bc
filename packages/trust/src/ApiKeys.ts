/**
 * API keys (interface.md section 2): a prefix that means nothing, then 40 url-safe characters of
 * randomness. Only the SHA-256 is stored; a plain digest suffices, because 240 random bits cannot be
 * guessed from it. The secret is shown once.
 */
import { timingSafeEqual } from "node:crypto"
import { sha256Hex } from "./CanonicalJson.ts"

/** Random bytes of a key: 30 bytes are 40 characters of base64url, 240 bits. */
export const apiKeyBytes = 30
const shownCharacters = 6

/**
 * Secrets that operators bring along: a bearer token of RFC 6750 with room for at least 128 bits, at
 * 6 bits a character.
 */
const secretPattern = /^[A-Za-z0-9._~+/=-]{22,256}$/

/** `prefix` and 40 characters; `randomBytes` are `apiKeyBytes` bytes of a secure source. */
export const makeApiKey = (prefix: string, randomBytes: Uint8Array): string => {
  if (randomBytes.length !== apiKeyBytes) throw new Error(`a key takes ${apiKeyBytes} random bytes`)
  return prefix + Buffer.from(randomBytes).toString("base64url")
}

/** True when a brought secret is long enough and can stand in an Authorization header. */
export const isUsableSecret = (secret: string): boolean => secretPattern.test(secret)

/** Hex SHA-256 of the whole secret, prefix included: what is stored and looked up. */
export const hashApiKey = (secret: string): string => sha256Hex(secret)

/** The part that may be shown again: `prefix`, if the secret has it, and 6 characters. */
export const displayPrefix = (secret: string, prefix = ""): string =>
  secret.slice(0, (secret.startsWith(prefix) ? prefix.length : 0) + shownCharacters)

/**
 * Compares secrets in a time that tells nothing of where they differ, for tokens that are not looked
 * up by hash. Comparing digests also hides the lengths.
 */
export const isSameSecret = (one: string, other: string): boolean =>
  timingSafeEqual(Buffer.from(hashApiKey(one), "hex"), Buffer.from(hashApiKey(other), "hex"))
