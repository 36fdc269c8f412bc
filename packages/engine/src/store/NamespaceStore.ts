/**
 * Port of the durable half of a namespace: the memories of one (account, agent) in one file, with full-text
 * entries, vectors, conversations and idempotency keys. No SQL above this port.
 *
 * Invariants: a commit is all or nothing, and durable before it returns; it is refused when another owner has
 * claimed a later epoch; the sequence number grows by one per change, never repeats, and orders versions; an
 * idempotency key is stored in the commit whose result it names.
 */
import { Context, type Effect, type Scope } from "effect"
import { hash } from "node:crypto"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { MemoryRecord } from "@muniment/domain/Memory"
import type { Condition } from "@muniment/domain/Where"
import type { LogStatus } from "../log/CommitLog.ts"
import type { LogPart } from "../log/LogArchive.ts"
import type { CommandChanges, MemoryChange, StoredRecord, StoredResult } from "./Commit.ts"
import type { Conversations, ConversationScope } from "./Conversations.ts"
import type { MemoryRow, PassageRow } from "./MemoryRow.ts"
import type { StoreError } from "./StoreError.ts"
import { segmentShift } from "../bitmap/Bitmap.ts"

export interface NamespaceKey {
  readonly tag: NamespaceTag
  readonly account: string
  readonly agentId: string
}

export class NamespaceStore extends Context.Service<
  NamespaceStore,
  {
    /** Opens the file, and creates it if it is missing. It closes with the scope. */
    readonly open: (key: NamespaceKey) => Effect.Effect<OpenNamespace, StoreError, Scope.Scope>
    /** Counts the rows of the committed file, open or not. Claims and creates nothing. */
    readonly census: (key: NamespaceKey, options: CensusOptions) => Effect.Effect<NamespaceCensus, StoreError>
    /** What the memories of the committed file take (contract: Quotas), open or not. Claims and creates nothing. */
    readonly storedBytes: (key: NamespaceKey) => Effect.Effect<number, StoreError>
    /** Events of the committed file behind a number, in order, open or not. Claims and creates nothing. */
    readonly events: (key: NamespaceKey, after: number, limit: number) => Effect.Effect<EventPage, StoreError>
    /**
     * Reads the whole committed file anew, open or not, on a thread of its own: b-trees, and every memory with its
     * content hash. Claims and changes nothing. Fails if the file cannot be read now.
     */
    readonly check: (key: NamespaceKey, pace: Pace) => Effect.Effect<FileVerdict, StoreError>
    /** The b-trees of another SQLite file of the data directory. */
    readonly checkFile: (filename: string, pace: Pace) => Effect.Effect<FileVerdict, StoreError>
    /**
     * Makes the damaged file of a closed namespace again, if the commit log has all of its commits; false: it lacks some.
     */
    readonly remake: (key: NamespaceKey) => Effect.Effect<boolean, StoreError>
    /**
     * Until the files have everything that was committed before: whoever copies them needs it. Returns the namespaces
     * whose files cannot follow the commit log.
     */
    readonly settleAll: Effect.Effect<ReadonlyArray<NamespaceTag>, StoreError>
    /** On a full disk: frees room for a removal, or for reading; false: there is none to free. */
    readonly releaseRoom: Effect.Effect<boolean>
    /**
     * Writes the records of the commit log behind an ordinal into a file, and keeps later ones for the next call for ten
     * minutes; undefined: there are none, or the log is on no single machine.
     */
    readonly archive: (afterOrdinal: number, path: string) => Effect.Effect<LogPart | undefined, StoreError>
    /** State of the commit log; undefined: it is on no single machine. */
    readonly logStatus: Effect.Effect<LogStatus | undefined>
    /** Names of all files of these namespaces, logs, snapshots and copies included. */
    readonly files: (tags: ReadonlyArray<NamespaceTag>) => Effect.Effect<ReadonlyArray<string>, StoreError>
    /** Deletes all files of a namespace that is closed; returns their names. */
    readonly remove: (tag: NamespaceTag) => Effect.Effect<ReadonlyArray<string>, StoreError>
  }
>()("muniment/engine/NamespaceStore") {}

/** Called with the bytes that a check has just read; waits, so that others have the disk meanwhile. */
export type Pace = (bytes: number) => Effect.Effect<void>

/** What a check found: nothing if `faults` is empty. They name tables and slots, never content. */
export interface FileVerdict {
  readonly bytes: number
  readonly faults: ReadonlyArray<string>
}

export interface OpenNamespace {
  readonly key: NamespaceKey
  /** Sequence number of the last change when the file was opened. */
  readonly lastSeq: number
  /** What the memories take (contract: Quotas), as of the last commit. */
  readonly bytes: () => number
  readonly postings: Postings
  readonly conversations: Conversations
  readonly segments: StoredSegments
  /** Uses the file once it has all that was committed: who needs more of it than single rows. */
  readonly whole: <A>(use: (file: WholeFile) => Effect.Effect<A, StoreError>) => Effect.Effect<A, StoreError>
  /** Removes a portion of the expired turns and summaries; returns how many. */
  readonly sweepConversations: (nowMillis: number) => Effect.Effect<number, StoreError>
  /** One transaction for a group of commands; changes are numbered in order. Returns the new last number. */
  readonly commit: (
    expectedSeq: number,
    group: ReadonlyArray<CommandChanges>,
    atMillis: number
  ) => Effect.Effect<number, StoreError>
  /** `sinceMillis`: not one that was stored before. */
  readonly storedResult: (
    idempotencyKey: string,
    sinceMillis?: number
  ) => Effect.Effect<StoredResult | undefined, StoreError>
  readonly record: (slot: number) => Effect.Effect<MemoryRecord | undefined, StoreError>
  /** In the order of `slots`; slots without a row are left out. */
  readonly records: (slots: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<StoredRecord>, StoreError>
  /**
   * Slots of a range whose data may be as the condition says: all that are, and few others. What is left out is compared
   * with no hash.
   */
  readonly slotsOfData: (range: SlotRange, wanted: Condition) => Effect.Effect<ReadonlyArray<number>, StoreError>
  readonly slotOf: (id: string) => Effect.Effect<number | undefined, StoreError>
  /** Slots with this content and subject (undefined: no subject), live or not, the last inserted first. */
  readonly slotsOfContent: (
    contentHash: string,
    subjectId: string | undefined
  ) => Effect.Effect<ReadonlyArray<number>, StoreError>
  /** Slots of extracted memories with any of these sources, live or not; of a conversation, or of all of them. */
  readonly slotsTakenFrom: (
    scope: ConversationScope | undefined,
    keys: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<number>, StoreError>
  /** Copies the log into the file; `TRUNCATE` also erases what deletes left in the log. */
  readonly checkpoint: (mode: "PASSIVE" | "TRUNCATE") => Effect.Effect<void, StoreError>
  /** Deletes the copies that migrations left beside the file. Call it before a commit that erases. */
  readonly discardCopies: Effect.Effect<void, StoreError>
  /** Path prefix for the snapshots of vector indexes. */
  readonly snapshotPath: string
}

/** A file that has all that was committed. */
export interface WholeFile {
  /** Visits the rows in slot order; yields to other fibers between chunks. */
  readonly eachRow: (visit: (row: MemoryRow) => void) => Effect.Effect<void, StoreError>
  /** Visits the stored text of the data of the memories at these slots; yields to other fibers between chunks. */
  readonly eachData: (
    slots: ReadonlyArray<number>,
    visit: (slot: number, data: string) => void
  ) => Effect.Effect<void, StoreError>
  /** Visits the further passages of long messages, in slot order; yields to other fibers between chunks. */
  readonly eachPassage: (visit: (passage: PassageRow) => void) => Effect.Effect<void, StoreError>
  /** Visits the vectors of the slots in `ranges` (default: all), one range after the other. */
  readonly eachVector: (
    visit: (vector: StoredVector) => void,
    ranges?: ReadonlyArray<SlotRange>
  ) => Effect.Effect<void, StoreError>
  /** Vectors of slots, in no order; slots without one are left out. */
  readonly vectors: (slots: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<StoredVector>, StoreError>
  /** Deletes the results stored before `atMillis`; returns how many. */
  readonly forgetResultsBefore: (atMillis: number) => Effect.Effect<number, StoreError>
  /** Events behind a number, in order. */
  readonly events: (after: number, limit: number) => Effect.Effect<EventPage, StoreError>
  /** Deletes the oldest events: those of before `beforeMillis`, and of all but the last `changesKept` changes. */
  readonly forgetEvents: (beforeMillis: number, changesKept: number) => Effect.Effect<void, StoreError>
  /** Memories that lack a vector of `model`, their own or a passage's, expired ones included. */
  readonly countWithoutVector: (model: string) => Effect.Effect<number, StoreError>
}

export interface StoredVector {
  readonly slot: number
  readonly seq: number
  readonly model: string
  readonly values: Float32Array
}

/** Slots `from <= slot < to`. */
export interface SlotRange {
  readonly from: number
  readonly to: number
}

/** Times in milliseconds. */
export interface CensusOptions {
  /** The moment to count for. */
  readonly atMillis: number
  /** Bound of `liveBefore` and `turnsBefore`. */
  readonly createdBefore: number
  /** Leaves out rows that an earlier removal, not carried out in a dry run, would have removed. */
  readonly without?: { readonly createdBefore: number; readonly expiredBy: number } | undefined
  /** Counts memories of these subjects alone. */
  readonly subjects?: ReadonlyArray<string> | undefined
}

/** Counts of rows, superseded versions included. */
export interface NamespaceCensus {
  /** Created by `atMillis` and not expired then. */
  readonly live: number
  /** Of `live`, messages of conversations. */
  readonly liveMessages: number
  /** Of `live`, those created before `createdBefore`. */
  readonly liveBefore: number
  /** Expired at `atMillis`, and not swept yet. */
  readonly expired: number
  /** Not expired at `atMillis`, whenever created. */
  readonly unexpired: number
  /** The first expiry of these; Infinity: none expires. */
  readonly nextExpiry: number
  /** Turns and summaries of conversations from before `createdBefore`. */
  readonly turnsBefore: number
  /**
   * Nothing is kept: no memory, no conversation with its marks, and no result of a command from
   * `Limits.idempotencyRetentionMillis` before `atMillis` on.
   */
  readonly isEmpty: boolean
}

/**
 * Port of the durable half of full-text search: which slots hold a term, and how long each document is.
 * Synchronous, because the lexical index reads a term inside a search; methods throw `StoreError`.
 *
 * The words that a message has from those around it are part of its length and of no posting (`LexicalIndex`).
 *
 * Invariant: only committed documents are visible, unless the caller is inside the committing transaction.
 */

/** Occurrences of one term in one column of one slot. */
export interface TermOccurrences {
  readonly slot: number
  /** Index into `COLUMNS`. */
  readonly column: number
  readonly count: number
}

export interface Postings {
  /** Ascending by slot. */
  readonly occurrences: (term: string) => ReadonlyArray<TermOccurrences>
  /** Whether a document has a token that begins so. */
  readonly hasPrefix: (prefix: string) => boolean
  /** Visits every document with its number of tokens, ascending by slot. */
  readonly forEachLength: (visit: (slot: number, tokens: number) => void) => void
}

/**
 * Port of the encoded vectors that an index saves beside the vectors, in segments of neighbouring slots
 * (`slotsPerSegment`). Disposable: the vectors are the truth.
 *
 * Invariant: a stored segment equals the committed vectors of its slots, wherever the process dies. It is saved only
 * over the state it was encoded from, and every commit that writes or removes a vector deletes the segments of the
 * slots it touches. So nothing is replayed, and no segment holds an erased vector.
 */

/** The one model of all vectors of a namespace. */
export interface SoleModel {
  readonly model: string
  readonly dims: number
}

export interface StoredSegments {
  /** Undefined when there are no vectors, or vectors of several models. */
  readonly soleModel: Effect.Effect<SoleModel | undefined, StoreError>
  /** Numbers of the stored segments, ascending. */
  readonly stored: Effect.Effect<ReadonlyArray<number>, StoreError>
  /** Undefined when it is of another model, or its checksum differs. */
  readonly read: (segment: number, model: string) => Effect.Effect<Uint8Array | undefined, StoreError>
  /** Slots of the segment that have a vector of the model, ascending: what the segment must hold. */
  readonly slots: (segment: number, model: string) => Effect.Effect<ReadonlyArray<number>, StoreError>
  /** One transaction. False, and nothing is saved, unless `seq` is the last change and this owner made it. */
  readonly save: (seq: number, segment: number, model: string, data: Uint8Array) => Effect.Effect<boolean, StoreError>
  /** Deletes segments, each in its own transaction; yields to other fibers between them. */
  readonly discard: (segments: Iterable<number>) => Effect.Effect<void, StoreError>
}

/** Segments of the slots whose vectors a commit writes or removes. */
export const segmentsTouchedBy = (group: ReadonlyArray<CommandChanges>): ReadonlySet<number> =>
  new Set(group.flatMap(({ changes }) => changes.filter(touchesVector).map(({ slot }) => slot >>> segmentShift)))

const touchesVector = ({ _tag }: MemoryChange): boolean => !withoutVector.has(_tag)

const withoutVector: ReadonlySet<MemoryChange["_tag"]> = new Set(["Patch", "Surround", "Reindex"])

/**
 * Changes of an agent's memories as events: which memory, of which kind, and what happened. The commit that makes a
 * change writes its events, so that none is missed and none is invented.
 *
 * Invariants: an event holds no content, and names of subjects and threads only while its memory has them; numbers
 * ascend in the order of the changes, with gaps; a replayed commit gives the same events.
 */
export type MemoryEventType = "created" | "updated" | "superseded" | "deleted"

export interface MemoryEvent {
  /** Twice the number of its change; one more for what the change did to another memory. */
  readonly number: number
  readonly type: MemoryEventType
  /** Of the memory. */
  readonly id: string
  readonly kind: string
  /** `subjectDigest` of its subject; undefined: it has none. */
  readonly subject: number | undefined
  /** Undefined also once the memory is gone. */
  readonly subjectId: string | undefined
  readonly threadId: string | undefined
  /** Of a superseded memory: the id of the newer one. */
  readonly supersededBy: string | undefined
  /** Time of the commit, milliseconds. */
  readonly at: number
}

export interface EventPage {
  readonly events: ReadonlyArray<MemoryEvent>
  /** The number to go on behind: of the last event of a full page, else of all that was committed. */
  readonly through: number
  /** Events up to this number are no longer kept, or were before there were any. */
  readonly floor: number
  /** Time of the first commit of the file, milliseconds: another one counts anew. 0: before there were events. */
  readonly born: number
}

/** The number behind which the events of change `seq` lie, and the last one of them. */
export const eventNumbers = (seq: number) => ({ change: 2 * seq, other: 2 * seq + 1 })

/** The first 48 bits of a hash: tells subjects apart without naming them. */
export const subjectDigest = (subjectId: string): number => hash("sha256", subjectId, "buffer").readUIntBE(0, 6)
