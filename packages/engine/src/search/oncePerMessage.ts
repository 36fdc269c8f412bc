/**
 * Removes repetitions from hits: a memory extracted from messages that are hits themselves is left out where there are
 * more hits than wanted, and the best of its messages has its place. Without this, extracted memories push messages
 * with an answer of their own off a page.
 */
import type { MemoryVersion } from "@muniment/domain/Memory"
import type { Move } from "../ranking/Explanation.ts"
import type { PlacedCandidate } from "../namespace/SearchCandidate.ts"
import { messageKeys } from "./laterStates.ts"

interface PlacedHit {
  readonly memory: MemoryVersion
  readonly ranked: { readonly candidate: Pick<PlacedCandidate, "message" | "namespace"> }
  readonly move?: Move | undefined
}

/** `hits`: best first, more than `limit` where there are more. Returns at most `limit`. */
export const oncePerMessage = <A extends PlacedHit>(hits: ReadonlyArray<A>, limit: number): ReadonlyArray<A> => {
  if (hits.length <= limit) return hits
  const messages = new Map(
    hits.flatMap((hit, place) => (isMessage(hit) ? keysOf(hit).map((key) => [key, place] as const) : []))
  )
  const repeats = hits.filter((hit) => !isMessage(hit) && isSaidBy(hit, messages))
  // Where there is nothing else for a place, the best of them keep theirs.
  const left = new Set(repeats.slice(Math.max(0, limit - (hits.length - repeats.length))))
  const page = new Set<A>()
  const raised = new Set<A>()
  for (const hit of hits) {
    const shown = left.has(hit) ? hits[bestOf(hit, messages)]! : hit
    if (shown !== hit && !page.has(shown)) raised.add(shown)
    page.add(shown)
  }
  return [...page].slice(0, limit).map((hit) => (raised.has(hit) ? { ...hit, move: "source" as const } : hit))
}

const isMessage = ({ ranked }: PlacedHit): boolean => ranked.candidate.message !== undefined

const keysOf = ({ memory, ranked }: PlacedHit): ReadonlyArray<string> => messageKeys(ranked.candidate.namespace, memory)

const isSaidBy = (hit: PlacedHit, messages: ReadonlyMap<string, number>): boolean => {
  const keys = keysOf(hit)
  return keys.length > 0 && keys.every((key) => messages.has(key))
}

/** Place of the first of its messages. */
const bestOf = (hit: PlacedHit, messages: ReadonlyMap<string, number>): number =>
  Math.min(...keysOf(hit).map((key) => messages.get(key)!))
