/**
 * Gives every memory a vector of the configured model: those stored while no model was there, and
 * those whose vector another model made. Online (old vectors serve until theirs is replaced),
 * resumable (what is left is read from the files), and never in the way of a write.
 */
import { Context, Effect, Layer, Queue, Ref } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { NamespaceHost } from "@muniment/engine/NamespaceHost"
import { denseText } from "@muniment/engine/recall/MemoryText"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { NamespaceDirectory } from "@muniment/ledger/NamespaceDirectory"
import { Embedder } from "@muniment/models/Embedder"
import { QueryEmbedding } from "../memories/QueryEmbedding.ts"

export interface ReembedState {
  readonly model: string | null
  /** Memories that wait for a vector of the model. */
  readonly pending: number
  readonly total: number
}

/** A round is tried again after this long while something is left, for instance with no model. */
const retryMillis = 30_000

export class Reembed extends Context.Service<
  Reembed,
  {
    readonly progress: Effect.Effect<ReembedState>
    /** Counts what waits, wakes the background fiber and answers at once. */
    readonly start: Effect.Effect<ReembedState>
  }
>()("muniment/server/Reembed") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const host = yield* NamespaceHost
  const directory = yield* NamespaceDirectory
  const embedder = yield* Embedder
  const queries = yield* QueryEmbedding
  const model = embedder.defaultModel
  const counted = yield* Ref.make({ pending: 0, total: 0 })
  const wake = yield* Queue.sliding<void>(1)

  /** Looks into every namespace: how much waits, and which older models still have vectors. */
  const survey = Effect.gen(function* () {
    const older = new Set<string>()
    let pending = 0
    let total = 0
    for (const key of directory.all()) {
      const seen = yield* Effect.result(
        Effect.gen(function* () {
          const { models, rows } = yield* host.read(key, (reader, now) => ({
            models: reader.models,
            rows: reader.counts(now).rows
          }))
          const missing =
            model === undefined ? 0 : yield* host.readRecords(key, (reader) => reader.countWithoutVector(model))
          return { models, rows, missing }
        })
      )
      if (seen._tag === "Failure") continue
      for (const name of seen.success.models) older.add(name)
      pending += seen.success.missing
      total += seen.success.rows
      yield* Effect.yieldNow
    }
    queries.setOlderModels(older)
    yield* Ref.set(counted, { pending, total })
    return pending
  })

  const embedNamespace = Effect.fn("Reembed.namespace")(function* (key: NamespaceKey, target: string) {
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

  const round = Effect.gen(function* () {
    const pending = yield* survey
    if (model === undefined || pending === 0) return
    const { state } = yield* embedder.status
    if (state !== "ready") return
    yield* Effect.logInfo("embedding what waits for a vector", { model, pending })
    for (const key of directory.all()) {
      yield* Effect.catch(embedNamespace(key, model), (error) =>
        Effect.logWarning("a namespace could not be embedded; it is tried again", {
          namespace: key.tag,
          error: error._tag
        })
      )
    }
    yield* survey
  })

  const waiting = Effect.map(Ref.get(counted), ({ pending }) => pending > 0)
  yield* round.pipe(
    Effect.andThen(waiting),
    Effect.flatMap((isWaiting) => {
      const woken = Queue.take(wake)
      return isWaiting ? Effect.timeoutOrElse(woken, { duration: retryMillis, orElse: () => Effect.void }) : woken
    }),
    Effect.forever,
    Effect.forkScoped
  )

  const progress = Effect.map(Ref.get(counted), (count) => ({ model: model ?? null, ...count }))
  const start = Effect.andThen(survey, Effect.andThen(Queue.offer(wake, undefined), progress))
  return { progress, start }
})
