/**
 * Which messages tell a later state of what others tell: the memory that was extracted from the one superseded the
 * memory that was extracted from the other, as both fill the same slot (a home, an employer, a date).
 */
import { Effect } from "effect"
import { backingSources, type MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import type { NamespaceHost } from "../host/NamespaceHost.ts"
import type { PlacedCandidate } from "../namespace/SearchCandidate.ts"
import type { NamespaceKey } from "../store/NamespaceStore.ts"

interface MessageHit {
  readonly memory: MemoryVersion
  readonly ranked: { readonly candidate: Pick<PlacedCandidate, "namespace"> }
}

/** By messages, older and newer; memories that `filterFor` hides say nothing. */
export const laterStates = Effect.fnUntraced(function* (
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  messages: ReadonlyArray<MessageHit>,
  filterFor: (namespace: NamespaceKey) => MemoryFilter
) {
  const found = new Map<string, Set<string>>()
  const conversations = Map.groupBy(messages, ({ memory: { subjectId, threadId }, ranked }) =>
    JSON.stringify([ranked.candidate.namespace, subjectId, threadId])
  )
  for (const [{ memory, ranked }, ...others] of conversations.values() as Iterable<
    [MessageHit, ...Array<MessageHit>]
  >) {
    const { namespace } = ranked.candidate
    const key = namespaces.find(({ tag }) => tag === namespace)!
    const keys = [memory, ...others.map((other) => other.memory)].flatMap(({ sources = [] }) =>
      sources.map((one) => one.key)
    )
    const scope = { subjectId: memory.subjectId, threadId: memory.threadId }
    const pairs = yield* host.answer(key, { _tag: "LaterVersions", scope, keys, filter: filterFor(key) })
    for (const [older, later] of pairs) {
      for (const one of messageKeys(namespace, older)) {
        const known = found.get(one) ?? new Set()
        found.set(one, known.union(new Set(messageKeys(namespace, later))))
      }
    }
  }
  return (older: MessageHit, newer: MessageHit): boolean =>
    messageKeys(older.ranked.candidate.namespace, older.memory).some((one) =>
      messageKeys(newer.ranked.candidate.namespace, newer.memory).some((other) => found.get(one)?.has(other))
    )
})

export type MessageOrFact = Pick<MemoryVersion, "sources" | "subjectId" | "threadId">

/** Of the messages that a memory is, or was taken from; a key is unique in its conversation. */
export const messageKeys = (
  namespace: string,
  { sources, subjectId, threadId }: MessageOrFact
): ReadonlyArray<string> =>
  backingSources(sources).map(({ key }) => JSON.stringify([namespace, subjectId, threadId, key]))
