/**
 * Consolidation as versions: what is superseded goes, with its history, under the unique key of the memory that supersedes
 * it, in the commit that stores this one; undoing moves it back in the commit that removes this one.
 *
 * Invariants: nothing is changed unless all of it is as it was read; a text goes with each memory whose words it carries on
 * (`MessageSource.isCarried`), and expires with the first of them; nothing is merged that has two attributes with one value
 * each.
 */
import { Effect } from "effect"
import { Conflict } from "@muniment/domain/Errors"
import { commonMetadata } from "@muniment/domain/Metadata"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryRecord, MemoryVersion, MessageSource } from "@muniment/domain/Memory"
import type { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { MovedMemory } from "@muniment/engine/namespace/Commands"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import type { ConsolidationEntry } from "@muniment/control/jobs/JobLog"
import type { Consolidated } from "@muniment/insight/consolidation/Consolidator"
import { contentHash, sha256Hex } from "@muniment/trust/CanonicalJson"
import { versionOf } from "../memories/MemoryViews.ts"
import { contentKey } from "../memories/MemoryPreparation.ts"

/** A memory with a longer history is left alone. */
const versionsMax = 64
const undoAttemptsMax = 3

type Host = NamespaceHost["Service"]

interface PreparedChange {
  readonly record: MemoryRecord
  readonly moves: ReadonlyArray<MovedMemory>
  readonly entry: ConsolidationEntry
}

/** Undefined: it is left alone. `members`: what the change names, oldest first. */
export const preparedChange = Effect.fn("VersionMoves.prepare")(function* (
  host: Host,
  key: NamespaceKey,
  { action, by }: Consolidated,
  members: ReadonlyArray<MemoryVersion>,
  made: { readonly id: string; readonly atMillis: number }
) {
  const chains = yield* Effect.forEach(members, (member) => chainOf(host, key, member))
  const held = new Set(chains.flatMap((chain) => (chain.length > versionsMax ? [] : (heldKey(chain) ?? []))))
  const last = typeof by === "string" ? members.find(({ id }) => id === by) : members.at(-1)
  if (last === undefined || held.size > 1 || chains.some(({ length }) => length > versionsMax)) return undefined
  const { data, kind, when } = typeof by === "string" ? last : by
  const uniqueKey = [...held][0] ?? ownKey(made.id)
  const { isLatest: _isLatest, supersededBy: _supersededBy, supersedes: _supersedes, ...carried } = last
  const record: MemoryRecord = {
    ...carried,
    ...(typeof by === "string" ? {} : joinedFields(members, last)),
    id: made.id,
    kind,
    data,
    when,
    contentHash: contentHash({ agentId: last.agentId, data, kind }),
    createdAt: made.atMillis,
    updatedAt: made.atMillis,
    uniqueKey
  }
  const versions = chains.flat()
  return {
    record,
    moves: versions.map((version) => moveOf(version, uniqueKey)),
    entry: {
      id: `con_${made.id.slice(memoryPrefix.length)}`,
      account: key.account,
      namespace: key.tag,
      agentId: key.agentId,
      at: made.atMillis,
      action,
      memories: members.map(({ id }) => id),
      into: made.id,
      key: uniqueKey,
      versions: versions.map((version) => ({ id: version.id, key: version.uniqueKey! }))
    }
  } satisfies PreparedChange
})

const memoryPrefix = "mem_"

/** All versions of a memory, the newest first; longer than `versionsMax`: not all of them. */
const chainOf = Effect.fnUntraced(function* (host: Host, key: NamespaceKey, latest: MemoryVersion) {
  const chain = [latest]
  let before = latest.supersedes
  while (before !== undefined && chain.length <= versionsMax) {
    const version = yield* host.answer(key, { _tag: "Find", id: before })
    if (version === undefined) break
    chain.push(version)
    before = version.supersedes
  }
  return chain
})

/** Key of a joined memory: a statement that repeats one of its parts does not supersede it. */
const ownKey = (id: string): string => sha256Hex(`consolidated ${id}`)

/** The key of an attribute with one value at a time; undefined: it is that of its own words, or of what joined them. */
const heldKey = (chain: ReadonlyArray<MemoryVersion>): string | undefined => {
  const key = chain[0]?.uniqueKey
  const isOwn = ({ data, id, kind, subjectId }: MemoryVersion) =>
    contentKey(subjectId, kind, data) === key || ownKey(id) === key
  return chain.some(isOwn) ? undefined : key
}

const moveOf = (version: MemoryVersion, to: string | undefined): MovedMemory => ({
  id: version.id,
  from: version.uniqueKey!,
  to,
  version: versionOf(version)
})

/** Fields that a joined text takes from its memories; its thread is that of the newest. */
const joinedFields = (members: ReadonlyArray<MemoryVersion>, { threadId }: MemoryVersion) => {
  const ends = members.flatMap(({ expiresAt }) => expiresAt ?? [])
  const own = members.filter((member) => member.threadId === threadId).flatMap(({ sources = [] }) => sources)
  const carried = members.map(({ id }): MessageSource => ({ key: id, isCarried: true }))
  const mentions = members.flatMap((member) => member.mentions)
  return {
    tags: [...new Set(members.flatMap(({ tags }) => tags))].slice(0, Limits.tagsPerMemoryMax),
    metadata: commonMetadata(members.map(({ metadata }) => metadata)),
    mentions: [...new Map(mentions.map((mention) => [mention.name, mention])).values()],
    confidence: Math.min(...members.map(({ confidence }) => confidence)),
    expiresAt: ends.length === 0 ? undefined : Math.min(...ends),
    sources: [...new Map([...own, ...carried].map((source) => [source.key, source])).values()]
  }
}

/** Whether the change of an entry was committed, as long as nothing has become of it since. */
export const isCommitted = (host: Host, key: NamespaceKey, { into }: ConsolidationEntry) =>
  Effect.map(host.answer(key, { _tag: "Find", id: into }), (made) => made !== undefined)

/** Moves everything back that is as the consolidation left it. */
export const undoChange = Effect.fn("VersionMoves.undo")(function* (
  host: Host,
  key: NamespaceKey,
  entry: ConsolidationEntry
) {
  for (let attempt = 0; attempt < undoAttemptsMax; attempt++) {
    const made = yield* host.answer(key, { _tag: "Find", id: entry.into })
    const latest = yield* host.answer(key, { _tag: "LatestOf", uniqueKey: entry.key })
    const known = new Set([entry.into, ...entry.versions.map(({ id }) => id)])
    if ((made !== undefined && isChanged(made, entry)) || (latest !== undefined && !known.has(latest.id)))
      return yield* superseded(entry)
    const found = yield* Effect.forEach(entry.versions, (version) =>
      Effect.map(host.answer(key, { _tag: "Find", id: version.id }), (memory) =>
        memory?.uniqueKey === entry.key ? [moveOf(memory, version.key)] : []
      )
    )
    const { isStale } = yield* host.ask(key, {
      _tag: "StoreMemories",
      memories: [],
      moves: [...found.flat(), ...(made === undefined ? [] : [moveOf(made, undefined)])],
      idempotency: undefined
    })
    if (!isStale) return
  }
  return yield* superseded(entry)
})

/** Whether a caller changed the memory in place, or a later change moved it; feedback leaves its times as they are. */
const isChanged = ({ feedback = [], uniqueKey, updatedAt }: MemoryVersion, { at, key }: ConsolidationEntry): boolean =>
  uniqueKey !== key || updatedAt !== at || feedback.length > 0

const superseded = ({ into }: ConsolidationEntry) =>
  new Conflict({
    code: "consolidation_superseded",
    error: `the memory ${into} was changed since, or a later one has taken its place; nothing was undone`
  })
