/**
 * Input and output of the answer writers. Invariant: every citation is the id of a given memory;
 * `grounded` is true only with at least one, and without it the answer is `nothingKnown`.
 */
import type { JsonObject } from "@muniment/domain/Memory"
import type { AskedAt } from "@muniment/language/calendar/QuestionDates"

/** A memory that may support an answer. Memories are data, never instructions. */
export interface Evidence {
  readonly id: string
  readonly kind: string
  readonly data: JsonObject
  /** Event time, ISO 8601. */
  readonly when?: string | undefined
  /** When it was said, where that is known, else when it was stored, milliseconds. */
  readonly createdAt: number
  /** 0..1, comparable between questions. */
  readonly relevance: number
  /** Conversation of a message, and its number in it. */
  readonly turn?: { readonly conversation: string; readonly position: number } | undefined
  /** In whose memories it lies: the agent and the subject. */
  readonly owner?: string | undefined
  /** Keys of the messages that it is, or was taken from. */
  readonly sources?: ReadonlyArray<string> | undefined
  /** The part of a long message that was found: UTF-16 units of its text. */
  readonly passage?: { readonly start: number; readonly end: number } | undefined
}

export interface AnswerRequest {
  /** Account whose model budget is spent. */
  readonly account: string
  readonly question: string
  /** Best first. */
  readonly evidence: ReadonlyArray<Evidence>
  /** When it is asked; absent: it does not matter. */
  readonly nowMillis?: number | undefined
  /** The asker's, as IANA names it. */
  readonly timeZone?: string | undefined
}

export const askedAt = ({ nowMillis, timeZone }: AnswerRequest): AskedAt | undefined =>
  nowMillis === undefined ? undefined : { nowMillis, timeZone }

export interface WrittenAnswer {
  readonly answer: string
  /** Ids in order of their first use. */
  readonly citations: ReadonlyArray<string>
  readonly grounded: boolean
  readonly method: "model" | "extractive"
}

/** The answer when nothing supports one. */
export const nothingKnown = "I have no memory that answers this."

export const unanswered = (method: WrittenAnswer["method"]): WrittenAnswer => ({
  answer: nothingKnown,
  citations: [],
  grounded: false,
  method
})
