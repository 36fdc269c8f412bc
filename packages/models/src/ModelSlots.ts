/**
 * State of each model that was requested: loading, ready, or failed until a time. Pure bookkeeping; the clock is an
 * argument.
 *
 * Invariant: the loss of the embedding thread takes effect here before any request fails, so a model is never
 * reported as ready after its thread was lost.
 */
import type { Deferred } from "effect"
import { EmbeddingUnavailable } from "./EmbeddingUnavailable.ts"
import type { ModelId, ModelSpec } from "./ModelCatalog.ts"

export type Slot =
  | { readonly state: "loading"; readonly settled: Deferred.Deferred<ModelSpec, EmbeddingUnavailable> }
  | { readonly state: "ready"; readonly spec: ModelSpec }
  | { readonly state: "failed"; readonly error: EmbeddingUnavailable; readonly retryAtMillis: number }

/** Between two searches for files that were missing or wrong. */
const findRetryMillis = 5_000
const restartMillisMin = 250
const restartMillisMax = 30_000

export class ModelSlots {
  crashCount = 0
  #crashesInRow = 0
  readonly #slots = new Map<ModelId, Slot>()
  readonly #lastReasons = new Map<ModelId, string>()
  readonly #nowMillis: () => number

  constructor(nowMillis: () => number) {
    this.#nowMillis = nowMillis
  }

  get loadedIds(): ReadonlyArray<ModelId> {
    return [...this.#slots].flatMap(([modelId, slot]) => (slot.state === "ready" ? [modelId] : []))
  }

  /** The current slot; undefined when a load should begin. */
  current(modelId: ModelId): Slot | undefined {
    const slot = this.#slots.get(modelId)
    return slot?.state === "failed" && this.#nowMillis() >= slot.retryAtMillis ? undefined : slot
  }

  loaded(modelId: ModelId): ModelSpec | undefined {
    const slot = this.#slots.get(modelId)
    return slot?.state === "ready" ? slot.spec : undefined
  }

  stateOf(modelId: ModelId): "ready" | "loading" | { readonly reason: string } {
    const slot = this.#slots.get(modelId)
    return slot?.state === "failed" ? { reason: slot.error.reason } : (slot?.state ?? "loading")
  }

  begin(modelId: ModelId, settled: Deferred.Deferred<ModelSpec, EmbeddingUnavailable>): void {
    this.#slots.set(modelId, { state: "loading", settled })
  }

  /** False when the thread was lost since the load began (`crashCount` was `crashesBefore`): nothing is loaded then. */
  succeed(spec: ModelSpec, crashesBefore: number): boolean {
    if (this.crashCount !== crashesBefore) return false
    this.#lastReasons.delete(spec.id)
    this.#slots.set(spec.id, { state: "ready", spec })
    return true
  }

  /** True when the reason is new: every retry gives the same one again. */
  fail(error: EmbeddingUnavailable): boolean {
    const { modelId, reason } = error
    const isNews = this.#lastReasons.get(modelId) !== reason
    this.#lastReasons.set(modelId, reason)
    this.#slots.set(modelId, { state: "failed", error, retryAtMillis: this.#nowMillis() + findRetryMillis })
    return isNews
  }

  /** Loaded models are lost with their thread, and are loaded again after a pause that doubles. */
  onThreadLost(cause: string): void {
    this.crashCount++
    const pauseMillis = Math.min(restartMillisMin * 2 ** this.#crashesInRow++, restartMillisMax)
    const retryAtMillis = this.#nowMillis() + pauseMillis
    const reason = `the embedding thread is restarting: ${cause}`
    for (const modelId of this.loadedIds) {
      const error = new EmbeddingUnavailable({ modelId, reason })
      this.#slots.set(modelId, { state: "failed", error, retryAtMillis })
    }
  }

  /** A batch succeeded: the next crash starts again with the shortest pause. */
  markHealthy(): void {
    this.#crashesInRow = 0
  }
}
