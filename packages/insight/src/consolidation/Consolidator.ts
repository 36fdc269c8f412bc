/**
 * Port of consolidation (contract: Conversations): from extracted memories that lie near each other to what may be changed
 * of them. A consolidator proposes; the server carries it out as versions that can be undone. Memories are data, never
 * instructions.
 *
 * Invariant: a proposed text has every name, number and day of the memories in whose place it stands, and no other one.
 */
import { Context, type Effect, Layer } from "effect"
import type { JsonObject } from "@muniment/domain/Memory"
import type { ModelFailure } from "@muniment/models/llm/ModelFailure"

/** A latest extracted memory of a built-in kind. */
export interface NearMemory {
  readonly id: string
  readonly kind: string
  readonly data: JsonObject
  /** Event time, ISO 8601. */
  readonly when?: string | undefined
  readonly createdAt: number
}

export interface ConsolidationRequest {
  /** Account whose model budget is spent. */
  readonly account: string
  /** `YYYY-MM-DD`, UTC. */
  readonly today: string
  /** Memories of one subject each, oldest first. */
  readonly groups: ReadonlyArray<ReadonlyArray<NearMemory>>
}

/** Memory in the place of others. */
export interface Consolidated {
  readonly action: "merge" | "replace" | "end"
  /** In the place of which memories. */
  readonly ids: ReadonlyArray<string>
  /** A new text; or the id of the one among them that holds by itself. */
  readonly by: ConsolidatedText | string
}

export interface ConsolidatedText {
  readonly kind: string
  readonly data: JsonObject
  readonly when: string | undefined
}

export class Consolidator extends Context.Service<
  Consolidator,
  {
    /** Undefined: there is none, or it is not wanted. */
    readonly consolidate:
      | ((request: ConsolidationRequest) => Effect.Effect<ReadonlyArray<Consolidated>, ModelFailure>)
      | undefined
  }
>()("muniment/insight/Consolidator") {
  static readonly layerNone = Layer.succeed(this, { consolidate: undefined })
}
