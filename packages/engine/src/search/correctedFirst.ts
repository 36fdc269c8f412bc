/**
 * Names the messages whose memory a caller has corrected since, and puts them behind that memory: the message still says
 * what was wrong.
 */
import { Effect } from "effect"
import type { MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import type { NamespaceHost } from "../host/NamespaceHost.ts"
import type { PlacedCandidate } from "../namespace/SearchCandidate.ts"
import type { NamespaceKey } from "../store/NamespaceStore.ts"

interface PlacedHit {
  readonly memory: MemoryVersion
  readonly ranked: { readonly candidate: Pick<PlacedCandidate, "message" | "namespace"> }
  readonly correctedBy?: string | undefined
}

/** Memories taken from the messages of one conversation that are looked at. */
const TAKEN_MAX = 100

/** What `filterFor` narrows to a part, as a grant does, is not looked through: a correction may lie beside that part. */
export const correctedFirst = Effect.fnUntraced(function* <A extends PlacedHit>(
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  hits: ReadonlyArray<A>,
  filterFor: (namespace: NamespaceKey) => MemoryFilter
) {
  const messages = hits.filter(({ ranked }) => ranked.candidate.message !== undefined)
  const corrections = new Map<A, string>()
  for (const [first, ...others] of Map.groupBy(messages, conversationOf).values() as Iterable<[A, ...Array<A>]>) {
    const key = namespaces.find(({ tag }) => tag === first.ranked.candidate.namespace)
    if (key === undefined) continue
    const { anyOf, asOf } = filterFor(key)
    if (anyOf !== undefined) continue
    const { subjectId, threadId } = first.memory
    const keysOf = ({ memory }: A): ReadonlyArray<string> => memory.sources?.map((source) => source.key) ?? []
    const taken = yield* host.answer(key, {
      _tag: "ExtractedFrom",
      scope: { subjectId, threadId },
      keys: [first, ...others].flatMap(keysOf),
      limit: TAKEN_MAX,
      asOf
    })
    const correctedBy = new Map(
      taken.flatMap(({ id, sources = [] }) =>
        sources.flatMap((source) => (source.isCorrected === true ? [[source.key, id] as const] : []))
      )
    )
    for (const hit of [first, ...others]) {
      const by = keysOf(hit).flatMap((one) => correctedBy.get(one) ?? [])[0]
      if (by !== undefined) corrections.set(hit, by)
    }
  }
  return corrections.size === 0 ? hits : ordered(hits, corrections)
})

const conversationOf = ({ memory: { subjectId, threadId }, ranked }: PlacedHit): string =>
  JSON.stringify([ranked.candidate.namespace, subjectId, threadId])

/** A correction takes the place of the first of its messages before it. */
const ordered = <A extends PlacedHit>(
  hits: ReadonlyArray<A>,
  corrections: ReadonlyMap<A, string>
): ReadonlyArray<A> => {
  const byId = new Map(hits.map((hit) => [hit.memory.id, hit]))
  const shown = new Set<A>()
  for (const hit of hits) {
    const correction = byId.get(corrections.get(hit) ?? "")
    if (correction !== undefined) shown.add(correction)
    shown.add(hit)
  }
  return [...shown].map((hit) => (corrections.has(hit) ? { ...hit, correctedBy: corrections.get(hit) } : hit))
}
