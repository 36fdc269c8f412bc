/**
 * What is known of each model that was asked for: loading, ready, or failed until a time. Pure
 * bookkeeping on a clock that is handed in, changed only between two awaits of `ModelLoader`, so a
 * reader never sees a model as ready whose thread is known to be dead.
 */
import type * as Deferred from "effect/Deferred"
import type { EmbeddingThread } from "./EmbeddingThread.ts"
import { EmbeddingUnavailable } from "./EmbeddingUnavailable.ts"
import type { ModelId, ModelSpec } from "./ModelCatalog.ts"

export interface LoadedModel {
  readonly spec: ModelSpec
  readonly thread: EmbeddingThread
}

export type Slot =
  | { readonly state: "loading"; readonly settled: Deferred.Deferred<LoadedModel, EmbeddingUnavailable> }
  | { readonly state: "ready"; readonly model: LoadedModel }
  | { readonly state: "failed"; readonly error: EmbeddingUnavailable; readonly retryAtMillis: number }

/** Between two looks for files that were missing or wrong. */
const findRetryMillis = 5_000
const restartMillisMin = 250
const restartMillisMax = 30_000

export class ModelSlots {
  thread: EmbeddingThread | undefined
  crashCount = 0
  private crashesInRow = 0
  private readonly slots = new Map<ModelId, Slot>()
  private readonly lastReasons = new Map<ModelId, string>()
  private readonly nowMillis: () => number

  constructor(nowMillis: () => number) {
    this.nowMillis = nowMillis
  }

  get loadedIds(): ReadonlyArray<ModelId> {
    return [...this.slots].flatMap(([modelId, slot]) => (slot.state === "ready" ? [modelId] : []))
  }

  /** The slot to go by; undefined when a load should be begun, now or again. */
  current(modelId: ModelId): Slot | undefined {
    const slot = this.slots.get(modelId)
    return slot?.state === "failed" && this.nowMillis() >= slot.retryAtMillis ? undefined : slot
  }

  loaded(modelId: ModelId): LoadedModel | undefined {
    const slot = this.slots.get(modelId)
    return slot?.state === "ready" ? slot.model : undefined
  }

  stateOf(modelId: ModelId): "ready" | "loading" | { readonly reason: string } {
    const slot = this.slots.get(modelId)
    return slot?.state === "failed" ? { reason: slot.error.reason } : (slot?.state ?? "loading")
  }

  begin(modelId: ModelId, settled: Deferred.Deferred<LoadedModel, EmbeddingUnavailable>): void {
    this.slots.set(modelId, { state: "loading", settled })
  }

  /** False when the thread died between the load's last reply and this call: nothing is loaded then. */
  succeed(model: LoadedModel): boolean {
    if (model.thread !== this.thread) return false
    this.lastReasons.delete(model.spec.id)
    this.slots.set(model.spec.id, { state: "ready", model })
    return true
  }

  /** True when the reason is news: the same one comes back at every retry. */
  fail(error: EmbeddingUnavailable): boolean {
    const { modelId, reason } = error
    const isNews = this.lastReasons.get(modelId) !== reason
    this.lastReasons.set(modelId, reason)
    this.slots.set(modelId, { state: "failed", error, retryAtMillis: this.nowMillis() + findRetryMillis })
    return isNews
  }

  /** The models of a dead thread are lost with it, and back after a pause that doubles. */
  onDeath(cause: string): void {
    this.thread = undefined
    this.crashCount++
    const pauseMillis = Math.min(restartMillisMin * 2 ** this.crashesInRow++, restartMillisMax)
    const retryAtMillis = this.nowMillis() + pauseMillis
    const reason = `the embedding thread is restarting: ${cause}`
    for (const modelId of this.loadedIds) {
      const error = new EmbeddingUnavailable({ modelId, reason })
      this.slots.set(modelId, { state: "failed", error, retryAtMillis })
    }
  }

  /** A batch came back: the next crash starts again with the shortest pause. */
  markHealthy(): void {
    this.crashesInRow = 0
  }
}
