/**
 * Names the messages whose memory a caller has corrected since, or put aside by restoring an older version, and puts them
 * behind the memory that holds: the message still says what was wrong.
 */
import { Effect } from "effect"
import { backingSources, type MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import type { NamespaceHost } from "../host/NamespaceHost.ts"
import type { ExtractedFrom } from "../namespace/NamespaceQuery.ts"
import type { PlacedCandidate } from "../namespace/SearchCandidate.ts"
import type { NamespaceKey } from "../store/NamespaceStore.ts"

interface PlacedMemory {
  readonly memory: MemoryVersion
  /** Tag of its namespace. */
  readonly namespace: string
}

interface PlacedHit {
  readonly memory: MemoryVersion
  readonly ranked: { readonly candidate: Pick<PlacedCandidate, "message" | "namespace"> }
  readonly correctedBy?: string | undefined
}

/** Memories taken from a message that are looked at. */
const TAKEN_MAX = 100

export const correctedFirst = Effect.fnUntraced(function* <A extends PlacedHit>(
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  hits: ReadonlyArray<A>,
  filterFor: (namespace: NamespaceKey) => MemoryFilter
) {
  const messages = hits.flatMap(({ memory, ranked: { candidate } }) =>
    candidate.message === undefined ? [] : [{ memory, namespace: candidate.namespace }]
  )
  const corrections = yield* correctionsOf(host, namespaces, messages, filterFor)
  return corrections.size === 0 ? hits : ordered(hits, corrections)
})

/**
 * By id of a message, the memory taken from it that a caller has corrected since, or the restored one in its place. What
 * `filterFor` narrows to a part, as a grant does, is not looked through: a correction may lie beside that part.
 */
export const correctionsOf = Effect.fnUntraced(function* (
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  messages: ReadonlyArray<PlacedMemory>,
  filterFor: (namespace: NamespaceKey) => MemoryFilter
) {
  const corrections = new Map<string, string>()
  for (const [first, ...others] of Map.groupBy(messages, conversationOf).values() as Iterable<
    [PlacedMemory, ...Array<PlacedMemory>]
  >) {
    const key = namespaces.find(({ tag }) => tag === first.namespace)
    if (key === undefined) continue
    const { anyOf, asOf } = filterFor(key)
    if (anyOf !== undefined) continue
    const { subjectId, threadId } = first.memory
    const here = [first, ...others]
    const keys = here.flatMap(keysOf)
    const scope = { subjectId, threadId }
    const taken = yield* host.answer(key, {
      _tag: "ExtractedFrom",
      scope,
      keys,
      limit: TAKEN_MAX * keys.length,
      asOf
    })
    const putAside = yield* putAsideBy(host, key, { scope, keys, asOf })
    const correctedBy = new Map([
      ...putAside,
      ...taken.flatMap(({ id, sources = [] }) =>
        sources.flatMap((source) => (source.isCorrected === true ? [[source.key, id] as const] : []))
      )
    ])
    for (const message of here) {
      const by = keysOf(message).flatMap((one) => correctedBy.get(one) ?? [])[0]
      if (by !== undefined) corrections.set(message.memory.id, by)
    }
  }
  return corrections as ReadonlyMap<string, string>
})

/**
 * By key of a message, the restored version that is the latest: it put aside the version taken from that message, which is
 * newer than the one that was restored. A message that also backs the restored version is none.
 */
const putAsideBy = Effect.fnUntraced(function* (
  host: NamespaceHost["Service"],
  key: NamespaceKey,
  { asOf, keys, scope }: Pick<ExtractedFrom, "asOf" | "keys" | "scope">
) {
  const pairs = yield* host.answer(key, { _tag: "LaterVersions", scope, keys, filter: { asOf } })
  const found: Array<readonly [key: string, id: string]> = []
  for (const [older, { id, revision, sources }] of pairs) {
    if (revision?.how !== "restored" || revision.of === undefined) continue
    const original = yield* host.answer(key, { _tag: "Find", id: revision.of })
    if (original === undefined || older.createdAt <= original.createdAt) continue
    const backing = new Set(backingSources(sources).map((source) => source.key))
    for (const source of backingSources(older.sources)) if (!backing.has(source.key)) found.push([source.key, id])
  }
  return found
})

const keysOf = ({ memory }: PlacedMemory): ReadonlyArray<string> => memory.sources?.map((source) => source.key) ?? []

const conversationOf = ({ memory: { subjectId, threadId }, namespace }: PlacedMemory): string =>
  JSON.stringify([namespace, subjectId, threadId])

/** A correction takes the place of the first of its messages before it. */
const ordered = <A extends PlacedHit>(
  hits: ReadonlyArray<A>,
  corrections: ReadonlyMap<string, string>
): ReadonlyArray<A> => {
  const byId = new Map(hits.map((hit) => [hit.memory.id, hit]))
  const shown = new Set<A>()
  for (const hit of hits) {
    const correction = byId.get(corrections.get(hit.memory.id) ?? "")
    if (correction !== undefined) shown.add(correction)
    shown.add(hit)
  }
  return [...shown].map((hit) => {
    const correctedBy = corrections.get(hit.memory.id)
    return correctedBy === undefined ? hit : { ...hit, correctedBy }
  })
}
