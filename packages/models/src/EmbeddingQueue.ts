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
import { BacklogWork, type EmbeddingHelper, EmbeddingUnavailable, embedOn } from "./EmbeddingThread.ts"
import type { ModelId } from "./ModelCatalog.ts"
import type { ModelLoader, ModelSlots } from "./ModelLoader.ts"

/** `tokensPerTextMax` tokens seldom need 2,000 characters; the rest would be tokenised and dropped. */
export const charactersPerTextMax = 8_192
/** Rest of a helper that failed, before it is started again. */
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

export interface PendingText {
  readonly modelId: ModelId
  readonly text: string
  /** Set when the caller was interrupted; the text is then dropped. */
  isCancelled: boolean
}

/** In the order of their right of way. */
type EmbeddingLane = "query" | "passage" | "backlog"

interface Batch<Item extends PendingText> {
  readonly lane: EmbeddingLane
  readonly modelId: ModelId
  readonly items: ReadonlyArray<Item>
}

export const queriesPerBatchMax = 4
/**
 * Bounds how long a query waits: 8 passages of a few words, 2 paragraphs or 1 longer text take 20 to 40 ms. A batch
 * saves messages, not arithmetic, so larger ones embed no faster.
 */
export const passagesPerBatchMax = 8
/** Whoever comes waits for the one under way: 5 ms with short texts, where 8 of them took 20. */
export const backlogPerBatchMax = 2
export const charactersPerBatchMax = 512
/** Texts of a batch that a further thread takes from the backlog: larger, because no query waits for that thread. */
export const helpedPerBatchMax = 8
/** Texts that must wait for a further thread to take some: fewer, and the first thread ends before the further one. */
export const helpedFromTexts = 32
const passagesPerWaveMax = 256
/** After this many batches of lanes before it, a waiting batch of a lane runs: no lane starves. */
export const overtakingBatchesMax = { passage: 16, backlog: 4 } as const
export const pendingTextsMax = 8_192

/**
 * Texts waiting for the embedding thread, in three lanes. Queries overtake passages, which somebody waits for, and
 * these overtake the backlog. Passages are cut into small batches, so a query waits for at most the one batch under
 * way; those of the backlog are smaller still, since nobody waits for them. Pure: no clock, no effect, and the same
 * offers give the same batches.
 *
 * A wave is the oldest waiting passages of one lane and model, sorted by length (padding is wasted work) and completed
 * before the next wave is taken, so no passage starves behind shorter ones.
 */
export class EmbeddingLanes<Item extends PendingText> {
  #queries: Array<Item> = []
  readonly #passages = new PassageLane<Item>()
  readonly #backlog = new PassageLane<Item>()
  /** Batches in a row that overtook a waiting passage, and a waiting text of the backlog. */
  readonly #overtaken = { passage: 0, backlog: 0 }

  get queryCount(): number {
    return this.#queries.length
  }

  get passageCount(): number {
    return this.#passages.count
  }

  get backlogCount(): number {
    return this.#backlog.count
  }

  /** False, and nothing is taken, if the lanes would overflow. */
  offer(lane: EmbeddingLane, items: ReadonlyArray<Item>): boolean {
    if (this.queryCount + this.passageCount + this.backlogCount + items.length > pendingTextsMax) return false
    const target = { query: this.#queries, passage: this.#passages.waiting, backlog: this.#backlog.waiting }[lane]
    for (const item of items) target.push(item)
    return true
  }

  /** The batch to run now, or undefined when nothing waits. */
  next(): Batch<Item> | undefined {
    const overtaken = this.#overtaken
    const isBacklogDue = overtaken.backlog >= overtakingBatchesMax.backlog
    const isPassageDue = overtaken.passage >= overtakingBatchesMax.passage
    const batch =
      (isBacklogDue ? this.#nextOf("backlog") : undefined) ??
      (isPassageDue ? this.#nextOf("passage") : undefined) ??
      this.#nextQueries() ??
      this.#nextOf("passage") ??
      this.#nextOf("backlog")
    const isQuery = batch?.lane === "query"
    overtaken.passage = isQuery && this.passageCount > 0 ? overtaken.passage + 1 : 0
    overtaken.backlog = batch?.lane !== "backlog" && this.backlogCount > 0 ? overtaken.backlog + 1 : 0
    return batch
  }

  /** The model of the backlog's next batch, if at least `helpedFromTexts` wait, so that another thread may take some. */
  get modelToHelp(): ModelId | undefined {
    return this.backlogCount >= helpedFromTexts ? this.#backlog.nextModelId : undefined
  }

  /** A batch of the backlog for another thread. */
  nextForHelper(modelId: ModelId): Batch<Item> | undefined {
    return this.modelToHelp === modelId ? this.#nextOf("backlog", helpedPerBatchMax) : undefined
  }

  /** A batch that the other thread could not run goes before all others of the backlog. */
  putBack(batch: Batch<Item>): void {
    this.#backlog.waiting.unshift(...batch.items)
  }

  #nextQueries(): Batch<Item> | undefined {
    const [items, rest] = takeOfOneModel(this.#queries, queriesPerBatchMax)
    this.#queries = rest
    const [first] = items
    return first && { lane: "query", modelId: first.modelId, items }
  }

  #nextOf(
    lane: "passage" | "backlog",
    countMax = lane === "passage" ? passagesPerBatchMax : backlogPerBatchMax
  ): Batch<Item> | undefined {
    const items = (lane === "passage" ? this.#passages : this.#backlog).take(countMax)
    const [first] = items
    return first && { lane, modelId: first.modelId, items }
  }
}

/** One lane of passages: those that wait, oldest first, and what is left of the wave. */
class PassageLane<Item extends PendingText> {
  waiting: Array<Item> = []
  #wave: Array<Item> = []

  get count(): number {
    return this.waiting.length + this.#wave.length
  }

  get nextModelId(): ModelId | undefined {
    return (this.#wave[0] ?? this.waiting[0])?.modelId
  }

  /** The living texts of the next batch. */
  take(countMax: number): ReadonlyArray<Item> {
    this.#wave = this.#wave.filter((item) => !item.isCancelled)
    if (this.#wave.length === 0) {
      const [wave, rest] = takeOfOneModel(this.waiting, passagesPerWaveMax)
      this.#wave = wave.sort((left, right) => left.text.length - right.text.length)
      this.waiting = rest
    }
    let count = 0
    let characters = 0
    while (count < Math.min(this.#wave.length, countMax)) {
      characters += this.#wave[count]!.text.length
      if (count > 0 && characters > charactersPerBatchMax) break
      count++
    }
    return this.#wave.splice(0, count)
  }
}

/** Up to `countMax` living items of the oldest one's model, and the living items left over. */
const takeOfOneModel = <Item extends PendingText>(
  items: ReadonlyArray<Item>,
  countMax: number
): [Array<Item>, Array<Item>] => {
  const taken: Array<Item> = []
  const rest: Array<Item> = []
  for (const item of items) {
    if (item.isCancelled) continue
    const isSameModel = taken.length === 0 || item.modelId === taken[0]!.modelId
    if (isSameModel && taken.length < countMax) taken.push(item)
    else rest.push(item)
  }
  return [taken, rest]
}
