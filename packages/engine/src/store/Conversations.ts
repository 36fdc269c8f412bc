/**
 * Port of the conversation state of a namespace: two marks for each message (read by an extraction; stored as a
 * memory), and the newest turns and a summary as context of the next extraction.
 *
 * Invariants: a message is marked as stored in the commit that stores its memory; the mark outlives the memory, until
 * the conversation is forgotten; positions in a conversation ascend and are not used twice; marks of read messages,
 * turns and summary commit together with the memories taken from the messages; an extraction that is to follow is kept
 * until the commit that carries it out; a conversation keeps `Limits.conversationContextMax` turns; reads never return
 * expired data; removing a memory also erases the turns that it names as sources, and the summary of its conversation.
 */
import type { Effect } from "effect"
import { randomBytes } from "node:crypto"
import type { StoreError } from "./StoreError.ts"

/** Which conversation: one subject and one thread, where absent is a value of its own. Not the scope of a grant. */
export interface ConversationScope {
  readonly subjectId?: string | undefined
  readonly threadId?: string | undefined
}

export interface ConversationTurn {
  /** Key under which the message counts as processed. */
  readonly key: string
  readonly role: "user" | "assistant" | "system"
  /** Who said it, if the request names them. */
  readonly name?: string | undefined
  readonly content: string
  /** ISO 8601, if the request tells it. */
  readonly sentAt?: string | undefined
}

export interface PendingMessage {
  readonly key: string
  readonly readKey: string
}

/** An extraction that is to follow a commit of messages: what it needs beside the messages. */
export interface PendingReading {
  readonly id: string
  /** Oldest first: `key` marks the message as stored, `readKey` as read. */
  readonly messages: ReadonlyArray<PendingMessage>
  /** Kinds to look for; undefined: all. */
  readonly kinds: ReadonlyArray<string> | undefined
  /** What the request wants remembered and left out. */
  readonly instructions?: string | undefined
  /** `YYYY-MM-DD`. */
  readonly conversationDate: string
  /** Expiry of what is extracted, milliseconds. */
  readonly expiresAt: number | undefined
}

/** Begin of the ids of extractions of messages that were read before. They come after those that nobody has read. */
export const againPrefix = "again "

export const isReadAgain = ({ id }: Pick<PendingReading, "id">): boolean => id.startsWith(againPrefix)

/** A pending extraction and its conversation. */
export interface ScopedReading extends PendingReading {
  readonly scope: ConversationScope
  /** Place among those of the namespace; ascends. */
  readonly place: number
}

/** How many extractions are to follow. */
export interface PendingCount {
  readonly count: number
  /** When the first message of one of them was stored, the earliest that nobody has read; undefined: none is there. */
  readonly sinceMillis: number | undefined
}

export interface KeptTurn extends ConversationTurn {
  /** Milliseconds. */
  readonly expiresAt: number | undefined
}

/** Context of the next extraction. */
export interface ConversationContext {
  /** Oldest first. */
  readonly turns: ReadonlyArray<KeptTurn>
  readonly summary: string | undefined
  /** Milliseconds. */
  readonly summaryExpiresAt: number | undefined
  /** Taken at the read: a later commit is refused if part of the context was erased after this mark. */
  readonly readAt: ErasureMark
}

export interface ConversationAdvance {
  readonly _tag: "Advance"
  readonly scope: ConversationScope
  /** Keys of the messages that this commit marks as processed. */
  readonly processed: ReadonlyArray<string>
  /** Appended; a turn with the key of a kept turn replaces it, and becomes the newest. */
  readonly turns: ReadonlyArray<ConversationTurn>
  /** Undefined keeps the old summary. */
  readonly summary: string | undefined
  /** Expiry of these turns, milliseconds. */
  readonly expiresAt: number | undefined
  /** Expiry of the summary, milliseconds: it also contains earlier turns. */
  readonly summaryExpiresAt: number | undefined
  readonly awaits?: PendingReading | undefined
  /** Keys of messages whose turns are erased, with the summary that was there before. */
  readonly withheld?: ReadonlyArray<string> | undefined
  /** Id of the pending extraction that this commit ends. */
  readonly reads?: string | undefined
}

export type ConversationErasure =
  /** Everything of all conversations within; here an absent subject or thread does not restrict. */
  | { readonly _tag: "Forget"; readonly within: ConversationScope }
  /** Older turns and summaries, and the summaries of conversations that lose a turn. */
  | { readonly _tag: "DropTurns"; readonly beforeMillis: number }

export type ConversationChange = ConversationAdvance | ConversationErasure

/** By key of the message: the id of its memory, undefined if that is gone. */
export type StoredMessages = ReadonlyMap<string, string | undefined>

export interface MessagePlace {
  readonly scope: ConversationScope
  readonly key: string
}

export interface Conversations {
  /** Lower bound of the next expiry of a turn or a summary; undefined when none expires. */
  readonly nextExpiry: number | undefined
  readonly context: (scope: ConversationScope, nowMillis: number) => Effect.Effect<ConversationContext, StoreError>
  /** Whether turns or the summary of the conversation were erased after the mark; true when in doubt. */
  readonly isErasedSince: (scope: ConversationScope, mark: ErasureMark) => boolean
  /** The keys among `keys` whose messages are marked as read in the conversation. */
  readonly processed: (
    scope: ConversationScope,
    keys: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlySet<string>, StoreError>
  /** The messages among `keys` that were stored as memories: their memory's id, undefined if it is gone. */
  readonly stored: (scope: ConversationScope, keys: ReadonlyArray<string>) => Effect.Effect<StoredMessages, StoreError>
  /** Slots of the memories that these messages were stored as, in their order. */
  readonly slots: (
    messages: ReadonlyArray<MessagePlace>
  ) => Effect.Effect<ReadonlyArray<number | undefined>, StoreError>
  readonly nextPosition: (scope: ConversationScope) => Effect.Effect<number, StoreError>
  /** Extractions that are to follow, oldest first and then those that read again, beginning behind a place. */
  readonly pendingReadings: (limit: number, after?: number) => Effect.Effect<ReadonlyArray<ScopedReading>, StoreError>
  readonly pendingCount: Effect.Effect<PendingCount, StoreError>
  /** Whether an erasure would change anything. */
  readonly finds: (erasure: ConversationErasure) => Effect.Effect<boolean, StoreError>
}

export const isSameScope = (left: ConversationScope, right: ConversationScope): boolean =>
  left.subjectId === right.subjectId && left.threadId === right.threadId

export const isWithin = (scope: ConversationScope, within: ConversationScope): boolean =>
  (within.subjectId === undefined || within.subjectId === scope.subjectId) &&
  (within.threadId === undefined || within.threadId === scope.threadId)

/** One text for the pair of subject and thread. */
export const scopeText = ({ subjectId, threadId }: ConversationScope): string =>
  JSON.stringify([subjectId ?? null, threadId ?? null])

/**
 * Recent erasures in one open namespace, by conversation. A reader takes a mark, works for seconds (a language
 * model), then asks whether its conversation was erased since.
 *
 * Invariant: no false negatives. A mark that is too old, or older than the last open, is answered "erased".
 */

/** Erasures kept with their conversation. */
export const erasuresKept = 256

/** Plain data: it may come back from another process. */
export interface ErasureMark {
  /** `ErasureLog.owner` of the log that it is of. */
  readonly owner: string
  /** Number of erasures before the mark. */
  readonly count: number
}

export class ErasureLog {
  /** Differs with each open. */
  readonly owner = randomBytes(8).toString("hex")
  /** The newest last; undefined: any conversation. */
  readonly #scopes: Array<string | undefined> = []
  #count = 0

  add(scope: string | undefined): void {
    this.#count++
    this.#scopes.push(scope)
    if (this.#scopes.length > erasuresKept) this.#scopes.shift()
  }

  mark(): ErasureMark {
    return { owner: this.owner, count: this.#count }
  }

  /** Conversations of the erasures after a mark of this log; more than are kept count as one erasure of any conversation. */
  since({ count }: ErasureMark): ReadonlyArray<string | undefined> {
    const later = this.#count - count
    if (later > this.#scopes.length) return [undefined]
    return later === 0 ? [] : this.#scopes.slice(-later)
  }

  hasSince({ count, owner }: ErasureMark, scope: string): boolean {
    const later = this.#count - count
    if (owner !== this.owner || later > this.#scopes.length) return true
    return later > 0 && this.#scopes.slice(-later).some((erased) => erased === undefined || erased === scope)
  }
}
