/**
 * The backlog of vectors: memories stored before their vector was there, or with one of another model. Each gets its
 * vector in the background, after queries and after the writes that wait for theirs. Online: vectors of an older model
 * serve until they are replaced. Durable without a list of its own: what is missing is read from the files, so a kill
 * loses nothing. Namespaces take turns, one batch each, so a large import delays no other agent. The next batch is read
 * while the one before is embedded.
 */
import { Context, Effect, Layer, Queue, Schedule, type Scope, Semaphore } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { denseTexts } from "@muniment/engine/text/MemoryText"
import type { RecordWithoutVector } from "@muniment/engine/namespace/NamespaceQuery"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { Embedder } from "@muniment/models/Embedder"
import { type Errands, Rounds } from "@muniment/worker/Rounds"
import { TextEmbedding, vectorsOf } from "../memories/TextEmbedding.ts"

interface BacklogState {
  readonly model: string | null
  /** Memories without a vector of the model. */
  readonly pending: number
  readonly total: number
}

/** Delay after which namespaces that failed are tried again. */
const retryMillis = 30_000
/** Interval of asking whether the model is ready. */
const readyPollMillis = 1_000
/** Batches between reading and storing. */
const batchesUnderWay = 2

export class VectorBacklog extends Context.Service<
  VectorBacklog,
  {
    readonly progress: Effect.Effect<BacklogState>
    /** Counts missing vectors in every file, wakes the background fiber, and answers at once. */
    readonly start: Effect.Effect<BacklogState>
  }
>()("muniment/server/VectorBacklog") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const embedder = yield* Embedder
  const work: Work = {
    host: yield* NamespaceHost,
    directory: yield* NamespaceDirectory,
    embedder,
    embedding: yield* TextEmbedding,
    model: embedder.defaultModel,
    counts: new BacklogCounts(),
    due: new Map(),
    underWay: new Map(),
    places: yield* Semaphore.make(batchesUnderWay),
    begin: yield* Rounds.errands({ name: "batches of vectors" })
  }
  const wake = yield* Queue.sliding<void>(1)
  const progress = Effect.sync(() => progressOf(work))
  yield* inBackground(work, wake)
  const start = Effect.andThen(countAll(work), Effect.andThen(Queue.offer(wake, undefined), progress))
  return { progress, start }
})

interface Work {
  readonly host: NamespaceHost["Service"]
  readonly directory: NamespaceDirectory["Service"]
  readonly embedder: Embedder["Service"]
  readonly embedding: TextEmbedding["Service"]
  readonly model: string | undefined
  readonly counts: BacklogCounts
  /** Namespaces that have something to embed, next one first. */
  readonly due: Map<NamespaceTag, Turn>
  /** Batches between reading and storing, by namespace. */
  readonly underWay: Map<NamespaceTag, number>
  readonly places: Semaphore.Semaphore
  readonly begin: Errands
}

interface Turn {
  readonly key: NamespaceKey
  /** Slots up to this one were embedded in this round. */
  readonly afterSlot: number
}

const progressOf = ({ counts, embedding, model }: Work): BacklogState => {
  const noted = embedding.missingCount()
  return { model: model ?? null, pending: noted + counts.missing, total: noted + counts.rows }
}

/** Counts once, then embeds whatever is due. */
const inBackground = (work: Work, wake: Queue.Dequeue<void>): Effect.Effect<void, never, Scope.Scope> => {
  const { counts, due, embedder, embedding, model } = work
  // Waits for a model: without one every write would be a reason to look.
  const untilReady = embedder.status.pipe(
    Effect.repeat({ until: ({ state }) => state === "ready", schedule: Schedule.spaced(readyPollMillis) })
  )
  const turns = Effect.fnUntraced(function* (target: string) {
    while (due.size > 0) {
      yield* takeTurn(work, target)
      takeNotes(work)
      // Batches that end may make something due.
      if (nextTurn(work) === undefined) yield* Semaphore.withPermits(work.places, batchesUnderWay)(Effect.void)
    }
  })
  const isWaiting = () => counts.missing > 0
  const untilDue = Effect.suspend(() =>
    Effect.raceAllFirst([
      Queue.take(wake),
      embedding.untilMissing,
      ...(model !== undefined && isWaiting() ? [Effect.sleep(retryMillis)] : [])
    ])
  )
  const round = Effect.suspend(() => {
    takeNotes(work)
    for (const key of counts.lacking) {
      if (isErased(work, key)) counts.delete(key.tag)
      else begin(work, key)
    }
    return model === undefined || due.size === 0 ? Effect.void : Effect.andThen(untilReady, turns(model))
  })
  // Turns count what they have done. Without a model there are none, and what is erased would stay in the counts.
  const recount = Effect.gen(function* () {
    takeNotes(work)
    for (const { key } of counts.all) if (isErased(work, key)) counts.delete(key.tag)
    if ((yield* embedder.status).state === "ready") return
    yield* lookAt(work, counts.lacking)
  })
  let isCounted = false
  const counted = Effect.suspend(() => (isCounted ? Effect.void : countAll(work))).pipe(
    Effect.andThen(Effect.sync(() => void (isCounted = true)))
  )
  return Effect.andThen(
    Rounds.whenWoken({
      name: "vectors",
      until: untilDue,
      work: Effect.andThen(counted, round),
      isFirstNow: true
    }),
    Rounds.add({ name: "counts of vectors", schedule: Schedule.spaced(retryMillis), work: recount })
  )
}

/** Its account was erased meanwhile. */
const isErased = ({ directory }: Work, key: NamespaceKey): boolean => directory.byTag(key.tag) !== key

const begin = ({ due }: Work, key: NamespaceKey): void => {
  if (!due.has(key.tag)) due.set(key.tag, { key, afterSlot: -1 })
}

/** Namespaces with new memories become due; their counts are estimates until they are looked at. */
const takeNotes = (work: Work): void => {
  for (const { count, key } of work.embedding.takeMissing()) {
    const { missing = 0, models = [], rows = 0 } = work.counts.get(key.tag) ?? {}
    work.counts.set({ key, missing: missing + count, rows: rows + count, models })
    begin(work, key)
  }
}

const countAll = (work: Work) => lookAt(work, work.directory.all())

const lookAt = (work: Work, keys: Iterable<NamespaceKey>) =>
  Effect.forEach(keys, (key) => Effect.andThen(Effect.ignore(look(work, key)), Effect.yieldNow), { discard: true })

/** Counts what is missing, and which models still have vectors. */
const look = Effect.fnUntraced(function* ({ counts, embedding, host, model }: Work, key: NamespaceKey) {
  const { models, rows } = yield* host.answer(key, { _tag: "Counts" })
  const missing = model === undefined ? 0 : yield* host.answer(key, { _tag: "CountWithoutVector", model })
  counts.set({ key, models, rows, missing })
  embedding.setOlderModels(counts.models)
})

/** Next batch. An agent whose batch is under way has to wait: it would be read again from the beginning. */
const nextTurn = ({ due, underWay }: Work): Turn | undefined =>
  due.values().find(({ afterSlot, key }) => afterSlot >= 0 || !underWay.has(key.tag))

/** Begins one batch of the first namespace that is due, which then goes to the end, or is done. */
const takeTurn = (work: Work, target: string) =>
  Effect.andThen(
    Semaphore.take(work.places, 1),
    Effect.onError(beginBatch(work, target), () => Semaphore.release(work.places, 1))
  )

/** Gives its place back when the batch ends, or when there is none. */
const beginBatch = Effect.fnUntraced(function* (work: Work, target: string) {
  const turn = nextTurn(work)
  const batch = turn === undefined ? undefined : yield* orLater(work, turn.key, readBatch(work, turn, target))
  if (turn === undefined || batch === undefined) {
    if (turn !== undefined) yield* done(work, turn.key)
    return yield* Semaphore.release(work.places, 1)
  }
  const { key } = turn
  work.due.delete(key.tag)
  work.due.set(key.tag, { key, afterSlot: batch.lastSlot })
  work.underWay.set(key.tag, (work.underWay.get(key.tag) ?? 0) + 1)
  work.begin(
    orLater(work, key, embedBatch(work, key, batch, target)).pipe(
      Effect.ensuring(Effect.suspend(() => stored(work, key))),
      Effect.ensuring(Semaphore.release(work.places, 1))
    )
  )
})

const orLater = <A, E extends { readonly _tag: string }>(
  { due }: Work,
  { tag }: NamespaceKey,
  effect: Effect.Effect<A, E>
): Effect.Effect<A | undefined> =>
  Effect.catch(
    Effect.onError(effect, () => Effect.sync(() => due.delete(tag))),
    (error) =>
      Effect.as(
        Effect.logWarning("embedding a namespace failed; it will be retried", { namespace: tag, error: error._tag }),
        undefined
      )
  )

/** Nothing is left to read; what is missing is counted when the last batch is stored. */
const done = (work: Work, key: NamespaceKey): Effect.Effect<void> => {
  work.due.delete(key.tag)
  return work.underWay.has(key.tag) ? Effect.void : Effect.ignore(look(work, key))
}

const stored = (work: Work, key: NamespaceKey): Effect.Effect<void> => {
  const others = work.underWay.get(key.tag)! - 1
  if (others > 0) work.underWay.set(key.tag, others)
  else work.underWay.delete(key.tag)
  return others > 0 || work.due.has(key.tag) ? Effect.void : Effect.ignore(look(work, key))
}

interface ReadBatch {
  readonly memories: ReadonlyArray<RecordWithoutVector>
  /** Texts of each memory. */
  readonly texts: ReadonlyArray<ReadonlyArray<string>>
  readonly lastSlot: number
}

/** Undefined when nothing is missing after `afterSlot`. */
const readBatch = Effect.fn("VectorBacklog.read")(function* ({ host }: Work, { afterSlot, key }: Turn, model: string) {
  const found = yield* host.answer(key, { _tag: "WithoutVector", model, afterSlot, limit: Limits.embedBackfillBatch })
  if (found.length === 0) return undefined
  const texts = firstTexts(found.map(({ passages, record }) => denseTexts(record, passages)))
  const memories = found.slice(0, texts.length)
  return { memories, texts, lastSlot: memories.at(-1)!.slot } satisfies ReadBatch
})

const embedBatch = Effect.fn("VectorBacklog.batch")(function* (
  { counts, embedder, host }: Work,
  key: NamespaceKey,
  { memories, texts }: ReadBatch,
  target: string
) {
  const vectors = vectorsOf(target, texts, yield* embedder.embedPassages(texts.flat(), target, "backlog"))
  const embedded = yield* host.ask(key, {
    _tag: "StoreVectors",
    vectors: memories.map(({ record }, at) => ({
      id: record.id,
      contentHash: record.contentHash,
      vector: vectors[at]!
    }))
  })
  const counted = counts.get(key.tag)
  if (counted !== undefined) counts.set({ ...counted, missing: Math.max(0, counted.missing - embedded) })
})

/** The texts of the first memories, as many as make one batch: a long message has dozens. */
const firstTexts = (texts: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<ReadonlyArray<string>> => {
  let count = 0
  return texts.filter(({ length }, at) => (count += length) <= Limits.embedBackfillBatch || at === 0)
}

export interface Counted {
  readonly key: NamespaceKey
  /** Memories without a vector of the configured model. */
  readonly missing: number
  readonly rows: number
  /** Models that have vectors here. */
  readonly models: ReadonlyArray<string>
}

/** Missing vectors by namespace, as last seen, with sums that cost nothing to read: `/metrics` asks for them. */
export class BacklogCounts {
  readonly #counts = new Map<NamespaceTag, Counted>()
  readonly #lacking = new Map<NamespaceTag, NamespaceKey>()
  /** Number of namespaces by model. */
  readonly #models = new Map<string, number>()
  #missing = 0
  #rows = 0

  get missing(): number {
    return this.#missing
  }

  get rows(): number {
    return this.#rows
  }

  get models(): Iterable<string> {
    return this.#models.keys()
  }

  /** Namespaces in which something is missing. */
  get lacking(): ReadonlyArray<NamespaceKey> {
    return [...this.#lacking.values()]
  }

  get all(): Iterable<Counted> {
    return this.#counts.values()
  }

  get(tag: NamespaceTag): Counted | undefined {
    return this.#counts.get(tag)
  }

  set(counted: Counted): void {
    const { key, missing } = counted
    this.delete(key.tag)
    this.#counts.set(key.tag, counted)
    if (missing > 0) this.#lacking.set(key.tag, key)
    this.#sum(counted, 1)
  }

  delete(tag: NamespaceTag): void {
    const counted = this.#counts.get(tag)
    if (counted === undefined) return
    this.#counts.delete(tag)
    this.#lacking.delete(tag)
    this.#sum(counted, -1)
  }

  #sum({ missing, models, rows }: Counted, by: 1 | -1): void {
    this.#missing += by * missing
    this.#rows += by * rows
    for (const model of models) {
      const left = (this.#models.get(model) ?? 0) + by
      if (left > 0) this.#models.set(model, left)
      else this.#models.delete(model)
    }
  }
}
