/**
 * Port of the durable half of a namespace. One namespace is one (account, agent); its file holds
 * rows, full-text entries, vectors, conversations and idempotency keys. No SQL stands above this port.
 *
 * Invariants: a commit is all or nothing and durable before it returns; it is refused when another
 * owner has claimed a later epoch; the sequence number grows by one per change, never repeats, and
 * orders versions; an idempotency key is stored in the commit whose result it names.
 */
import type { Effect, Scope } from "effect"
import { Context, Data } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { MemoryRecord } from "@muniment/domain/Memory"
import type { FullText } from "../recall/FullText.ts"
import type { MemoryColumns } from "../recall/MemoryText.ts"
import type { ConversationChange, Conversations } from "./Conversations.ts"
import type { StoredSegments } from "./StoredSegments.ts"

export interface NamespaceKey {
  readonly tag: NamespaceTag
  readonly account: string
  readonly agentId: string
}

/** Vector of a memory: values (unit length), the model that made it. */
export interface MemoryVector {
  readonly model: string
  readonly values: Float32Array
}

export type Change =
  | {
      readonly _tag: "Put"
      readonly slot: number
      readonly record: MemoryRecord
      readonly columns: MemoryColumns
      readonly vector: MemoryVector | undefined
    }
  | { readonly _tag: "Patch"; readonly slot: number; readonly record: MemoryRecord; readonly columns: MemoryColumns }
  | { readonly _tag: "Remove"; readonly slot: number }
  | { readonly _tag: "Embed"; readonly slot: number; readonly vector: MemoryVector }

/** Result of a command under its idempotency key; `fingerprint` is the hash of the request. */
export interface StoredResult {
  readonly key: string
  readonly fingerprint: string
  readonly result: string
}

export interface CommitUnit {
  readonly changes: ReadonlyArray<Change>
  readonly idempotency: StoredResult | undefined
  /** Applied after the changes; it has no number of its own. */
  readonly conversation?: ConversationChange | undefined
}

/** What the namespace keeps in memory of a row: everything but its data. */
export interface MemoryRow {
  readonly slot: number
  readonly id: string
  /** Sequence number of the insertion: orders the versions of one unique key. */
  readonly createdSeq: number
  readonly kind: string
  readonly subjectId: string | undefined
  readonly threadId: string | undefined
  readonly tags: ReadonlyArray<string>
  readonly eventAt: number | undefined
  readonly createdAt: number
  readonly expiresAt: number | undefined
  readonly uniqueKey: string | undefined
}

export interface StoredVector {
  readonly slot: number
  readonly seq: number
  readonly model: string
  readonly values: Float32Array
}

/** Slots from one to before another. */
export interface SlotRange {
  readonly from: number
  readonly to: number
}

/** The moment a census looks at, and the age it asks for; milliseconds. */
export interface CensusOptions {
  readonly atMillis: number
  readonly createdBefore: number
  /** What a dry run would have removed by now is not counted. */
  readonly without?: { readonly createdBefore: number; readonly expiredBy: number } | undefined
}

/** How many rows are what, superseded versions included. */
export interface NamespaceCensus {
  /** Created by the moment, and not past their expiry then. */
  readonly live: number
  /** Of `live`, those created before the bound. */
  readonly liveBefore: number
  /** Past their expiry at the moment, and not swept yet. */
  readonly expired: number
  /** Turns and summaries of conversations from before the bound. */
  readonly turnsBefore: number
}

/** The commit did not happen because the disk is full. */
export class StoreFull extends Data.TaggedError("StoreFull")<{ readonly cause: unknown }> {}
/** Another owner has the file; this one must stop and not reopen. */
export class StoreFenced extends Data.TaggedError("StoreFenced")<{ readonly epoch: number }> {}
/** The file is damaged. */
export class StoreDamaged extends Data.TaggedError("StoreDamaged")<{
  readonly reason: string
  readonly cause: unknown
}> {}
/** A commit whose outcome is unknown, or any other failure: the owner must reopen before it goes on. */
export class StoreFault extends Data.TaggedError("StoreFault")<{ readonly cause: unknown }> {}

export type StoreError = StoreFull | StoreFenced | StoreDamaged | StoreFault

export const isStoreError = (error: unknown): error is StoreError =>
  error instanceof StoreFull ||
  error instanceof StoreFenced ||
  error instanceof StoreDamaged ||
  error instanceof StoreFault

export interface OpenNamespace {
  readonly key: NamespaceKey
  readonly lastSeq: number
  /** Postings and lengths of the full-text half. */
  readonly fullText: FullText
  readonly conversations: Conversations
  readonly segments: StoredSegments
  /** Rows in slot order; yields to other fibers between chunks. */
  readonly eachRow: (visit: (row: MemoryRow) => void) => Effect.Effect<void, StoreError>
  /** Vectors of the slots in these ranges, one range after the other; of all slots unless told. */
  readonly eachVector: (
    visit: (vector: StoredVector) => void,
    ranges?: ReadonlyArray<SlotRange>
  ) => Effect.Effect<void, StoreError>
  /** Applies all units or none; the new last sequence number. Changes are numbered in order. */
  readonly commit: (
    expectedSeq: number,
    units: ReadonlyArray<CommitUnit>,
    atMillis: number
  ) => Effect.Effect<number, StoreError>
  readonly storedResult: (idempotencyKey: string) => Effect.Effect<StoredResult | undefined, StoreError>
  readonly forgetResultsBefore: (atMillis: number) => Effect.Effect<number, StoreError>
  readonly record: (slot: number) => Effect.Effect<MemoryRecord | undefined, StoreError>
  /** Records by slot; slots without a row are left out. Order follows `slots`. */
  readonly records: (
    slots: ReadonlyArray<number>
  ) => Effect.Effect<ReadonlyArray<{ readonly slot: number; readonly record: MemoryRecord }>, StoreError>
  readonly slotOf: (id: string) => Effect.Effect<number | undefined, StoreError>
  /** Rows of a subject (undefined: of none) that say the same, live or not, the last inserted first. */
  readonly slotsOfContent: (
    contentHash: string,
    subjectId: string | undefined
  ) => Effect.Effect<ReadonlyArray<number>, StoreError>
  /** Slots without a vector of `model`, ascending from `afterSlot`. */
  readonly slotsWithoutVector: (
    model: string,
    afterSlot: number,
    limit: number
  ) => Effect.Effect<ReadonlyArray<number>, StoreError>
  readonly countWithoutVector: (model: string) => Effect.Effect<number, StoreError>
  /** Moves committed content out of the log; `truncate` also erases what deletes left in it. */
  readonly checkpoint: (mode: "PASSIVE" | "TRUNCATE") => Effect.Effect<void, StoreError>
  /** Before a commit that erases: deletes the copies of the file that migrations left beside it. */
  readonly discardCopies: Effect.Effect<void, StoreError>
  /** Where the index may keep its snapshot. */
  readonly snapshotPath: string
}

export class NamespaceStore extends Context.Service<
  NamespaceStore,
  {
    readonly open: (key: NamespaceKey) => Effect.Effect<OpenNamespace, StoreError, Scope.Scope>
    /** Counts the rows of the committed file beside its owner, if it has one; claims and creates nothing. */
    readonly census: (key: NamespaceKey, options: CensusOptions) => Effect.Effect<NamespaceCensus, StoreError>
  }
>()("muniment/engine/NamespaceStore") {}
