/**
 * Queue in front of the embedding threads: takes texts, sends batches in the order of `EmbeddingLanes`, and gives each
 * text its vector.
 *
 * Invariants: one batch is under way at a time, and one of the backlog with each helper; every text that was accepted
 * ends with its vector or with `EmbeddingUnavailable`; texts of an interrupted or failed call are dropped before they
 * are sent.
 */
import { Clock, Deferred, Effect, Exit, Queue } from "effect"
import { Rounds } from "@muniment/worker/Rounds"
import { BacklogWork, type EmbeddingHelper } from "./EmbeddingHelper.ts"
import { type Batch, type EmbeddingLane, EmbeddingLanes, type PendingText } from "./EmbeddingLanes.ts"
import { embedOn } from "./EmbeddingThread.ts"
import { EmbeddingUnavailable } from "./EmbeddingUnavailable.ts"
import type { ModelId } from "./ModelCatalog.ts"
import type { ModelLoader } from "./ModelLoader.ts"
import type { ModelSlots } from "./ModelSlots.ts"

/** `tokensPerTextMax` tokens seldom need 2,000 characters; the rest would be tokenised and dropped. */
export const charactersPerTextMax = 8_192
/** Of a helper that failed. */
const restMillis = 30_000

interface PendingVector extends PendingText {
  readonly vector: Deferred.Deferred<Float32Array, EmbeddingUnavailable>
}

/** Sends batches until the scope closes. */
export const openEmbeddingQueue = Effect.fnUntraced(function* (
  loader: ModelLoader,
  helpers: ReadonlyArray<EmbeddingHelper>
) {
  const wake = yield* Queue.sliding<void>(1)
  const wakeHelpers = yield* Effect.forEach(helpers, () => Queue.sliding<void>(1))
  const queue = new EmbeddingQueue(loader, wake, wakeHelpers)
  yield* Rounds.whenWoken({ name: "embedding", until: Queue.take(wake), work: queue.drain })
  for (const [at, helper] of helpers.entries()) {
    const until = Queue.take(wakeHelpers[at]!)
    yield* Rounds.whenWoken({ name: "further embedding threads", until, work: queue.drainWith(helper) })
  }
  return queue
})

export class EmbeddingQueue {
  readonly #loader: ModelLoader
  readonly #wake: Queue.Queue<void>
  readonly #wakeHelpers: ReadonlyArray<Queue.Queue<void>>
  readonly #lanes = new EmbeddingLanes<PendingVector>()
  readonly #outstanding = new Set<PendingVector>()
  readonly #backlogWork = new BacklogWork()

  constructor(loader: ModelLoader, wake: Queue.Queue<void>, wakeHelpers: ReadonlyArray<Queue.Queue<void>>) {
    this.#loader = loader
    this.#wake = wake
    this.#wakeHelpers = wakeHelpers
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
        const texts = batch.items.map(({ text }) => text)
        const exit = yield* Effect.exit(spec === undefined ? lost(slots, batch.modelId) : embedOn(thread, spec, texts))
        if (Exit.isSuccess(exit)) {
          slots.markHealthy()
          settle(batch, exit.value)
        } else for (const item of batch.items) Deferred.doneUnsafe(item.vector, Effect.failCause(exit.cause))
        if (batch.lane === "backlog" && this.#backlogWork.note(yield* Clock.currentTimeMillis)) {
          for (const wake of this.#wakeHelpers) yield* Queue.offer(wake, undefined)
        }
      }
    })
  }

  /** Sends batches of the backlog to a helper while there are enough of them. */
  drainWith(helper: EmbeddingHelper): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      for (;;) {
        const modelId = this.#lanes.modelToHelp
        const spec = modelId === undefined ? undefined : this.#loader.slots.loaded(modelId)
        if (spec === undefined) return
        yield* helper.prepare(spec)
        const batch = this.#lanes.nextForHelper(spec.id)
        if (batch === undefined) return
        const texts = batch.items.map(({ text }) => text)
        const vectors = yield* helper.embed(spec, texts).pipe(Effect.onError(() => this.#giveBack(batch)))
        settle(batch, vectors)
      }
    }).pipe(
      Effect.catch(({ reason }) =>
        Effect.andThen(
          Effect.logWarning("a further embedding thread failed; the first one goes on alone", { reason }),
          Effect.sleep(restMillis)
        )
      )
    )
  }

  #giveBack(batch: Batch<PendingVector>): Effect.Effect<void> {
    this.#lanes.putBack(batch)
    return Effect.asVoid(Queue.offer(this.#wake, undefined))
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

const settle = (batch: Batch<PendingVector>, vectors: ReadonlyArray<Float32Array>): void => {
  for (const [at, { vector }] of batch.items.entries()) Deferred.doneUnsafe(vector, Effect.succeed(vectors[at]!))
}
