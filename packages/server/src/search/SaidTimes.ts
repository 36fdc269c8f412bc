/** When the messages were sent from which memories were extracted: an import stores all of them today. */
import { Effect } from "effect"
import { backingSources } from "@muniment/domain/Memory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { MemoryHit } from "@muniment/engine/search/MemorySearch"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"

/** By id of the memory, milliseconds; of the last of its messages. */
export type SaidTimes = Effect.Success<typeof makeSaidTimes>

export const makeSaidTimes = Effect.gen(function* () {
  const host = yield* NamespaceHost
  const directory = yield* NamespaceDirectory
  const saidMillis = Effect.fnUntraced(function* ({ memory, ranked }: MemoryHit) {
    const { origin, sources, subjectId, threadId } = memory
    const key = origin === "extraction" ? backingSources(sources).at(-1)?.key : undefined
    const namespace = directory.byTag(ranked.candidate.namespace)
    if (key === undefined || namespace === undefined) return undefined
    const stored = yield* host.answer(namespace, { _tag: "Stored", scope: { subjectId, threadId }, keys: [key] })
    const id = stored.get(key)
    const message = id === undefined ? undefined : yield* host.answer(namespace, { _tag: "Find", id })
    const millis = Date.parse(message?.when ?? "")
    return Number.isNaN(millis) ? undefined : millis
  })
  return Effect.fn("SaidTimes.of")(function* (hits: ReadonlyArray<MemoryHit>) {
    const times = new Map<string, number>()
    for (const hit of hits) {
      // Without its time it counts as said when it was stored.
      const millis = yield* Effect.orElseSucceed(saidMillis(hit), () => undefined)
      if (millis !== undefined) times.set(hit.memory.id, millis)
    }
    return times
  })
})
