/**
 * Local embedding: texts in, normalised vectors out, by any model of the catalogue, each loaded at its first use in one
 * worker thread.
 *
 * Invariants: the layer builds at once, with or without a model; without one, a call fails as `EmbeddingUnavailable`
 * and does not wait; vectors have the order of their texts; a query waits for at most one batch of passages
 * (`EmbeddingLanes`). Query vectors are cached and shared: a caller must not write into one.
 */
import { Cache, Context, Effect, Exit, Layer, Schedule } from "effect"
import { traced } from "@muniment/domain/traced"
import { Rounds } from "@muniment/worker/Rounds"
import { access } from "node:fs/promises"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { charactersPerTextMax, type EmbeddingQueue, openEmbeddingQueue } from "./EmbeddingQueue.ts"
import { type EmbeddingHelper, EmbeddingUnavailable, openEmbeddingHelper } from "./EmbeddingThread.ts"
import { catalog, type ModelId, modelPreference, type ModelSpec } from "./ModelCatalog.ts"
import { makeModelLoader, type ModelSlots } from "./ModelLoader.ts"

export interface EmbedderStatus {
  readonly state: "ready" | "loading" | "unavailable"
  /** Reason why the default model is missing, when `state` is `unavailable`. */
  readonly reason: string | undefined
  readonly defaultModel: ModelId | undefined
  readonly loadedModels: ReadonlyArray<ModelId>
  readonly queuedQueries: number
  /** Passages that somebody waits for. */
  readonly queuedPassages: number
  readonly threadCrashes: number
  /** Further threads, which embed a long backlog. */
  readonly helpers: number
}

export interface EmbedderOptions {
  readonly modelsDir: string
  /** Default: the first of `modelPreference` whose directory exists, otherwise the first. */
  readonly modelId?: ModelId | undefined
  readonly intraOpThreads?: number | undefined
  /** The most that embed at once, the further ones only a long backlog; default one a processor, at most four. */
  readonly threads?: number | undefined
  readonly catalog?: ReadonlyArray<ModelSpec> | undefined
  /** Another entry module for `EmbeddingProtocol`; tests pass one that crashes. */
  readonly workerEntry?: URL | undefined
}

/** With 384 dimensions: 6 MB. */
const queryCacheCapacity = 4_096
/** Each holds the model while it embeds, some 90 MB. */
const defaultThreads = () => Math.min(availableParallelism(), 4)
/** How often the default model is requested while it is not loaded. */
const keeperMillis = 1_000

export class Embedder extends Context.Service<
  Embedder,
  {
    readonly status: Effect.Effect<EmbedderStatus>
    readonly defaultModel: ModelId | undefined
    /** Float32Array[dims], length 1. */
    readonly embedQuery: (text: string, modelId?: ModelId) => Effect.Effect<Float32Array, EmbeddingUnavailable>
    /** One Float32Array[dims] of length 1 for each text, in their order; those of lane `backlog` after all others. */
    readonly embedPassages: (
      texts: ReadonlyArray<string>,
      modelId?: ModelId,
      lane?: "passage" | "backlog"
    ) => Effect.Effect<ReadonlyArray<Float32Array>, EmbeddingUnavailable>
  }
>()("@muniment/models/Embedder") {
  static readonly layer = (options: EmbedderOptions): Layer.Layer<Embedder> => Layer.effect(this, make(options))

  /** No model: search is lexical only. */
  static readonly layerUnavailable: Layer.Layer<Embedder> = Layer.sync(this, () => {
    const refuse = (modelId: ModelId = "none") =>
      Effect.fail(new EmbeddingUnavailable({ modelId, reason: "embedding is switched off" }))
    return {
      defaultModel: undefined,
      embedQuery: (_text: string, modelId?: ModelId) => refuse(modelId),
      embedPassages: (_texts: ReadonlyArray<string>, modelId?: ModelId) => refuse(modelId),
      status: Effect.succeed<EmbedderStatus>({
        state: "unavailable",
        reason: "embedding is switched off",
        defaultModel: undefined,
        loadedModels: [],
        queuedQueries: 0,
        queuedPassages: 0,
        threadCrashes: 0,
        helpers: 0
      })
    }
  })
}

const make = Effect.fnUntraced(function* (options: EmbedderOptions) {
  const specs = options.catalog ?? catalog
  const defaultModel = options.modelId ?? (yield* chooseDefault(specs, options.modelsDir))
  const workerEntry = options.workerEntry ?? new URL("./EmbeddingWorker.ts", import.meta.url)
  const settings = { modelsDir: options.modelsDir, intraOpThreads: options.intraOpThreads ?? 1 }
  const loader = yield* makeModelLoader({ ...settings, catalog: specs, workerEntry })
  const helpers = yield* Effect.replicateEffect(
    openEmbeddingHelper(workerEntry, settings),
    (options.threads ?? defaultThreads()) - 1
  )
  const queue = yield* openEmbeddingQueue(loader, helpers)
  const cache = yield* Cache.makeWith(
    (key: string) => {
      const cut = key.indexOf("\n")
      return queue.embed("query", [key.slice(cut + 1)], key.slice(0, cut)).pipe(Effect.map(([vector]) => vector!))
    },
    {
      capacity: queryCacheCapacity,
      timeToLive: (exit) => (Exit.isSuccess(exit) ? "Infinity" : 0)
    }
  )
  yield* Rounds.add({
    name: "embedding model",
    schedule: Schedule.spaced(keeperMillis),
    // The loader logs the reason and keeps it for `status`.
    work: Effect.ignore(loader.acquire(defaultModel)),
    isFirstNow: true,
    isCut: true
  })
  // Registered last, so it runs first: callers fail because the service closes, not because the thread ends.
  yield* Effect.addFinalizer(() => Effect.sync(() => queue.refuseAll()))

  return {
    defaultModel,
    embedQuery: traced("Embedder.embedQuery")(function* (text: string, modelId: ModelId = defaultModel) {
      return yield* Cache.get(cache, `${modelId}\n${text.slice(0, charactersPerTextMax)}`)
    }),
    embedPassages: traced("Embedder.embedPassages")(function* (
      texts: ReadonlyArray<string>,
      modelId: ModelId = defaultModel,
      lane: "passage" | "backlog" = "passage"
    ) {
      return yield* queue.embed(lane, texts, modelId)
    }),
    status: Effect.sync(() => statusOf(defaultModel, loader.slots, queue, helpers))
  }
})

const statusOf = (
  defaultModel: ModelId,
  slots: ModelSlots,
  queue: EmbeddingQueue,
  helpers: ReadonlyArray<EmbeddingHelper>
): EmbedderStatus => {
  const state = slots.stateOf(defaultModel)
  return {
    state: typeof state === "string" ? state : "unavailable",
    reason: typeof state === "string" ? undefined : state.reason,
    defaultModel,
    loadedModels: slots.loadedIds,
    queuedQueries: queue.queryCount,
    queuedPassages: queue.passageCount,
    threadCrashes: slots.crashCount,
    helpers: helpers.filter((helper) => helper.isRunning()).length
  }
}

const chooseDefault = (specs: ReadonlyArray<ModelSpec>, modelsDir: string): Effect.Effect<ModelId> =>
  Effect.promise(async () => {
    const preferred = modelPreference.filter((id) => specs.some((spec) => spec.id === id))
    for (const id of preferred) {
      const isThere = await access(join(modelsDir, id)).then(
        () => true,
        () => false
      )
      if (isThere) return id
    }
    return preferred[0] ?? modelPreference[0]!
  })
