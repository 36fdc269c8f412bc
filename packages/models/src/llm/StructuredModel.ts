/**
 * Port of the configured language model: a prompt and a JSON Schema in, a value that matches out. What
 * stands behind it retries, repairs once, keeps to its budget and gives up in time; a caller sees a
 * value or one failure, never half an answer.
 */
import { Context, Data, type Effect, type Schema } from "effect"

export interface StructuredRequest<A> {
  /** Whose budget it spends. */
  readonly account: string
  readonly purpose: "extraction" | "answer"
  /** Instructions: ours, never with text of users in it. */
  readonly system: string
  /** Data, fenced by its author. */
  readonly prompt: string
  /** What the answer must match; its JSON Schema travels with the request. */
  readonly schema: Schema.Codec<A, unknown>
  /** Name of the answer on the wire: letters, digits, `_`. */
  readonly schemaName: string
  readonly outputTokensMax: number
}

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
  | "budget_exhausted"

/** The model gave no usable answer. `message` is for callers: no keys, no prompt, no memory content. */
export class ModelFailure extends Data.TaggedError("ModelFailure")<{
  readonly reason: ModelFailureReason
  readonly message: string
  readonly retryAfterSeconds?: number | undefined
}> {}

export class StructuredModel extends Context.Service<
  StructuredModel,
  {
    /** Name of the model as configured. */
    readonly name: string
    readonly generate: <A>(request: StructuredRequest<A>) => Effect.Effect<A, ModelFailure>
  }
>()("muniment/models/StructuredModel") {}
