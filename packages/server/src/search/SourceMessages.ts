/**
 * The turns around messages in their conversations, oldest first: what was said just before a hit, and just after it.
 *
 * Invariants: shows only what `visible` lets through, what has not expired, and no message whose memory was corrected
 * since; says nothing of a message that the caller does not see, nor of a memory that is no message of a conversation.
 */
import { Effect } from "effect"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { backingSources, type MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import { traced } from "@muniment/domain/traced"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { correctionsOf } from "@muniment/engine/search/presentFirst"
import { type NamespacePlace, versionsAt } from "@muniment/engine/search/readNamespaces"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import type { Turns } from "../memories/MemoryViews.ts"

export interface TurnsAsked {
  /** Places of the messages: candidates of search hits are such places. */
  readonly places: ReadonlyArray<NamespacePlace>
  /** The nearest visible turns before each message, and after it; fewer where some of them are corrected. */
  readonly eachSide: number
  /** Filter of what the caller sees in a namespace: `anyOf` of a bound key or of grants; no restriction: `{}`. */
  readonly visible: (namespace: NamespaceKey) => MemoryFilter
}

/** Turns around each message, by its id. */
export const turnsAround = traced("TurnsAround.of")(function* (
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  { eachSide, places, visible }: TurnsAsked
) {
  const found = new Map<string, Turns>()
  for (const [tag, here] of Map.groupBy(places, ({ namespace }) => namespace)) {
    const key = namespaces.find((one) => one.tag === tag)
    if (key === undefined) continue
    const filter = visible(key)
    const around = yield* host.answer(key, { _tag: "Around", places: here, eachSide, filter })
    const beside = around.flatMap(({ after, before }) => [...before, ...after])
    const distinct = new Map(beside.map((place) => [place.id, { ...place, namespace: tag }]))
    const versions = yield* versionsAt(host, [key], [...distinct.values()], filter.asOf)
    const placed = Array.from(versions.values(), (memory) => ({ memory, namespace: tag }))
    const corrected = yield* correctionsOf(host, [key], placed, visible)
    const versionsOf = (ids: ReadonlyArray<{ readonly id: string }>) =>
      ids.flatMap(({ id }) => (corrected.has(id) ? [] : (versions.get(id) ?? [])))
    for (const { after, before, id } of around) found.set(id, { before: versionsOf(before), after: versionsOf(after) })
  }
  return found as ReadonlyMap<string, Turns>
})

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

/** When the messages were sent from which memories were extracted: an import stores all of them today. */
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
