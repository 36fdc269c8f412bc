/** A request to the language model: instructions, data, and the schema that its answer must match. */
import type { Schema } from "effect"

export interface StructuredRequest<A> {
  /** Id of the account whose budget pays. */
  readonly account: string
  readonly purpose: ModelPurpose
  /** Instructions of this service; never contains text of users. */
  readonly system: string
  /** Data, fenced by the caller. */
  readonly prompt: string
  /** Schema of the answer, an object at its root; its JSON Schema travels with the request. */
  readonly schema: Schema.Codec<A, unknown>
  /** Name of the answer on the wire: letters, digits, `_`. */
  readonly schemaName: string
  readonly outputTokensMax: number
}

/** A consolidation waits until nobody else wants the model, and has a budget of its own. */
export type ModelPurpose = "extraction" | "answer" | "ranking" | "consolidation"
