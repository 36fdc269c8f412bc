/** When the messages were sent from which memories were extracted: an import stores all of them today. */
import { Effect } from "effect"
import { backingSources, type MemoryVersion } from "@muniment/domain/Memory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"

/** Times of saying by id of the memory, milliseconds; memories of which no message is stored are left out. */
export const saidTimes = Effect.fn("SaidTimes.of")(function* (
  host: NamespaceHost["Service"],
  namespace: NamespaceKey,
  memories: ReadonlyArray<MemoryVersion>
) {
  const asked = memories.flatMap(({ id, origin, sources, subjectId, threadId }) => {
    const key = origin === "extraction" ? backingSources(sources).at(-1)?.key : undefined
    return key === undefined ? [] : [{ id, message: { scope: { subjectId, threadId }, key } }]
  })
  const times = new Map<string, number>()
  if (asked.length === 0) return times
  const said = yield* host.answer(namespace, { _tag: "Said", messages: asked.map(({ message }) => message) })
  for (const [at, { id }] of asked.entries()) {
    const millis = Date.parse(said[at] ?? "")
    if (!Number.isNaN(millis)) times.set(id, millis)
  }
  return times
})

export type SaidTimes = Effect.Success<typeof makeSaidTimes>

/** The same of memories of an account, one query for each agent. */
export const makeSaidTimes = Effect.gen(function* () {
  const host = yield* NamespaceHost
  const directory = yield* NamespaceDirectory
  return Effect.fnUntraced(function* (accountId: string, memories: ReadonlyArray<MemoryVersion>) {
    const times = new Map<string, number>()
    for (const [agentId, some] of Map.groupBy(memories, (memory) => memory.agentId)) {
      const namespace = directory.find(accountId, agentId)
      if (namespace === undefined) continue
      // Without its time a memory counts as said when it was stored.
      const found = yield* Effect.orElseSucceed(saidTimes(host, namespace, some), () => new Map<string, number>())
      for (const [id, millis] of found) times.set(id, millis)
    }
    return times
  })
})
