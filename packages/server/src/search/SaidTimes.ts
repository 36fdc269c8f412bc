/** When the messages were sent from which memories were extracted: an import stores all of them today. */
import { Effect } from "effect"
import { backingSources, type MemoryVersion } from "@muniment/domain/Memory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { MemoryHit } from "@muniment/engine/search/MemorySearch"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"

/** When the last message was sent that a memory was extracted from; undefined: none is stored. */
export const saidMillis = Effect.fn("SaidTimes.saidMillis")(function* (
  host: NamespaceHost["Service"],
  namespace: NamespaceKey,
  { origin, sources, subjectId, threadId }: MemoryVersion
) {
  const key = origin === "extraction" ? backingSources(sources).at(-1)?.key : undefined
  if (key === undefined) return undefined
  const stored = yield* host.answer(namespace, { _tag: "Stored", scope: { subjectId, threadId }, keys: [key] })
  const id = stored.get(key)
  const message = id === undefined ? undefined : yield* host.answer(namespace, { _tag: "Find", id })
  const millis = Date.parse(message?.when ?? "")
  return Number.isNaN(millis) ? undefined : millis
})

/** By id of the memory, milliseconds; of the last of its messages. */
export type SaidTimes = Effect.Success<typeof makeSaidTimes>

export const makeSaidTimes = Effect.gen(function* () {
  const host = yield* NamespaceHost
  const directory = yield* NamespaceDirectory
  return Effect.fn("SaidTimes.of")(function* (hits: ReadonlyArray<MemoryHit>) {
    const times = new Map<string, number>()
    for (const hit of hits) {
      // Without its time it counts as said when it was stored.
      const namespace = directory.byTag(hit.ranked.candidate.namespace)
      if (namespace === undefined) continue
      const millis = yield* Effect.orElseSucceed(saidMillis(host, namespace, hit.memory), () => undefined)
      if (millis !== undefined) times.set(hit.memory.id, millis)
    }
    return times
  })
})
