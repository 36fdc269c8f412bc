/**
 * The one failure of the language model. `message` is for callers: it never holds a key, a prompt, an
 * answer or a line that the model's server wrote.
 */
import { Data } from "effect"

export type ModelFailureReason =
  | "unreachable"
  | "timeout"
  | "rejected"
  | "rate_limited"
  | "truncated"
  | "refused"
  | "malformed"
  | "circuit_open"
  | "overloaded"
  | "too_long"
  | "budget_exhausted"

/** The model gave no usable answer. */
export class ModelFailure extends Data.TaggedError("ModelFailure")<{
  readonly reason: ModelFailureReason
  readonly message: string
  readonly retryAfterSeconds?: number | undefined
}> {}
