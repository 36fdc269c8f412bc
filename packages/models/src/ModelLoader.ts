/**
 * Loads models into the embedding thread and opens that thread anew when it has died. A model is
 * verified on disk, loaded and made to reproduce its known vector before anyone gets it. What
 * failed is tried again after a pause, so a model that is put in place later, or a thread that
 * crashed, comes back without a restart of the service; until then callers are told at once.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { type EmbeddingThread, openThread, type ThreadFailed } from "./EmbeddingThread.ts"
import { EmbeddingUnavailable } from "./EmbeddingUnavailable.ts"
import { isKnownVector, knownText, type ModelId, type ModelSpec, tokensPerTextMax } from "./ModelCatalog.ts"
import { findModel } from "./ModelFiles.ts"
import { type LoadedModel, ModelSlots } from "./ModelSlots.ts"

export interface ModelLoader {
  /** Loads at the first call; concurrent calls share the load. */
  readonly acquire: (modelId: ModelId) => Effect.Effect<LoadedModel, EmbeddingUnavailable>
  readonly slots: ModelSlots
}

export interface ModelLoaderOptions {
  readonly modelsDir: string
  readonly catalog: ReadonlyArray<ModelSpec>
  readonly intraOpThreads: number
  readonly workerEntry: URL
}

const loadMillisMax = 60_000

export const makeModelLoader = Effect.fnUntraced(function* (options: ModelLoaderOptions) {
  const scope = yield* Effect.scope
  const clock = yield* Clock.Clock
  const slots = new ModelSlots(() => clock.currentTimeMillisUnsafe())
  // Loads run one after the other: they share the thread, and the first one opens it.
  const oneLoad = yield* Semaphore.make(1)

  const settle = Effect.fnUntraced(function* (
    modelId: ModelId,
    settled: Deferred.Deferred<LoadedModel, EmbeddingUnavailable>
  ) {
    const outcome = yield* Semaphore.withPermit(oneLoad, load(modelId, options, slots, scope)).pipe(
      // A thread that cannot even be made (memory, flags) must not leave the callers waiting.
      Effect.catchDefect((defect) => refuse(modelId, `loading broke: ${String(defect)}`)),
      Effect.filterOrElse(
        (model) => slots.succeed(model),
        () => refuse(modelId, "the embedding thread died while the model was loaded")
      ),
      Effect.result
    )
    if (outcome._tag === "Success") {
      yield* Effect.logInfo(`Embedding model ${modelId} is loaded`)
      return yield* Deferred.succeed(settled, outcome.success)
    }
    const isNews = slots.fail(outcome.failure)
    if (isNews) yield* Effect.logWarning(`Embedding model ${modelId} is unavailable: ${outcome.failure.reason}`)
    return yield* Deferred.fail(settled, outcome.failure)
  })

  const acquire = Effect.fnUntraced(function* (modelId: ModelId) {
    const slot = slots.current(modelId)
    if (slot?.state === "ready") return slot.model
    if (slot?.state === "loading") return yield* Deferred.await(slot.settled)
    if (slot?.state === "failed") return yield* slot.error
    const settled = Deferred.makeUnsafe<LoadedModel, EmbeddingUnavailable>()
    slots.begin(modelId, settled)
    // In the loader's scope: a caller who goes away does not end the load of the others.
    yield* settle(modelId, settled).pipe(
      Effect.onInterrupt(() => Deferred.completeWith(settled, refuse(modelId, "the service is closing"))),
      Effect.forkIn(scope)
    )
    return yield* Deferred.await(settled)
  })

  return { acquire, slots } satisfies ModelLoader
})

const refuse = (modelId: ModelId, reason: string) => Effect.fail(new EmbeddingUnavailable({ modelId, reason }))

const load = Effect.fn("ModelLoader.load")(function* (
  modelId: ModelId,
  options: ModelLoaderOptions,
  slots: ModelSlots,
  scope: Scope.Scope
) {
  const spec = options.catalog.find((candidate) => candidate.id === modelId)
  if (spec === undefined) return yield* refuse(modelId, "the model is not in the catalogue")
  yield* findModel(spec, options.modelsDir).pipe(Effect.catch((error) => refuse(modelId, error.message)))
  const thread = yield* livingThread(options, slots, scope)
  yield* loadInto(thread, spec).pipe(
    Effect.timeoutOrElse({
      duration: loadMillisMax,
      orElse: () => thread.kill("loading took too long").pipe(Effect.andThen(refuse(modelId, "loading took too long")))
    })
  )
  return { spec, thread } satisfies LoadedModel
})

/** The thread, opened in a scope of its own below the loader's, which closes when it dies. */
const livingThread = Effect.fnUntraced(function* (options: ModelLoaderOptions, slots: ModelSlots, scope: Scope.Scope) {
  if (slots.thread !== undefined) return slots.thread
  const threadScope = yield* Scope.fork(scope)
  const settings = { modelsDir: options.modelsDir, intraOpThreads: options.intraOpThreads }
  const thread = yield* openThread(options.workerEntry, settings, (reason) => slots.onDeath(reason)).pipe(
    Scope.provide(threadScope)
  )
  slots.thread = thread
  yield* thread.died.pipe(
    Effect.tap((reason) => Effect.logWarning(`The embedding thread died: ${reason}`)),
    Effect.andThen(Scope.close(threadScope, Exit.void)),
    Effect.forkIn(scope)
  )
  return thread
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
