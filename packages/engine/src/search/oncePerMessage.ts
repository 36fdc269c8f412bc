/**
 * Removes repetitions from hits, where there are more than wanted: of a fact and a message that it was taken from, the
 * one that ranks higher stays. A fact counts for all of its messages, and is a repetition where all of them rank before
 * it. Two facts of one message say two things.
 */
import { type MessageOrFact, messageKeys } from "./laterStates.ts"

interface PlacedHit {
  readonly memory: MessageOrFact
  /** `message` is undefined of other kinds. */
  readonly ranked: { readonly candidate: { readonly namespace: string; readonly message?: object | undefined } }
}

/** `hits`: best first, more than `limit` where there are more. Returns at most `limit`. */
export const oncePerMessage = <A extends PlacedHit>(hits: ReadonlyArray<A>, limit: number): ReadonlyArray<A> => {
  if (hits.length <= limit) return hits
  const shown = { messages: new Set<string>(), facts: new Set<string>() }
  const repeats = hits.filter(({ memory, ranked: { candidate } }) => {
    const keys = messageKeys(candidate.namespace, memory)
    const isMessage = candidate.message !== undefined
    const before = isMessage ? shown.facts : shown.messages
    if (keys.length > 0 && keys.every((key) => before.has(key))) return true
    for (const key of keys) (isMessage ? shown.messages : shown.facts).add(key)
    return false
  })
  // Where there is nothing else for a place, the best of them keep theirs.
  const left = new Set(repeats.slice(Math.max(0, limit - (hits.length - repeats.length))))
  return hits.filter((hit) => !left.has(hit)).slice(0, limit)
}
