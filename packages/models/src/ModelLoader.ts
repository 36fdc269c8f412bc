/**
 * Loads models into the embedding thread. Before a model is used, its files are verified and it must reproduce its
 * known vector. A failed load is retried after a pause, so a model that is installed later and a thread that crashed
 * come back without a restart of the service; until then callers fail at once.
 */
import { Clock, Deferred, Effect, Semaphore } from "effect"
import { type EmbeddingThread, EmbeddingUnavailable, loadInto, openEmbeddingThread } from "./EmbeddingThread.ts"
import type { ModelId, ModelSpec } from "./ModelCatalog.ts"
import { findModel } from "./ModelFiles.ts"

export interface ModelLoader {
  /** Loads at the first call; concurrent calls share the load. */
  readonly acquire: (modelId: ModelId) => Effect.Effect<ModelSpec, EmbeddingUnavailable>
  readonly slots: ModelSlots
  readonly thread: EmbeddingThread
}

interface ModelLoaderOptions {
  readonly modelsDir: string
  readonly catalog: ReadonlyArray<ModelSpec>
  readonly intraOpThreads: number
  readonly workerEntry: URL
}

export const makeModelLoader = Effect.fnUntraced(function* (options: ModelLoaderOptions) {
  const scope = yield* Effect.scope
  const clock = yield* Clock.Clock
  const slots = new ModelSlots(() => clock.currentTimeMillisUnsafe())
  const settings = { modelsDir: options.modelsDir, intraOpThreads: options.intraOpThreads }
  const thread = yield* openEmbeddingThread(options.workerEntry, settings, ({ detail }) => slots.onThreadLost(detail))
  // Loads run one after the other, because they share the thread.
  const oneLoad = yield* Semaphore.make(1)

  const settle = Effect.fnUntraced(function* (
    modelId: ModelId,
    settled: Deferred.Deferred<ModelSpec, EmbeddingUnavailable>
  ) {
    const outcome = yield* Semaphore.withPermit(oneLoad, load(modelId, options, slots, thread)).pipe(
      // A thread that cannot be created (memory, flags) must not leave the callers waiting.
      Effect.catchDefect((defect) => refuse(modelId, `loading failed: ${String(defect)}`)),
      Effect.result
    )
    if (outcome._tag === "Success") {
      yield* Effect.logInfo("embedding model loaded", { model: modelId })
      return yield* Deferred.succeed(settled, outcome.success)
    }
    const { reason } = outcome.failure
    const isNews = slots.fail(outcome.failure)
    if (isNews) yield* Effect.logWarning("embedding model unavailable; search is lexical", { model: modelId, reason })
    return yield* Deferred.fail(settled, outcome.failure)
  })

  const acquire = Effect.fnUntraced(function* (modelId: ModelId) {
    const slot = slots.current(modelId)
    if (slot?.state === "ready") return slot.spec
    if (slot?.state === "loading") return yield* Deferred.await(slot.settled)
    if (slot?.state === "failed") return yield* slot.error
    const settled = Deferred.makeUnsafe<ModelSpec, EmbeddingUnavailable>()
    slots.begin(modelId, settled)
    // In the loader's scope: the interruption of one caller does not end the load of the others.
    yield* settle(modelId, settled).pipe(
      Effect.onInterrupt(() => Deferred.completeWith(settled, refuse(modelId, "the service is closing"))),
      Effect.forkIn(scope)
    )
    return yield* Deferred.await(settled)
  })

  return { acquire, slots, thread } satisfies ModelLoader
})

const refuse = (modelId: ModelId, reason: string) => Effect.fail(new EmbeddingUnavailable({ modelId, reason }))

const load = Effect.fn("ModelLoader.load")(function* (
  modelId: ModelId,
  options: ModelLoaderOptions,
  slots: ModelSlots,
  thread: EmbeddingThread
) {
  const spec = options.catalog.find((candidate) => candidate.id === modelId)
  if (spec === undefined) return yield* refuse(modelId, "the model is not in the catalogue")
  yield* findModel(spec, options.modelsDir).pipe(Effect.catch((error) => refuse(modelId, error.message)))
  const crashesBefore = slots.crashCount
  yield* loadInto(thread, spec)
  if (slots.succeed(spec, crashesBefore)) return spec
  return yield* refuse(modelId, "the embedding thread was lost while the model was loaded")
})

type Slot =
  | { readonly state: "loading"; readonly settled: Deferred.Deferred<ModelSpec, EmbeddingUnavailable> }
  | { readonly state: "ready"; readonly spec: ModelSpec }
  | { readonly state: "failed"; readonly error: EmbeddingUnavailable; readonly retryAtMillis: number }

/** Between two searches for files that were missing or wrong. */
const findRetryMillis = 5_000
const restartMillisMin = 250
const restartMillisMax = 30_000

/**
 * State of each model that was requested: loading, ready, or failed until a time. Pure bookkeeping; the clock is an
 * argument.
 *
 * Invariant: the loss of the embedding thread takes effect here before any request fails, so a model is never
 * reported as ready after its thread was lost.
 */
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
