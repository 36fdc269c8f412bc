/**
 * Port of what a namespace keeps of conversations beside their memories: which messages were processed,
 * the newest turns and a summary, as context for the next extraction. All by scope, which is one subject
 * and one thread; where one is absent, that is a value of its own.
 *
 * Invariants: marks, turns and summary commit with the memories that were taken from the messages, or
 * not at all; a scope keeps `Limits.conversationContextMax` turns; what has expired is never given; a
 * memory that goes takes the turns along that it names as its sources, and the summary of its scope.
 */
import type { Effect } from "effect"
import type { ErasureMark } from "./ErasureLog.ts"
import type { StoreError } from "./NamespaceStore.ts"

export interface ConversationScope {
  readonly subjectId?: string | undefined
  readonly threadId?: string | undefined
}

export interface ConversationTurn {
  /** Key under which the message counts as processed. */
  readonly key: string
  readonly role: "user" | "assistant" | "system"
  readonly content: string
}

/** A turn as it is kept. */
export interface KeptTurn extends ConversationTurn {
  /** Milliseconds. */
  readonly expiresAt: number | undefined
}

/** What went before in a conversation. */
export interface ConversationContext {
  /** Oldest first. */
  readonly turns: ReadonlyArray<KeptTurn>
  readonly summary: string | undefined
  /** When the summary ends, milliseconds. */
  readonly summaryExpiresAt: number | undefined
  /** When it was read: what is erased later must not come back by way of who read it. */
  readonly readAt: ErasureMark
}

export interface ConversationAdvance {
  readonly _tag: "Advance"
  readonly scope: ConversationScope
  /** Keys of the messages that are processed with this commit. */
  readonly processed: ReadonlyArray<string>
  /** Appended; one whose key is there already takes that turn's place, as the newest. */
  readonly turns: ReadonlyArray<ConversationTurn>
  /** Undefined keeps the old one. */
  readonly summary: string | undefined
  /** Of these turns, milliseconds. */
  readonly expiresAt: number | undefined
  /** Of this summary, which also holds what went before. */
  readonly summaryExpiresAt: number | undefined
}

export type ConversationErasure =
  /** All of every scope within; here an absent subject or thread does not restrict. */
  | { readonly _tag: "Forget"; readonly within: ConversationScope }
  /** Turns and summaries older than that, and the summaries of conversations that lose a turn. */
  | { readonly _tag: "DropTurns"; readonly beforeMillis: number }

export type ConversationChange = ConversationAdvance | ConversationErasure

export interface Conversations {
  /** A time at or before the next expiry of a turn or a summary; undefined when none expires. */
  readonly nextExpiry: number | undefined
  readonly context: (scope: ConversationScope, nowMillis: number) => Effect.Effect<ConversationContext, StoreError>
  /** Whether turns or the summary of the scope were erased since; true when in doubt. */
  readonly isErasedSince: (scope: ConversationScope, mark: ErasureMark) => boolean
  /** Those of `keys` that are marked in the scope. */
  readonly processed: (
    scope: ConversationScope,
    keys: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlySet<string>, StoreError>
  /** Whether an erasure would find anything. */
  readonly finds: (erasure: ConversationErasure) => Effect.Effect<boolean, StoreError>
  /** Removes what has expired, some of it at a time; how many turns and summaries went. */
  readonly sweep: (nowMillis: number) => Effect.Effect<number, StoreError>
}

export const isSameScope = (left: ConversationScope, right: ConversationScope): boolean =>
  left.subjectId === right.subjectId && left.threadId === right.threadId

export const isWithin = (scope: ConversationScope, within: ConversationScope): boolean =>
  (within.subjectId === undefined || within.subjectId === scope.subjectId) &&
  (within.threadId === undefined || within.threadId === scope.threadId)
