/**
 * What a namespace can be asked to change. Commands are data, so that an owner may live in another
 * fiber today and in another process tomorrow; delivery counts as at least once, which is why every
 * command that a client can repeat carries an idempotency token (reliability.md, cuts 1 and 2).
 */
import type { IdempotencyToken } from "@muniment/domain/api/Middleware"
import type { MemoryRecord, MemoryPatch, MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import type { ConversationScope, ConversationTurn } from "./store/Conversations.ts"
import type { ErasureMark } from "./store/ErasureLog.ts"
import type { MemoryVector } from "./store/NamespaceStore.ts"

/** A memory to be stored: complete, validated and embedded before it enters the mailbox. */
export interface PreparedMemory {
  readonly record: MemoryRecord
  readonly vector: MemoryVector | undefined
  /** The caller named an existing record: replace its data (interface.md section 5.2). */
  readonly isReplacement: boolean
  /** The request set an expiry; a replacement without one keeps the old expiry. */
  readonly setsExpiry: boolean
}

/** The conversation that the memories of a command were taken from; it commits with them. */
export interface ConversationCommit {
  readonly scope: ConversationScope
  /** Hex keys of the messages that this command processes. */
  readonly processed: ReadonlyArray<string>
  /** Also if some of them were processed before; otherwise that makes the command stale. */
  readonly isForced: boolean
  /** Messages for the context of the next extraction, oldest first; the newest of a scope are kept. */
  readonly turns: ReadonlyArray<ConversationTurn>
  /** Undefined keeps the old one. */
  readonly summary: string | undefined
  /** Of the turns and the summary, milliseconds. */
  readonly expiresAt?: number | undefined
  /** What the reader of the messages was told of before; absent: nothing. */
  readonly context?: ReadContext | undefined
}

/** What was told of a conversation stands in what is made of it, so it ends that and its erasure undoes it. */
export interface ReadContext {
  /** If some of it was erased since, the command is stale. */
  readonly readAt: ErasureMark
  /** When the first of it ends, milliseconds; the summary ends then at the latest. */
  readonly expiresAt: number | undefined
}

export interface CreateMemories {
  readonly _tag: "CreateMemories"
  readonly memories: ReadonlyArray<PreparedMemory>
  readonly idempotency: IdempotencyToken | undefined
  /** Leaves out what a live latest memory of the same kind and subject says already. */
  readonly skipsDuplicates?: boolean | undefined
  readonly conversation?: ConversationCommit | undefined
}

export interface PatchMemories {
  readonly _tag: "PatchMemories"
  readonly ids: ReadonlyArray<string>
  readonly patch: MemoryPatch
  readonly atMillis: number
  readonly idempotency: IdempotencyToken | undefined
}

export interface RemoveMemories {
  readonly _tag: "RemoveMemories"
  readonly ids: ReadonlyArray<string>
  readonly idempotency: IdempotencyToken | undefined
}

/**
 * Removes what a filter matches, all versions included, and all that is kept of the conversations it covers
 * if it restricts nothing but subject and thread. At most `Limits.removalsPerCommitMax` memories at
 * a time, so that other work gets its turn; ask again until the reply is smaller.
 */
export interface RemoveMatching {
  readonly _tag: "RemoveMatching"
  readonly filter: MemoryFilter
}

/** Vectors made in the background; each is kept only if its text has not changed since. */
export interface StoreVectors {
  readonly _tag: "StoreVectors"
  readonly vectors: ReadonlyArray<{ readonly id: string; readonly contentHash: string; readonly vector: MemoryVector }>
}

/** Records of an export, ids and times kept; a record whose id is stored is skipped. */
export interface ImportRecords {
  readonly _tag: "ImportRecords"
  readonly records: ReadonlyArray<{ readonly record: MemoryRecord; readonly vector: MemoryVector | undefined }>
}

/** Removes expired rows for good, at most `Limits.removalsPerCommitMax` at a time. */
export interface Sweep {
  readonly _tag: "Sweep"
  /** Only those that had expired by then; the daily job catches up on days that are past. */
  readonly expiredBy?: number
}

/** Removes rows and turns by age, all versions, in the same portions; what the free plan does not keep. */
export interface RemoveCreatedBefore {
  readonly _tag: "RemoveCreatedBefore"
  readonly beforeMillis: number
}

/** Commands that remove in portions: ask again until the reply is smaller than `Limits.removalsPerCommitMax`. */
export type PortionedRemoval = RemoveMatching | Sweep | RemoveCreatedBefore

export type Command =
  | CreateMemories
  | PatchMemories
  | RemoveMemories
  | RemoveMatching
  | StoreVectors
  | ImportRecords
  | Sweep
  | RemoveCreatedBefore

export interface CreateReply {
  readonly created: ReadonlyArray<MemoryVersion>
  readonly updated: ReadonlyArray<MemoryVersion>
  /** Memories that were left out: their index in the command, and the stored one that says the same. */
  readonly duplicates: ReadonlyArray<{ readonly index: number; readonly id: string }>
  /** Nothing was done: a message was processed meanwhile, by somebody else. Look again. */
  readonly isStale: boolean
}

/** The reply of each command. Counts count what really changed. */
export interface Replies {
  readonly CreateMemories: CreateReply
  readonly PatchMemories: ReadonlyArray<MemoryVersion>
  readonly RemoveMemories: number
  readonly RemoveMatching: number
  readonly StoreVectors: number
  readonly ImportRecords: number
  readonly Sweep: number
  readonly RemoveCreatedBefore: number
}

export type ReplyOf<C extends Command> = Replies[C["_tag"]]
