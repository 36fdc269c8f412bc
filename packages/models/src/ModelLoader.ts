/**
 * Which models are loaded, and the life of the thread that holds them. A model is verified on
 * disk, loaded and made to reproduce its known vector before anyone gets it. What failed is tried
 * again after a pause, so a model that is put in place later, or a thread that crashed, comes back
 * without a restart of the service; until then callers are told at once, never left hanging.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { type EmbeddingThread, openThread, type ThreadFailed } from "./EmbeddingThread.ts"
import { isKnownVector, knownText, type ModelId, type ModelSpec, tokensPerTextMax } from "./ModelCatalog.ts"
import { findModel } from "./ModelFiles.ts"

/** Embedding cannot be had now. Recall then runs on its lexical half; writes embed later. */
export class EmbeddingUnavailable extends Schema.TaggedError<EmbeddingUnavailable>()(
  "EmbeddingUnavailable",
  { modelId: Schema.String, reason: Schema.String },
  { httpApiStatus: 503 }
) {
  override get message(): string {
    return `${this.modelId}: ${this.reason}`
  }
}

export interface LoadedModel {
  readonly spec: ModelSpec
  readonly thread: EmbeddingThread
}

export interface ModelLoader {
  /** Loads at the first call; concurrent calls share the load. */
  readonly acquire: (modelId: ModelId) => Effect.Effect<LoadedModel, EmbeddingUnavailable>
  /** The model if it is loaded in a living thread. */
  readonly loaded: (modelId: ModelId) => LoadedModel | undefined
  readonly stateOf: (modelId: ModelId) => "ready" | "loading" | { readonly reason: string }
  readonly loadedIds: () => ReadonlyArray<ModelId>
  readonly crashCount: () => number
  /** A batch came back: the next crash starts again with the shortest pause. */
  readonly markHealthy: () => void
}

export interface ModelLoaderOptions {
  readonly modelsDir: string
  readonly catalog: ReadonlyArray<ModelSpec>
  readonly intraOpThreads: number
  readonly workerEntry: URL
}

const loadMillisMax = 60_000
/** Between two looks for files that were missing or wrong. */
const findRetryMillis = 5_000
const restartMillisMin = 250
const restartMillisMax = 30_000

type Slot =
  | { readonly state: "loading"; readonly settled: Deferred.Deferred<LoadedModel, EmbeddingUnavailable> }
  | { readonly state: "ready"; readonly model: LoadedModel }
  | { readonly state: "failed"; readonly error: EmbeddingUnavailable; readonly retryAtMillis: number }

export const makeModelLoader = Effect.fnUntraced(function* (options: ModelLoaderOptions) {
  const { modelsDir, intraOpThreads } = options
  const scope = yield* Effect.scope
  const clock = yield* Clock.Clock
  // Loads run one after the other: they share the thread, and the first one opens it.
  const oneLoad = yield* Semaphore.make(1)
  const slots = new Map<ModelId, Slot>()
  let thread: EmbeddingThread | undefined
  let crashCount = 0
  let crashesInRow = 0

  // Synchronous, and told before any waiting request: who asks next already gets the refusal.
  const onDeath = (reason: string) => {
    thread = undefined
    crashCount++
    const pauseMillis = Math.min(restartMillisMin * 2 ** crashesInRow++, restartMillisMax)
    const retryAtMillis = clock.currentTimeMillisUnsafe() + pauseMillis
    for (const [modelId, slot] of slots) {
      if (slot.state !== "ready") continue
      const error = new EmbeddingUnavailable({
        modelId,
        reason: `the embedding thread is restarting: ${reason}`
      })
      slots.set(modelId, { state: "failed", error, retryAtMillis })
    }
  }

  const livingThread = Effect.gen(function* () {
    if (thread !== undefined) return thread
    const threadScope = yield* Scope.fork(scope)
    const settings = { modelsDir, intraOpThreads }
    const opened = yield* openThread(options.workerEntry, settings, onDeath).pipe(Scope.provide(threadScope))
    thread = opened
    yield* opened.died.pipe(
      Effect.tap((reason) => Effect.logWarning(`The embedding thread died: ${reason}`)),
      Effect.andThen(Scope.close(threadScope, Exit.void)),
      Effect.forkIn(scope)
    )
    return opened
  })

  const load = Effect.fn("ModelLoader.load")(function* (modelId: ModelId) {
    const spec = options.catalog.find((candidate) => candidate.id === modelId)
    if (spec === undefined) {
      return yield* new EmbeddingUnavailable({ modelId, reason: "the model is not in the catalogue" })
    }
    yield* findModel(spec, modelsDir).pipe(
      Effect.mapError((error) => new EmbeddingUnavailable({ modelId, reason: error.message }))
    )
    const opened = yield* livingThread
    yield* loadInto(opened, spec).pipe(
      Effect.timeoutOrElse({
        duration: loadMillisMax,
        orElse: () =>
          opened
            .kill("loading took too long")
            .pipe(Effect.andThen(Effect.fail(new EmbeddingUnavailable({ modelId, reason: "loading took too long" }))))
      })
    )
    return { spec, thread: opened } satisfies LoadedModel
  })

  const settle = Effect.fnUntraced(function* (
    modelId: ModelId,
    settled: Deferred.Deferred<LoadedModel, EmbeddingUnavailable>
  ) {
    const outcome = yield* Semaphore.withPermit(oneLoad, load(modelId)).pipe(
      // A thread that cannot even be made (memory, flags) must not leave the callers waiting.
      Effect.catchDefect((defect) =>
        Effect.fail(new EmbeddingUnavailable({ modelId, reason: `loading broke: ${String(defect)}` }))
      ),
      Effect.result
    )
    // Between the last reply and here the thread may have died: then nothing is loaded.
    if (outcome._tag === "Success" && outcome.success.thread === thread) {
      slots.set(modelId, { state: "ready", model: outcome.success })
      yield* Effect.logInfo(`Embedding model ${modelId} is loaded`)
      return yield* Deferred.succeed(settled, outcome.success)
    }
    const error =
      outcome._tag === "Failure"
        ? outcome.failure
        : new EmbeddingUnavailable({ modelId, reason: "the embedding thread died" })
    const retryAtMillis = clock.currentTimeMillisUnsafe() + findRetryMillis
    slots.set(modelId, { state: "failed", error, retryAtMillis })
    yield* Effect.logWarning(`Embedding model ${modelId} is unavailable: ${error.reason}`)
    return yield* Deferred.fail(settled, error)
  })

  return {
    acquire: Effect.fnUntraced(function* (modelId: ModelId) {
      const nowMillis = clock.currentTimeMillisUnsafe()
      const slot = slots.get(modelId)
      if (slot?.state === "ready") return slot.model
      if (slot?.state === "loading") return yield* Deferred.await(slot.settled)
      if (slot?.state === "failed" && nowMillis < slot.retryAtMillis) return yield* slot.error
      const settled = Deferred.makeUnsafe<LoadedModel, EmbeddingUnavailable>()
      slots.set(modelId, { state: "loading", settled })
      // In the loader's scope: a caller who goes away does not end the load of the others.
      yield* settle(modelId, settled).pipe(
        Effect.onInterrupt(() =>
          Deferred.fail(settled, new EmbeddingUnavailable({ modelId, reason: "the service is closing" }))
        ),
        Effect.forkIn(scope)
      )
      return yield* Deferred.await(settled)
    }),
    loaded: (modelId) => {
      const slot = slots.get(modelId)
      return slot?.state === "ready" ? slot.model : undefined
    },
    stateOf: (modelId) => {
      const slot = slots.get(modelId)
      return slot?.state === "failed" ? { reason: slot.error.reason } : (slot?.state ?? "loading")
    },
    loadedIds: () => [...slots].flatMap(([modelId, slot]) => (slot.state === "ready" ? [modelId] : [])),
    crashCount: () => crashCount,
    markHealthy: () => {
      crashesInRow = 0
    }
  } satisfies ModelLoader
})

/** Loads `spec` into the thread and holds it to its known vector. */
const loadInto = Effect.fnUntraced(
  function* (thread: EmbeddingThread, spec: ModelSpec) {
    const { id: modelId, dims, pooling, textsPerRunMax } = spec
    yield* thread.request({ type: "load", modelId, dims, pooling, textsPerRunMax, tokensPerTextMax })
    const reply = yield* thread.request({ type: "embed", modelId, texts: [knownText] })
    if (reply.type !== "embedded" || !isKnownVector(spec, reply.vectors)) {
      return yield* new EmbeddingUnavailable({
        modelId,
        reason:
          "its vector of the known text is not the catalogue's, so its vectors could not be compared with stored ones"
      })
    }
  },
  (effect, _thread, spec) =>
    Effect.catchTag(effect, "ThreadFailed", (error: ThreadFailed) =>
      Effect.fail(new EmbeddingUnavailable({ modelId: spec.id, reason: error.reason }))
    )
)
