/**
 * Queue in front of the embedding thread: takes texts, sends batches in the order of `EmbeddingLanes`, and gives each
 * text its vector.
 *
 * Invariants: one batch is under way at a time; every text that was accepted ends with its vector or with
 * `EmbeddingUnavailable`; texts of an interrupted or failed call are dropped before they are sent.
 */
import { Deferred, Effect, Exit, Queue } from "effect"
import { type Batch, type EmbeddingLane, EmbeddingLanes, type PendingText } from "./EmbeddingLanes.ts"
import type { EmbeddingThread } from "./EmbeddingThread.ts"
import { EmbeddingUnavailable } from "./EmbeddingUnavailable.ts"
import type { ModelId, ModelSpec } from "./ModelCatalog.ts"
import type { ModelLoader } from "./ModelLoader.ts"
import type { ModelSlots } from "./ModelSlots.ts"

/** `tokensPerTextMax` tokens seldom need 2,000 characters; the rest would be tokenised and dropped. */
export const charactersPerTextMax = 8_192
const batchMillisMax = 30_000

interface PendingVector extends PendingText {
  readonly vector: Deferred.Deferred<Float32Array, EmbeddingUnavailable>
}

/** Sends batches until the scope closes. */
export const openEmbeddingQueue = Effect.fnUntraced(function* (loader: ModelLoader) {
  const wake = yield* Queue.sliding<void>(1)
  const queue = new EmbeddingQueue(loader, wake)
  yield* Queue.take(wake).pipe(Effect.andThen(queue.drain), Effect.forever, Effect.forkScoped)
  return queue
})

export class EmbeddingQueue {
  readonly #loader: ModelLoader
  readonly #wake: Queue.Queue<void>
  readonly #lanes = new EmbeddingLanes<PendingVector>()
  readonly #outstanding = new Set<PendingVector>()

  constructor(loader: ModelLoader, wake: Queue.Queue<void>) {
    this.#loader = loader
    this.#wake = wake
  }

  get queryCount(): number {
    return this.#lanes.queryCount
  }

  get passageCount(): number {
    return this.#lanes.passageCount
  }

  get backlogCount(): number {
    return this.#lanes.backlogCount
  }

  /** Float32Array[dims] for each text, in their order. */
  embed(
    lane: EmbeddingLane,
    texts: ReadonlyArray<string>,
    modelId: ModelId
  ): Effect.Effect<ReadonlyArray<Float32Array>, EmbeddingUnavailable> {
    return Effect.gen({ self: this }, function* () {
      const spec = yield* this.#loader.acquire(modelId)
      const prefix = lane === "query" ? spec.queryPrefix : spec.passagePrefix
      const items = texts.map((text): PendingVector => ({
        modelId,
        text: prefix + text.slice(0, charactersPerTextMax),
        isCancelled: false,
        vector: Deferred.makeUnsafe<Float32Array, EmbeddingUnavailable>()
      }))
      if (!this.#lanes.offer(lane, items)) {
        return yield* new EmbeddingUnavailable({ modelId, reason: "the embedding queue is full; retry with a delay" })
      }
      for (const item of items) this.#outstanding.add(item)
      yield* Queue.offer(this.#wake, undefined)
      return yield* Effect.forEach(items, (item) => Deferred.await(item.vector)).pipe(
        // After a failed batch or an interruption the remaining texts are not needed.
        Effect.onExit(() => Effect.sync(() => this.#release(items)))
      )
    })
  }

  /** Sends batches until no text waits. */
  get drain(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { slots, thread } = this.#loader
      for (let batch = this.#lanes.next(); batch !== undefined; batch = this.#lanes.next()) {
        const spec = slots.loaded(batch.modelId)
        const exit = yield* Effect.exit(spec === undefined ? lost(slots, batch.modelId) : runBatch(thread, spec, batch))
        if (Exit.isSuccess(exit)) slots.markHealthy()
        else for (const item of batch.items) Deferred.doneUnsafe(item.vector, Effect.failCause(exit.cause))
      }
    })
  }

  refuseAll(): void {
    for (const { modelId, vector } of this.#outstanding) {
      const error = new EmbeddingUnavailable({ modelId, reason: "the service is closing" })
      Deferred.doneUnsafe(vector, Effect.fail(error))
    }
  }

  #release(items: ReadonlyArray<PendingVector>): void {
    for (const item of items) {
      item.isCancelled = true
      this.#outstanding.delete(item)
    }
  }
}

/** The model was loaded when the texts were queued; the thread was lost since. */
const lost = (slots: ModelSlots, modelId: ModelId) => {
  const state = slots.stateOf(modelId)
  const reason = typeof state === "string" ? "the embedding thread is restarting" : state.reason
  return Effect.fail(new EmbeddingUnavailable({ modelId, reason }))
}

/** One request to the thread; each item gets its part of the flat reply. */
const runBatch = Effect.fnUntraced(function* (thread: EmbeddingThread, spec: ModelSpec, batch: Batch<PendingVector>) {
  const { modelId } = batch
  const { dims } = spec
  const fail = (reason: string) => Effect.fail(new EmbeddingUnavailable({ modelId, reason }))
  const texts = batch.items.map((item) => item.text)
  const reply = yield* thread
    .ask({ type: "embed", modelId, texts }, { deadlineMillis: batchMillisMax })
    .pipe(
      Effect.catchTag("WorkerFailure", ({ detail, reason }) =>
        fail(reason === "deadline" ? `a batch took longer than ${batchMillisMax} ms` : detail)
      )
    )
  if (reply.type !== "embedded" || reply.vectors.length !== batch.items.length * dims) {
    return yield* fail("the embedding thread answered with the wrong number of components")
  }
  for (const [index, item] of batch.items.entries()) {
    // A copy: a view would keep the buffer of the whole batch.
    const vector: Float32Array = reply.vectors.slice(index * dims, (index + 1) * dims)
    Deferred.doneUnsafe(item.vector, Effect.succeed(vector))
  }
})
