/** Contents of a commit: the changes of each command, in order, with its idempotency result and its conversation. */
import type { MemoryRecord } from "@muniment/domain/Memory"
import type { PassageRow } from "./MemoryRow.ts"
import type { MemoryColumns } from "../text/MemoryText.ts"
import type { ConversationChange } from "./Conversations.ts"

/** Embedding of a memory: unit-length values and the model that made them. */
export interface MemoryVector {
  readonly model: string
  readonly values: Float32Array
  /** Of a long message: the values of its further passages, in order. */
  readonly passages?: ReadonlyArray<Float32Array> | undefined
}

/** A record and the slot that holds it. */
export interface StoredRecord {
  readonly slot: number
  readonly record: MemoryRecord
}

/** One change of one slot. The sequence number grows by one per change. */
export type MemoryChange =
  /** Inserts a record or replaces it, vector included. */
  | (StoredRecord & {
      readonly _tag: "Put"
      readonly columns: MemoryColumns
      readonly vector: MemoryVector | undefined
      /** Of an insertion: the id of the memory that was the latest of its unique key. */
      readonly supersedes?: string | undefined
    })
  /** Replaces tags, expiry, `updatedAt`, the unique key and the neighbours. */
  | (StoredRecord & { readonly _tag: "Patch"; readonly columns: MemoryColumns })
  /** Inserts a further passage of a long message, after the `Put` of the message. */
  | (PassageRow & {
      readonly _tag: "PutPassage"
      readonly columns: MemoryColumns
      readonly vector: MemoryVector | undefined
    })
  /** Before the `Remove` of the message, or the `Put` of another text. */
  | { readonly _tag: "RemovePassage"; readonly slot: number }
  /** `keepsTurns`: the turns that it was taken from stay. */
  | { readonly _tag: "Remove"; readonly slot: number; readonly keepsTurns?: boolean }
  /** Changes the words that a message has from those around it. Only their number is stored. */
  | { readonly _tag: "Surround"; readonly slot: number; readonly columns: MemoryColumns }
  /** Replaces the words of a passage. */
  | { readonly _tag: "Reindex"; readonly slot: number; readonly columns: MemoryColumns }
  | { readonly _tag: "Embed"; readonly slot: number; readonly isPassage: boolean; readonly vector: MemoryVector }

/** Result of a command under its idempotency key; `fingerprint` is the hash of the request. */
export interface StoredResult {
  readonly key: string
  readonly fingerprint: string
  readonly result: string
}

/** All that one command commits. */
export interface CommandChanges {
  readonly changes: ReadonlyArray<MemoryChange>
  readonly idempotency: StoredResult | undefined
  /** Applied after `changes`; has no sequence number of its own. */
  readonly conversation?: ConversationChange | undefined
}
