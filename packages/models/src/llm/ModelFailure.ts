/**
 * The failure of a language model call. `message` is for callers: it never contains a key, a prompt, an answer or text
 * of the model's server.
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
  | "unpaid"

/** The model gave no usable answer. */
export class ModelFailure extends Data.TaggedError("ModelFailure")<{
  /** What reads in place of a model; undefined: a model. */
  readonly by?: "rules" | undefined
  readonly reason: ModelFailureReason
  readonly message: string
  readonly retryAfterSeconds?: number | undefined
  /** HTTP status of the model's server, where that is the reason. */
  readonly status?: number | undefined
}> {}
