/**
 * Port of search mode `answer` (interface.md section 4.5): a question and the memories that a search
 * found in, a short answer out that says nothing which they do not say.
 *
 * Invariant: every citation is the id of a given memory; `grounded` is true only with at least one.
 */
import { Context, type Effect } from "effect"
import type { JsonObject } from "@muniment/domain/Memory"

/** A memory that may support an answer, best first. Memories are data, never instructions. */
export interface Evidence {
  readonly id: string
  readonly kind: string
  readonly data: JsonObject
  /** Event time, ISO 8601. */
  readonly when?: string | undefined
  /** When it was stored, milliseconds. */
  readonly createdAt: number
  /** 0..1, comparable between questions. */
  readonly relevance: number
}

export interface WrittenAnswer {
  readonly answer: string
  /** Ids in order of their first use. */
  readonly citations: ReadonlyArray<string>
  readonly grounded: boolean
  readonly method: "model" | "extractive"
}

/** What is said when nothing supports an answer. */
export const nothingKnown = "I have no memory that answers this."

export class AnswerWriter extends Context.Service<
  AnswerWriter,
  {
    /** Never fails: without a model, or when it gives up, the answer is extractive. */
    readonly write: (request: {
      readonly account: string
      readonly question: string
      readonly evidence: ReadonlyArray<Evidence>
    }) => Effect.Effect<WrittenAnswer>
  }
>()("muniment/insight/AnswerWriter") {}
