/**
 * Records as callers see them (contract: Memories, Search). On a name clash the system field wins in `metadata`;
 * `data` is authoritative.
 */
import { Effect } from "effect"
import {
  backingSources,
  type ExportedMemory,
  type HistoryEntry,
  type JsonObject,
  type MemoryEntry,
  type MemoryHistory,
  type MemoryVersion,
  type MemoryView,
  type SearchHit,
  type TurnAround
} from "@muniment/domain/Memory"
import { Limits } from "@muniment/domain/Limits"
import { explainedTerms, moveMeanings } from "@muniment/engine/ranking/Explanation"
import type { FoundHistory } from "@muniment/engine/namespace/NamespaceQuery"
import type { MemoryHit } from "@muniment/engine/search/MemorySearch"
import { clippedText } from "@muniment/language/text/VisibleText"
import { PreconditionFailed } from "@muniment/domain/Errors"
import { versionTag } from "@muniment/engine/namespace/versionTag"

export const memoryEntry = (memory: MemoryVersion): MemoryEntry => ({
  id: memory.id,
  kind: memory.kind,
  data: memory.data,
  metadata: metadataOf(memory)
})

export const memoryView = (memory: MemoryVersion): MemoryView => ({
  ...memoryEntry(memory),
  context: contextOf(memory),
  source: "own",
  ...(memory.feedback !== undefined && { feedback: memory.feedback }),
  version: versionOf(memory)
})

/** Answer of GET /memories/{id}/history, apart from `success`. */
export const historyView = ({ total, versions }: FoundHistory): MemoryHistory => ({
  versions: versions.map(historyEntry),
  total
})

const historyEntry = (memory: MemoryVersion): HistoryEntry => {
  const { changedAt, createdAt, origin, revision } = memory
  return {
    memory: memoryView(memory),
    how: revision?.how ?? (origin === "extraction" ? "extracted" : "stored"),
    at: changedAt ?? createdAt,
    ...(revision?.by !== undefined && { by: revision.by }),
    ...(revision?.of !== undefined && { restoredFrom: revision.of })
  }
}

interface ShownHit {
  /** From 1. */
  readonly rank: number
  readonly explain: boolean
  /** Grantor of a shared memory, whose view names its source. */
  readonly grantor: string | undefined
  /** Turns around a message, where they are asked for. */
  readonly turns: Turns | undefined
}

/** Turns next to a message, each list oldest first. */
export interface Turns {
  readonly before: ReadonlyArray<MemoryVersion>
  readonly after: ReadonlyArray<MemoryVersion>
}

export const searchHit = (
  { correctedBy, memory, move, ranked }: MemoryHit,
  { explain, grantor, rank, turns }: ShownHit
): SearchHit => ({
  id: memory.id,
  kind: memory.kind,
  quality: { relevance: ranked.relevance, confidence: memory.confidence },
  data: memory.data,
  context: {
    ...contextOf(memory),
    ...(correctedBy !== undefined && { correctedBy }),
    ...(turns !== undefined && { around: turnsShown(turns, grantor !== undefined) })
  },
  ...(grantor === undefined
    ? { source: "own", metadata: metadataOf(memory) }
    : { source: "shared", grantor, metadata: sharedMetadata(memory) }),
  ...(ranked.candidate.passage !== undefined && { passage: ranked.candidate.passage }),
  ...(explain && {
    explain: {
      lexical: ranked.evidence.words,
      dense: ranked.candidate.cosine ?? null,
      fused: ranked.relevance,
      rank,
      score: Math.round(ranked.order * 1e4) / 1e4,
      terms: explainedTerms(ranked.evidence),
      ...(move !== undefined && { moved: moveMeanings[move] })
    }
  })
})

const turnsShown = ({ after, before }: Turns, isShared: boolean): ReadonlyArray<TurnAround> => [
  ...before.map((turn, at) => turnShown(turn, at - before.length, isShared)),
  ...after.map((turn, at) => turnShown(turn, at + 1, isShared))
]

const turnShown = ({ contentHash, data, id, when }: MemoryVersion, offset: number, isShared: boolean): TurnAround => ({
  id,
  offset,
  role: String(data["role"] ?? ""),
  ...(typeof data["name"] === "string" && { name: data["name"] }),
  ...(when !== undefined && { when }),
  text: clippedText(String(data["text"] ?? ""), Limits.passageLengthMax),
  ...(isShared && { contentHash })
})

const sharedMetadata = ({ agentId, contentHash, data }: MemoryVersion): JsonObject => ({
  ...data,
  agentId,
  contentHash,
  source: "shared"
})

export const exportedMemory = (memory: MemoryVersion): ExportedMemory => {
  const { isLatest: _isLatest, supersedes: _supersedes, supersededBy: _supersededBy, ...record } = memory
  return defined(record) as ExportedMemory
}

const contextOf = (memory: MemoryVersion): MemoryView["context"] => ({
  ...(memory.when !== undefined && { when: memory.when }),
  mentions: memory.mentions,
  tags: memory.tags,
  ...(memory.metadata !== undefined && { metadata: memory.metadata }),
  isLatest: memory.isLatest
})

const metadataOf = (memory: MemoryVersion): JsonObject => ({
  ...memory.metadata,
  ...memory.data,
  ...defined({
    agentId: memory.agentId,
    subjectId: memory.subjectId,
    threadId: memory.threadId,
    tags: memory.tags,
    confidence: memory.confidence,
    createdAt: memory.createdAt,
    updatedAt: memory.updatedAt,
    contentHash: memory.contentHash,
    expiresAt: memory.expiresAt,
    supersedes: memory.supersedes,
    supersededBy: memory.supersededBy,
    sourceMessageIds: memory.sources && backingSources(memory.sources).flatMap(({ id }) => id ?? [])
  })
})

/** The fields without undefined members, which JSON cannot hold. */
const defined = (fields: Readonly<Record<string, unknown>>): JsonObject => {
  const kept: Record<string, unknown> = {}
  for (const name in fields) {
    const value = fields[name]
    if (value !== undefined) kept[name] = value
  }
  return kept as JsonObject
}

/**
 * `If-Match` and `ETag` of memories (contract: Memories; RFC 9110, 13.1.1): a change names the versions that it is for.
 */

/** Undefined: any version. */
export type IfMatch = ReadonlyArray<string> | undefined

export const versionOf = (memory: MemoryVersion): string => versionTag(memory, memory.isLatest)

export const etagOf = (version: string): string => `"${version}"`

/** Reads a header that `ChangeHeaders` has let through. Weak tags match nothing, `*` everything. */
export const ifMatchOf = (header: string | undefined): IfMatch =>
  header === undefined || header === "*"
    ? undefined
    : [...header.matchAll(/(W\/)?"([^"]*)"/gu)].flatMap(([, weak, tag]) => (weak === undefined ? [tag!] : []))

export const versionMismatch = Effect.suspend(() =>
  Effect.fail(
    new PreconditionFailed({
      code: "version_mismatch",
      error: "the memory was changed since: it is another version than `If-Match` names; read it again"
    })
  )
)
