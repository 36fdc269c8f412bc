/**
 * Gives every memory a vector of the configured model: those stored while the model was unavailable, and those
 * with a vector of another model. Online: old vectors serve until they are replaced. Resumable: what is
 * missing is read from the files. Writes never wait for it.
 */
import { Context, Effect, Layer, Queue, Ref, Schedule } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { denseText } from "@muniment/engine/text/MemoryText"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { Embedder } from "@muniment/models/Embedder"
import { TextEmbedding } from "../memories/TextEmbedding.ts"

export interface ReembedState {
  readonly model: string | null
  /** Memories without a vector of the model. */
  readonly pending: number
  readonly total: number
}

/** Delay of the next round while vectors are missing, for instance in a file that failed. */
const retryMillis = 30_000
/** Interval of asking whether the model is ready. */
const readyPollMillis = 1_000

export class Reembed extends Context.Service<
  Reembed,
  {
    readonly progress: Effect.Effect<ReembedState>
    /** Counts missing vectors, wakes the background fiber, and answers at once. */
    readonly start: Effect.Effect<ReembedState>
  }
>()("muniment/server/Reembed") {
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
    counted: yield* Ref.make({ pending: 0, total: 0 })
  }
  const wake = yield* Queue.sliding<void>(1)
  const progress = Effect.suspend(() => progressOf(work))
  yield* inBackground(work, wake).pipe(Effect.forkScoped)
  const start = Effect.andThen(count(work), Effect.andThen(Queue.offer(wake, undefined), progress))
  return { progress, start }
})

interface Work {
  readonly host: NamespaceHost["Service"]
  readonly directory: NamespaceDirectory["Service"]
  readonly embedder: Embedder["Service"]
  readonly embedding: TextEmbedding["Service"]
  readonly model: string | undefined
  /** Of the last pass. */
  readonly counted: Ref.Ref<{ readonly pending: number; readonly total: number }>
}

const progressOf = ({ counted, embedding, model }: Work) =>
  Effect.map(Ref.get(counted), ({ pending, total }) => ({
    model: model ?? null,
    pending: pending + embedding.missedCount(),
    total
  }))

/** Counts once, then runs a pass whenever there is a reason; never ends. */
const inBackground = (work: Work, wake: Queue.Dequeue<void>) => {
  const { counted, embedder, embedding, model } = work
  // Files are read only once there is a model: without one every write is a reason to look.
  const untilReady = embedder.status.pipe(
    Effect.repeat({ until: ({ state }) => state === "ready", schedule: Schedule.spaced(readyPollMillis) })
  )
  const round = model === undefined ? count(work) : Effect.andThen(untilReady, pass(work, model))
  const untilDue = Effect.flatMap(Ref.get(counted), ({ pending }) =>
    Effect.raceAllFirst([
      Queue.take(wake),
      embedding.missed,
      ...(pending > 0 && model !== undefined ? [Effect.sleep(retryMillis)] : [])
    ])
  )
  return count(work).pipe(
    Effect.andThen(progressOf(work)),
    Effect.flatMap(({ pending }) => (pending > 0 ? round : Effect.void)),
    Effect.andThen(Effect.forever(Effect.andThen(untilDue, round)))
  )
}

const count = (work: Work) => pass(work, undefined)

/** Reads every namespace: missing vectors, and older models that still have some. Embeds for `target` first. */
const pass = Effect.fnUntraced(function* (work: Work, target: string | undefined) {
  const { counted, directory, embedding } = work
  const older = new Set<string>()
  let pending = 0
  let total = 0
  embedding.forgetMissed()
  for (const key of directory.all()) {
    if (target !== undefined) yield* tryToEmbed(work, key, target)
    const seen = yield* Effect.result(look(work, key))
    if (seen._tag === "Failure") continue
    for (const name of seen.success.models) older.add(name)
    pending += seen.success.missing
    total += seen.success.rows
    yield* Effect.yieldNow
  }
  embedding.setOlderModels(older)
  yield* Ref.set(counted, { pending, total })
})

const look = Effect.fnUntraced(function* ({ host, model }: Work, key: NamespaceKey) {
  const { models, rows } = yield* host.read(key, (reader, now) => ({
    models: reader.models,
    rows: reader.counts(now).rows
  }))
  const missing = model === undefined ? 0 : yield* host.readRecords(key, (reader) => reader.countWithoutVector(model))
  return { models, rows, missing }
})

const tryToEmbed = (work: Work, key: NamespaceKey, target: string) =>
  Effect.catch(embedNamespace(work, key, target), (error) =>
    Effect.logWarning("embedding a namespace failed; it will be retried", { namespace: key.tag, error: error._tag })
  )

const embedNamespace = Effect.fn("Reembed.namespace")(function* (
  { counted, embedder, host }: Work,
  key: NamespaceKey,
  target: string
) {
  // Counting is cheap; finding the slots reads every row.
  if ((yield* host.readRecords(key, (reader) => reader.countWithoutVector(target))) === 0) return
  for (let afterSlot = -1; ;) {
    const found = yield* host.readRecords(key, (reader) =>
      reader.withoutVector(target, afterSlot, Limits.embedBackfillBatch)
    )
    if (found.length === 0) return
    const values = yield* embedder.embedPassages(
      found.map(({ record }) => denseText(record)),
      target
    )
    const stored = yield* host.ask(key, {
      _tag: "StoreVectors",
      vectors: found.map(({ record }, at) => ({
        id: record.id,
        contentHash: record.contentHash,
        vector: { model: target, values: values[at]! }
      }))
    })
    yield* Ref.update(counted, ({ pending, total }) => ({ pending: Math.max(0, pending - stored), total }))
    afterSlot = found[found.length - 1]!.slot
  }
})
