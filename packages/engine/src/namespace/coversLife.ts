/**
 * Lifetime rule for duplicates: a stored memory replaces a new one with the same content only if it lives long enough.
 * Without it a memory that is about to expire would keep out a statement that is to be kept for longer. Times in
 * milliseconds.
 */

/** Share of the new memory's life. With a share of 1, a fact stated daily under a `ttl` would be stored daily. */
const lifeShareMin = 0.5

/** `undefined` never ends. */
export const coversLife = (knownEnd: number | undefined, newEnd: number | undefined, nowMillis: number): boolean => {
  if (knownEnd === undefined) return true
  return newEnd !== undefined && knownEnd - nowMillis >= lifeShareMin * (newEnd - nowMillis)
}
