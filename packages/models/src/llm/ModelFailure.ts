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
  /** Reader in place of a model; undefined: a model. */
  readonly by?: "rules" | undefined
  readonly reason: ModelFailureReason
  readonly message: string
  readonly retryAfterSeconds?: number | undefined
  /** HTTP status of the model's server, where that is the reason. */
  readonly status?: number | undefined
}> {}

/** Why the model gave no usable answer when it was asked last, and since when that is so. */
export interface ModelProblem {
  readonly message: string
  /** Advice to an operator. */
  readonly remedy: string
  /** Milliseconds since the epoch. */
  readonly since: number
}

/** Advice to an operator; without an entry: none, or the failure says it. */
export const remedies: { readonly [Reason in ModelFailureReason]?: string } = {
  unreachable: "see whether the server of MUNIMENT_LLM_BASE_URL runs, and what its own log says",
  timeout: "give more time by MUNIMENT_LLM_TIMEOUT_MILLIS, or take a smaller model",
  rejected: "look at MUNIMENT_LLM_MODEL, MUNIMENT_LLM_API_KEY and MUNIMENT_LLM_BASE_URL, which usually ends in /v1",
  rate_limited: "lower MUNIMENT_LLM_CONCURRENCY, or see whether the credit of the key is used up",
  refused: "the provider's filter withholds the reply: take another model or provider if that happens often",
  malformed: 'take a model that follows a form: "npm run muniment -- models try" judges one',
  overloaded: "raise MUNIMENT_LLM_CONCURRENCY to what the server runs at once",
  budget_exhausted: "raise MUNIMENT_LLM_TOKENS_PER_DAY or the other budgets if more may be spent"
}
