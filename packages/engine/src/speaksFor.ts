/**
 * Whether a known memory makes a new one that says the same superfluous: only as long as it lives. One that
 * is about to expire must not keep out what was told anew, to be remembered for longer. Times are milliseconds.
 */

/** Of the new memory's life: with more, a fact told every day under a `ttl` would be stored every day. */
const lifeShareMin = 0.5

/** Undefined never ends. */
export const speaksFor = (knownEnd: number | undefined, newEnd: number | undefined, nowMillis: number): boolean => {
  if (knownEnd === undefined) return true
  return newEnd !== undefined && knownEnd - nowMillis >= lifeShareMin * (newEnd - nowMillis)
}
