/**
 * Commands that change a namespace, and their replies. Plain data: the owner may run in another fiber today and in
 * another process tomorrow. Delivery is at least once, so every command that a client can repeat carries an
 * idempotency token.
 */
import type { IdempotencyToken } from "@muniment/domain/api/Middleware"
import type { Feedback } from "@muniment/domain/Feedback"
import type { MemoryPatch, MemoryRecord, MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import { Limits } from "@muniment/domain/Limits"
import type { ConversationScope, ConversationTurn, ErasureMark, PendingReading } from "../store/Conversations.ts"
import type { MemoryVector } from "../store/Commit.ts"
import { feedbackBytes, memoryBytes, metadataBytes, tagBytes } from "../store/MemoryRow.ts"

export type Command =
  | StoreMemories
  | PatchMemories
  | GiveFeedback
  | RemoveMemories
  | RemoveMatching
  | StoreVectors
  | ImportRecords
  | Sweep
  | RemoveCreatedBefore

/** The reply of each command. A number counts the memories that changed. */
export interface Replies {
  readonly StoreMemories: StoredMemories
  readonly PatchMemories: ReadonlyArray<MemoryVersion>
  /** Undefined: the memory has as much feedback as it may have. */
  readonly GiveFeedback: MemoryVersion | undefined
  readonly RemoveMemories: number
  readonly RemoveMatching: number
  readonly StoreVectors: number
  readonly ImportRecords: number
  readonly Sweep: number
  readonly RemoveCreatedBefore: number
}

/** Room that an account's quota of bytes has for a command; its sender holds it. */
export interface Room {
  readonly limit: number
  readonly used: number
}

export type ReplyOf<C extends Command> = Replies[C["_tag"]]

/**
 * Inserts and replaces memories, all or nothing, together with the conversation they were taken from.
 *
 * A record of origin `conversation` is a message: its only source has its key, its subject and thread name its
 * conversation. It gets the next position there, in the order of the command, and is marked as stored; one that was
 * stored before in its conversation, also if its memory is gone, is left out of the command and of the reply.
 */
export interface StoreMemories {
  readonly _tag: "StoreMemories"
  readonly memories: ReadonlyArray<PreparedMemory>
  readonly idempotency: IdempotencyToken | undefined
  /** Leaves out a memory whose content a live latest memory of the same kind and subject already holds. */
  readonly skipsDuplicates?: boolean | undefined
  readonly conversation?: ConversationCommit | undefined
  /** Stores nothing, and is stale, unless this memory is as expected. */
  readonly expected?: ExpectedMemory | undefined
  /** Versions that go under another unique key, or go, before the others are stored. Stale unless each is as it says. */
  readonly moves?: ReadonlyArray<MovedMemory> | undefined
  /** Absent: the namespace's own meter decides. */
  readonly room?: Room | undefined
}

/** A memory whose unique key changes. Of several under one key the last inserted one is latest. */
export interface MovedMemory {
  readonly id: string
  /** The unique key that it has. */
  readonly from: string
  /** May be the same: then the memory only has to be as it says. Undefined: the memory is removed. */
  readonly to: string | undefined
  /** `versionTag.ts` */
  readonly version: string
}

/** A memory that has one of these version tags (`versionTag.ts`). */
export interface ExpectedMemory {
  readonly id: string
  readonly versions: ReadonlyArray<string>
}

export interface StoredMemories {
  readonly created: ReadonlyArray<MemoryVersion>
  readonly updated: ReadonlyArray<MemoryVersion>
  /** Memories left out: their index in the command, and the id of the stored memory with the same content. */
  readonly duplicates: ReadonlyArray<{ readonly index: number; readonly id: string }>
  /**
   * Nothing was stored: another command processed one of the messages first, or changed the memory that was expected.
   * Read the namespace and try again.
   */
  readonly isStale: boolean
}

/** A memory that is complete, validated and embedded before it enters the mailbox. */
export interface PreparedMemory {
  readonly record: MemoryRecord
  readonly vector: MemoryVector | undefined
  /** The request named an existing memory, whose data this one replaces. */
  readonly isReplacement: boolean
  /** The request set an expiry; a replacement without one keeps the old expiry. */
  readonly setsExpiry: boolean
  /** The request set the tags; a replacement without keeps the old ones. */
  readonly setsTags?: boolean | undefined
}

/** State of a conversation, committed with the memories that were taken from it. */
export interface ConversationCommit {
  readonly scope: ConversationScope
  /** Hex keys of the messages that this command marks as read. Those it stores are marked with their records. */
  readonly processed: ReadonlyArray<string>
  /** Stores even if some of the messages were processed before; otherwise the command is stale then. */
  readonly isForced: boolean
  /** Messages that become context of the next extraction, oldest first; the newest of a conversation are kept. */
  readonly turns: ReadonlyArray<ConversationTurn>
  /** Undefined keeps the old summary. */
  readonly summary: string | undefined
  /** Expiry of the turns and the summary, milliseconds. */
  readonly expiresAt?: number | undefined
  /** Earlier turns and summary that the extraction has read; absent: none. */
  readonly context?: ReadContext | undefined
  /** Memories that the extraction has read: the command is stale if one is gone, or says something else. */
  readonly shown?: ReadonlyArray<ShownMemory> | undefined
  /** Keys of messages that are erased with what was taken from them alone: their writer asked not to keep them. */
  readonly withheld?: ReadonlyArray<string> | undefined
  /** An extraction that is to follow; kept until a commit `reads` it. */
  readonly awaits?: PendingReading | undefined
  /** Id of the awaited extraction that this commit carries out, or gives up. */
  readonly reads?: string | undefined
}

export interface ShownMemory {
  readonly id: string
  readonly contentHash: string
  /** The extraction puts a version in its place: the command is also stale if another one did so before. */
  readonly isReplaced?: boolean | undefined
}

/** Derived data inherits the expiry and the erasure of its sources. */
export interface ReadContext {
  /** The command is stale if part of the context was erased since this mark. */
  readonly readAt: ErasureMark
  /** The earliest expiry within the context, milliseconds: the new summary expires then at the latest. */
  readonly expiresAt: number | undefined
}

export interface PatchMemories {
  readonly _tag: "PatchMemories"
  readonly ids: ReadonlyArray<string>
  readonly patch: MemoryPatch
  readonly atMillis: number
  /** Changes nothing unless this memory is as expected. */
  readonly expected?: ExpectedMemory | undefined
  readonly idempotency: IdempotencyToken | undefined
  /** As of `StoreMemories`. */
  readonly room?: Room | undefined
}

/** Keeps feedback with a memory, whose version tag and times stay as they are. */
export interface GiveFeedback {
  readonly _tag: "GiveFeedback"
  readonly id: string
  readonly feedback: Feedback
  readonly idempotency: IdempotencyToken | undefined
  /** As of `StoreMemories`. */
  readonly room?: Room | undefined
}

export interface RemoveMemories {
  readonly _tag: "RemoveMemories"
  readonly ids: ReadonlyArray<string>
  /** Removes nothing unless this memory is as expected. */
  readonly expected?: ExpectedMemory | undefined
  readonly idempotency: IdempotencyToken | undefined
}

/** Stores vectors that were computed in the background, each only if its text has not changed since. */
export interface StoreVectors {
  readonly _tag: "StoreVectors"
  readonly vectors: ReadonlyArray<{ readonly id: string; readonly contentHash: string; readonly vector: MemoryVector }>
}

/**
 * Inserts records of an export with their ids and times; skips a record whose id is stored, and a message that is
 * stored in its conversation. Messages keep their positions.
 */
export interface ImportRecords {
  readonly _tag: "ImportRecords"
  readonly records: ReadonlyArray<{ readonly record: MemoryRecord; readonly vector: MemoryVector | undefined }>
  /** Skips a record, unless it is a message, whose content a live latest memory of its subject and kind has. */
  readonly skipsDuplicates?: boolean | undefined
  /** As of `StoreMemories`. */
  readonly room?: Room | undefined
}

/**
 * Removals in portions of at most `Limits.removalsPerCommitMax` memories, so that other commands get their turn.
 * Repeat the command until the reply is smaller.
 */
export type PortionedRemoval = RemoveMatching | Sweep | RemoveCreatedBefore

/**
 * Removes what a filter matches, all versions included. A filter on nothing but subject and thread also removes all
 * that is kept of the conversations it covers.
 */
export interface RemoveMatching {
  readonly _tag: "RemoveMatching"
  readonly filter: MemoryFilter
}

/** Removes expired memories from the file. */
export interface Sweep {
  readonly _tag: "Sweep"
  /** Removes only what had expired by this time (default: now); the daily job repeats past days with it. */
  readonly expiredBy?: number
}

/** Removes memories, all versions included, and conversation turns that are older than a bound. */
export interface RemoveCreatedBefore {
  readonly _tag: "RemoveCreatedBefore"
  readonly beforeMillis: number
}

/** Bytes that commands add, as the quota counts them, before anybody has looked at what is stored (contract: Quotas). */
export type GrowingCommand = StoreMemories | PatchMemories | GiveFeedback | ImportRecords

const growing: ReadonlySet<Command["_tag"]> = new Set<GrowingCommand["_tag"]>([
  "StoreMemories",
  "PatchMemories",
  "GiveFeedback",
  "ImportRecords"
])

export const mayGrow = (command: Command): command is GrowingCommand => growing.has(command._tag)

/** At most; less where something is stored already, or is replaced. */
export const growthMax = (command: GrowingCommand): number => {
  switch (command._tag) {
    case "StoreMemories":
      return command.memories.reduce(
        (sum, { isReplacement, record }) =>
          sum + memoryBytes(record) - (isReplacement ? Limits.memoryOverheadBytes : 0),
        0
      )
    case "PatchMemories": {
      const { metadata, tags } = command.patch
      return (
        new Set(command.ids).size * ((tags === undefined ? 0 : tagBytes(tags)) + metadataBytes(metadata ?? undefined))
      )
    }
    case "GiveFeedback":
      return feedbackBytes([command.feedback])
    case "ImportRecords":
      return command.records.reduce((sum, { record }) => sum + memoryBytes(record), 0)
  }
}
