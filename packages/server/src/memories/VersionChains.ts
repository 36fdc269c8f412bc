/**
 * Version chains of memories with unique fields, for deletions (contract: Memories): which versions belong together, and
 * which one becomes the latest again when others are removed. A chain is followed by its links, so it may be of any
 * length, and is never held as a whole in one command.
 */
import { Effect } from "effect"
import type { MemoryVersion } from "@muniment/domain/Memory"
import type { ReadError } from "@muniment/engine/host/NamespaceHost"

type Find = (id: string) => Effect.Effect<MemoryVersion | undefined, ReadError>

/** Ids of all versions of these memories, oldest first, so that no older one is the latest while others go. */
export const withAllVersions = Effect.fnUntraced(function* (find: Find, ids: ReadonlyArray<string>) {
  const all = new Set<string>()
  for (const id of ids) {
    if (all.has(id)) continue
    const named = yield* find(id)
    if (named === undefined) continue
    const older = (yield* linked(find, named, "supersedes")).toReversed()
    const newer = yield* linked(find, named, "supersededBy")
    for (const one of [...older, id, ...newer]) all.add(one)
  }
  return [...all]
})

/** Ids behind a version in one direction, the nearest first. */
const linked = Effect.fnUntraced(function* (find: Find, from: MemoryVersion, direction: "supersedes" | "supersededBy") {
  const ids: Array<string> = []
  for (let next = from[direction]; next !== undefined;) {
    const id: string = next
    ids.push(id)
    next = (yield* find(id))?.[direction]
  }
  return ids
})

/** Of memories that are to be removed: the versions that may become the latest again. */
export const versionsBeneath = Effect.fnUntraced(function* (find: Find, ids: ReadonlyArray<string>) {
  const removed = new Set(ids)
  const beneath = new Set<string>()
  for (const id of removed) {
    let version = yield* find(id)
    if (version?.isLatest !== true) continue
    while (version !== undefined && removed.has(version.id)) {
      version = version.supersedes === undefined ? undefined : yield* find(version.supersedes)
    }
    if (version !== undefined) beneath.add(version.id)
  }
  return [...beneath]
})

/** Those of `ids` that are the latest version now. */
export const latestOf = (find: Find, ids: ReadonlyArray<string>) =>
  Effect.map(Effect.forEach(ids, find), (found) => found.flatMap((one) => (one?.isLatest === true ? [one.id] : [])))
