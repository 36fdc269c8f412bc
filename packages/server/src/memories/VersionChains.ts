/**
 * Version chains of memories with unique fields, for histories and deletions (contract: Memories): which versions belong
 * together, and which one becomes the latest again when others are removed. A chain is followed by its links, so it may be of any
 * length, and is never held as a whole in one command.
 */
import { Effect } from "effect"
import type { PricedCall } from "@muniment/domain/api/Middleware"
import { memoryNotFound } from "@muniment/domain/Errors"
import type { MemoryVersion } from "@muniment/domain/Memory"
import type { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import type { NamespaceHost, ReadError } from "@muniment/engine/host/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { sees, requireChange, seesAgent } from "../identity/KeyScopes.ts"
import { type IfMatch, versionMismatch, versionOf } from "./IfMatch.ts"

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

/** Versions beneath memories that are to be removed, which may become the latest again. */
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

/** Ids that are the latest version now. */
export const latestOf = (find: Find, ids: ReadonlyArray<string>) =>
  Effect.map(Effect.forEach(ids, find), (found) => found.flatMap((one) => (one?.isLatest === true ? [one.id] : [])))

interface Owners {
  readonly directory: NamespaceDirectory["Service"]
  readonly host: NamespaceHost["Service"]
}

/** Versions of a memory that the caller sees, newest first: at most `limit`. They have one agent and one subject. */
export const historyOf = Effect.fn("VersionChains.historyOf")(function* (
  { directory, host }: Owners,
  call: PricedCall,
  id: string,
  limit: number
) {
  const key = directory.holding(call.caller.account.id, id)
  if (key === undefined) return yield* memoryNotFound()
  const found = yield* host.answer(key, { _tag: "History", id, limit })
  if (!found.versions.some((version) => sees(call.caller, version))) return yield* memoryNotFound()
  yield* call.reserve({ agent: key.agentId })
  return found
})

interface Parts {
  readonly directory: NamespaceDirectory["Service"]
  readonly host: NamespaceHost["Service"]
}

/**
 * The namespace that holds a memory which the caller may change. Asked before the price is reserved, so that a call that
 * would be refused costs nothing; the actor decides again when the change is committed.
 *
 * With the memory; undefined: it was there until a commit with the token of this call.
 */
export const holderOf = Effect.fnUntraced(function* (parts: Parts, call: PricedCall, id: string) {
  const { caller } = call
  yield* requireChange(caller)
  const key = parts.directory.holding(caller.account.id, id)
  if (key === undefined || !seesAgent(caller, key.agentId)) return yield* memoryNotFound()
  const found = yield* parts.host.answer(key, { _tag: "Find", id })
  if (found === undefined ? !(yield* isRepeat(parts, call, key)) : !sees(caller, found)) return yield* memoryNotFound()
  return { key, found }
})

/** The same of a memory that is there in a version of `ifMatch`, or was until a commit with the token of this call. */
export const holderOfVersion = Effect.fnUntraced(function* (
  parts: Parts,
  call: PricedCall,
  id: string,
  ifMatch: IfMatch
) {
  const { found, key } = yield* holderOf(parts, call, id)
  const isOther = found !== undefined && ifMatch !== undefined && !ifMatch.includes(versionOf(found))
  if (isOther && !(yield* isRepeat(parts, call, key))) return yield* versionMismatch
  return key
})

const isRepeat = ({ host }: Parts, { token }: PricedCall, key: NamespaceKey) =>
  token === undefined ? Effect.succeed(false) : host.answer(key, { _tag: "IsCommitted", idempotencyKey: token.key })
