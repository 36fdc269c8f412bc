/**
 * The backlog of vectors: memories stored before their vector was there, or with one of another model. Each gets its
 * vector in the background, after queries and after the writes that wait for theirs. Online: vectors of an older model
 * serve until they are replaced. Durable without a list of its own: what is missing is read from the files, so a kill
 * loses nothing. Namespaces take turns, one batch each, so a large import delays no other agent.
 */
import { Context, Effect, Layer, Queue, Schedule } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { denseTexts } from "@muniment/engine/text/MemoryText"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { Embedder } from "@muniment/models/Embedder"
import { TextEmbedding, vectorsOf } from "../memories/TextEmbedding.ts"
import { BacklogCounts } from "./BacklogCounts.ts"

export interface BacklogState {
  readonly model: string | null
  /** Memories without a vector of the model. */
  readonly pending: number
  readonly total: number
}

/** Delay after which namespaces that failed are tried again. */
const retryMillis = 30_000
/** Interval of asking whether the model is ready. */
const readyPollMillis = 1_000

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
    due: new Map()
  }
  const wake = yield* Queue.sliding<void>(1)
  const progress = Effect.sync(() => progressOf(work))
  yield* inBackground(work, wake).pipe(Effect.forkScoped)
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

/** Counts once, then embeds whatever is due; never ends. */
const inBackground = (work: Work, wake: Queue.Dequeue<void>) => {
  const { counts, due, embedder, embedding, model } = work
  // Without a model every write would be a reason to look.
  const untilReady = embedder.status.pipe(
    Effect.repeat({ until: ({ state }) => state === "ready", schedule: Schedule.spaced(readyPollMillis) })
  )
  const turns = (target: string) =>
    Effect.whileLoop({
      while: () => due.size > 0,
      body: () =>
        Effect.andThen(
          takeTurn(work, target),
          Effect.sync(() => takeNotes(work))
        ),
      step: () => undefined
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
  const forgetErased = Effect.sync(() => {
    for (const { key } of counts.all) if (isErased(work, key)) counts.delete(key.tag)
  })
  const rounds = Effect.forever(Effect.andThen(untilDue, round))
  return countAll(work).pipe(
    Effect.andThen(round),
    Effect.andThen(Effect.raceFirst(rounds, Effect.forever(Effect.delay(forgetErased, retryMillis))))
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

const countAll = (work: Work) =>
  Effect.forEach(work.directory.all(), (key) => Effect.andThen(Effect.ignore(look(work, key)), Effect.yieldNow), {
    discard: true
  })

/** Counts what is missing, and which models still have vectors. */
const look = Effect.fnUntraced(function* ({ counts, embedding, host, model }: Work, key: NamespaceKey) {
  const { models, rows } = yield* host.answer(key, { _tag: "Counts" })
  const missing = model === undefined ? 0 : yield* host.answer(key, { _tag: "CountWithoutVector", model })
  counts.set({ key, models, rows, missing })
  embedding.setOlderModels(counts.models)
})

/** Embeds one batch of the first namespace that is due, which then goes to the end, or is done. */
const takeTurn = Effect.fnUntraced(function* (work: Work, target: string) {
  const [turn] = work.due.values()
  if (turn === undefined) return
  const { tag } = turn.key
  work.due.delete(tag)
  const afterSlot = yield* embedBatch(work, turn, target).pipe(
    Effect.catch((error) =>
      Effect.logWarning("embedding a namespace failed; it will be retried", { namespace: tag, error: error._tag })
    )
  )
  if (afterSlot !== undefined) work.due.set(tag, { ...turn, afterSlot })
  else yield* Effect.ignore(look(work, turn.key))
})

/** The last slot of the batch; undefined when nothing is missing after `afterSlot`. */
const embedBatch = Effect.fn("VectorBacklog.batch")(function* (
  { counts, embedder, host }: Work,
  { afterSlot, key }: Turn,
  target: string
) {
  const found = yield* host.answer(key, {
    _tag: "WithoutVector",
    model: target,
    afterSlot,
    limit: Limits.embedBackfillBatch
  })
  if (found.length === 0) return undefined
  const texts = firstTexts(found.map(({ passages, record }) => denseTexts(record, passages)))
  const vectors = vectorsOf(target, texts, yield* embedder.embedPassages(texts.flat(), target, "backlog"))
  const stored = yield* host.ask(key, {
    _tag: "StoreVectors",
    vectors: found.slice(0, texts.length).map(({ record }, at) => ({
      id: record.id,
      contentHash: record.contentHash,
      vector: vectors[at]!
    }))
  })
  const counted = counts.get(key.tag)
  if (counted !== undefined) counts.set({ ...counted, missing: Math.max(0, counted.missing - stored) })
  return found[texts.length - 1]!.slot
})

/** The texts of the first memories, as many as make one batch: a long message has dozens. */
const firstTexts = (texts: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<ReadonlyArray<string>> => {
  let count = 0
  return texts.filter(({ length }, at) => (count += length) <= Limits.embedBackfillBatch || at === 0)
}
