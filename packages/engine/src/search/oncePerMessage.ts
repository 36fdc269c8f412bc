/**
 * Removes repetitions from hits: a memory extracted from messages that are hits themselves is left out where there are
 * more hits than wanted and one of its messages stands before it. Without this, extracted memories push messages with an
 * answer of their own off a page. A fact that ranks before its messages keeps its place: it is the shorter answer.
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
  const messages = new Map(
    hits.flatMap((hit, place) => (isMessage(hit) ? keysOf(hit).map((key) => [key, place] as const) : []))
  )
  const repeats = hits.filter((hit, place) => !isMessage(hit) && isSaidBefore(hit, place, messages))
  // Where there is nothing else for a place, the best of them keep theirs.
  const left = new Set(repeats.slice(Math.max(0, limit - (hits.length - repeats.length))))
  return hits.filter((hit) => !left.has(hit)).slice(0, limit)
}

const isMessage = ({ ranked }: PlacedHit): boolean => ranked.candidate.message !== undefined

const keysOf = ({ memory, ranked }: PlacedHit): ReadonlyArray<string> => messageKeys(ranked.candidate.namespace, memory)

/** All of its messages are hits, and one of them stands before it. */
const isSaidBefore = (hit: PlacedHit, place: number, messages: ReadonlyMap<string, number>): boolean => {
  const places = keysOf(hit).map((key) => messages.get(key))
  return places.every((one) => one !== undefined) && places.some((one) => one !== undefined && one < place)
}
