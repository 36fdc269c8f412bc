/**
 * Local embedding as a service: texts in, normalised vectors out, by any model of the catalogue,
 * each loaded at its first use in one worker thread.
 *
 * Invariants: the layer builds at once whether or not a model is there; what cannot be embedded
 * fails as `EmbeddingUnavailable` and never waits for a model that is missing; vectors keep the
 * order of their texts; a query waits for at most one batch of passages (`EmbeddingLanes`).
 * Query vectors are cached and shared: a caller must not write into one.
 */
import * as Cache from "effect/Cache"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import { access } from "node:fs/promises"
import { join } from "node:path"
import { type Batch, EmbeddingLanes, type PendingText } from "./EmbeddingLanes.ts"
import { EmbeddingUnavailable } from "./EmbeddingUnavailable.ts"
import { catalog, type ModelId, modelPreference, type ModelSpec } from "./ModelCatalog.ts"
import { makeModelLoader } from "./ModelLoader.ts"
import type { LoadedModel, ModelSlots } from "./ModelSlots.ts"

export interface EmbedderStatus {
  readonly state: "ready" | "loading" | "unavailable"
  /** Of the default model, when `state` is `unavailable`. */
  readonly reason: string | undefined
  readonly defaultModel: ModelId | undefined
  readonly loadedModels: ReadonlyArray<ModelId>
  readonly queuedQueries: number
  readonly queuedPassages: number
  readonly threadCrashes: number
}

export interface EmbedderOptions {
  readonly modelsDir: string
  /** Without it: the first of `modelPreference` whose directory exists, else the first of all. */
  readonly modelId?: ModelId | undefined
  readonly intraOpThreads?: number | undefined
  readonly queryCacheCapacity?: number | undefined
  readonly catalog?: ReadonlyArray<ModelSpec> | undefined
  /** Another entry that speaks `EmbeddingProtocol`; tests let theirs crash. */
  readonly workerEntry?: URL | undefined
}

/** 4,096 vectors of 384 floats are 6 MB. */
export const queryCacheCapacityDefault = 4_096
/** 256 tokens seldom need 2,000 characters; the rest would only be tokenised and thrown away. */
export const charactersPerTextMax = 8_192
const batchMillisMax = 30_000
/** How often the default model is asked for while it is not loaded. */
const keeperMillis = 1_000

export class Embedder extends Context.Service<
  Embedder,
  {
    readonly status: Effect.Effect<EmbedderStatus>
    readonly defaultModel: ModelId | undefined
    /** Float32Array[dims], length 1. */
    readonly embedQuery: (text: string, modelId?: ModelId) => Effect.Effect<Float32Array, EmbeddingUnavailable>
    /** One Float32Array[dims] of length 1 for each text, in their order. */
    readonly embedPassages: (
      texts: ReadonlyArray<string>,
      modelId?: ModelId
    ) => Effect.Effect<ReadonlyArray<Float32Array>, EmbeddingUnavailable>
  }
>()("@muniment/models/Embedder") {
  static readonly layer = (options: EmbedderOptions): Layer.Layer<Embedder> => Layer.effect(this, make(options))

  /** No model: recall is lexical only. */
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
        threadCrashes: 0
      })
    }
  })
}

interface PendingVector extends PendingText {
  readonly vector: Deferred.Deferred<Float32Array, EmbeddingUnavailable>
}

const make = Effect.fnUntraced(function* (options: EmbedderOptions) {
  const specs = options.catalog ?? catalog
  const defaultModel = options.modelId ?? (yield* chooseDefault(specs, options.modelsDir))
  const lanes = new EmbeddingLanes<PendingVector>()
  const outstanding = new Set<PendingVector>()
  const wake = yield* Queue.sliding<void>(1)
  const loader = yield* makeModelLoader({
    modelsDir: options.modelsDir,
    catalog: specs,
    intraOpThreads: options.intraOpThreads ?? 1,
    workerEntry: options.workerEntry ?? new URL("./EmbeddingWorker.ts", import.meta.url)
  })

  const embedTexts = Effect.fnUntraced(function* (
    lane: "query" | "passage",
    texts: ReadonlyArray<string>,
    modelId: ModelId
  ) {
    const { spec } = yield* loader.acquire(modelId)
    const prefix = lane === "query" ? spec.queryPrefix : spec.passagePrefix
    const items = texts.map((text): PendingVector => ({
      modelId,
      text: prefix + text.slice(0, charactersPerTextMax),
      isCancelled: false,
      vector: Deferred.makeUnsafe<Float32Array, EmbeddingUnavailable>()
    }))
    if (!lanes.offer(lane, items)) {
      return yield* new EmbeddingUnavailable({ modelId, reason: "too many texts wait to be embedded" })
    }
    for (const item of items) outstanding.add(item)
    yield* Queue.offer(wake, undefined)
    return yield* Effect.forEach(items, (item) => Deferred.await(item.vector)).pipe(
      // One lost batch fails the call, and an interrupted caller is gone: the rest is not needed.
      Effect.onExit(() => Effect.sync(() => release(items, outstanding)))
    )
  })

  const cache = yield* Cache.makeWith(
    (key: string) => {
      const cut = key.indexOf("\n")
      return embedTexts("query", [key.slice(cut + 1)], key.slice(0, cut)).pipe(Effect.map(([vector]) => vector!))
    },
    {
      capacity: options.queryCacheCapacity ?? queryCacheCapacityDefault,
      timeToLive: (exit) => (Exit.isSuccess(exit) ? "Infinity" : 0)
    }
  )

  yield* Queue.take(wake).pipe(Effect.andThen(drain(lanes, loader.slots)), Effect.forever, Effect.forkScoped)
  yield* loader.acquire(defaultModel).pipe(
    // The loader has logged the reason and keeps it for `status`.
    Effect.ignore,
    Effect.andThen(Effect.sleep(keeperMillis)),
    Effect.forever,
    Effect.forkScoped
  )

  // Registered last, so it runs first: the callers hear of the closing, not of its effects.
  yield* Effect.addFinalizer(() => Effect.sync(() => refuseAll(outstanding)))

  return {
    defaultModel,
    embedQuery: Effect.fn("Embedder.embedQuery")(function* (text: string, modelId: ModelId = defaultModel) {
      return yield* Cache.get(cache, `${modelId}\n${text.slice(0, charactersPerTextMax)}`)
    }),
    embedPassages: Effect.fn("Embedder.embedPassages")(function* (
      texts: ReadonlyArray<string>,
      modelId: ModelId = defaultModel
    ) {
      return yield* embedTexts("passage", texts, modelId)
    }),
    status: Effect.sync(() => statusOf(defaultModel, loader.slots, lanes))
  }
})

const statusOf = (defaultModel: ModelId, slots: ModelSlots, lanes: EmbeddingLanes<PendingVector>): EmbedderStatus => {
  const state = slots.stateOf(defaultModel)
  return {
    state: typeof state === "string" ? state : "unavailable",
    reason: typeof state === "string" ? undefined : state.reason,
    defaultModel,
    loadedModels: slots.loadedIds,
    queuedQueries: lanes.queryCount,
    queuedPassages: lanes.passageCount,
    threadCrashes: slots.crashCount
  }
}

const refuseAll = (outstanding: ReadonlySet<PendingVector>): void => {
  for (const { modelId, vector } of outstanding) {
    const error = new EmbeddingUnavailable({ modelId, reason: "the service is closing" })
    Deferred.doneUnsafe(vector, Effect.fail(error))
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

/** Runs batches until nothing waits. */
const drain = Effect.fnUntraced(function* (lanes: EmbeddingLanes<PendingVector>, slots: ModelSlots) {
  for (let batch = lanes.next(); batch !== undefined; batch = lanes.next()) {
    const model = slots.loaded(batch.modelId)
    const exit = yield* Effect.exit(model === undefined ? lost(slots, batch.modelId) : runBatch(model, batch))
    if (Exit.isSuccess(exit)) slots.markHealthy()
    else for (const item of batch.items) Deferred.doneUnsafe(item.vector, Effect.failCause(exit.cause))
  }
})

/** The model was loaded when the texts were queued; the thread has died since. */
const lost = (slots: ModelSlots, modelId: ModelId) => {
  const state = slots.stateOf(modelId)
  const reason = typeof state === "string" ? "the embedding thread is restarting" : state.reason
  return Effect.fail(new EmbeddingUnavailable({ modelId, reason }))
}

/** One round trip; gives each item its part of the flat reply. */
const runBatch = Effect.fnUntraced(function* (model: LoadedModel, batch: Batch<PendingVector>) {
  const { modelId } = batch
  const { dims } = model.spec
  const fail = (reason: string) => Effect.fail(new EmbeddingUnavailable({ modelId, reason }))
  const reply = yield* model.thread
    .request({ type: "embed", modelId, texts: batch.items.map((item) => item.text) })
    .pipe(
      Effect.catchTag("ThreadFailed", (error) => fail(error.reason)),
      Effect.timeoutOrElse({
        duration: batchMillisMax,
        orElse: () => model.thread.kill("a batch hung").pipe(Effect.andThen(fail("a batch hung")))
      })
    )
  if (reply.type !== "embedded" || reply.vectors.length !== batch.items.length * dims) {
    return yield* fail("the embedding thread gave an answer of the wrong size")
  }
  for (const [index, item] of batch.items.entries()) {
    // A copy each: a part that is kept would keep the whole batch's buffer.
    const vector: Float32Array = reply.vectors.slice(index * dims, (index + 1) * dims)
    Deferred.doneUnsafe(item.vector, Effect.succeed(vector))
  }
})

const release = (items: ReadonlyArray<PendingVector>, outstanding: Set<PendingVector>): void => {
  for (const item of items) {
    item.isCancelled = true
    outstanding.delete(item)
  }
}
