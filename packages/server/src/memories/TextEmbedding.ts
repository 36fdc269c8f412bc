/**
 * Vectors of queries and of memories to be stored. A write never waits for a model: what cannot be embedded now
 * is stored, found by its words, and embedded later.
 *
 * During re-embedding some memories still have vectors of an older model. A query is then embedded by each
 * model in use, so that old vectors serve until the last one is replaced.
 */
import { Context, Effect, Layer, Queue } from "effect"
import type { MemoryRecord } from "@muniment/domain/Memory"
import type { QueryVectors } from "@muniment/engine/namespace/NamespaceReader"
import { denseText } from "@muniment/engine/text/MemoryText"
import { timed } from "@muniment/engine/search/SearchMetrics"
import type { MemoryVector } from "@muniment/engine/store/Commit"
import { modelById } from "@muniment/models/ModelCatalog"
import { Embedder } from "@muniment/models/Embedder"

export class TextEmbedding extends Context.Service<
  TextEmbedding,
  {
    readonly query: (text: string) => Effect.Effect<QueryVectors>
    /** One entry per record; undefined where nothing could be embedded. */
    readonly passages: (records: ReadonlyArray<MemoryRecord>) => Effect.Effect<ReadonlyArray<MemoryVector | undefined>>
    /** Sets the models other than the default that still have vectors. */
    readonly setOlderModels: (models: Iterable<string>) => void
    /** Waits until a record was passed on without a vector. */
    readonly missed: Effect.Effect<void>
    /** Records passed on without a vector since `forgetMissed`. */
    readonly missedCount: () => number
    readonly forgetMissed: () => void
  }
>()("muniment/server/TextEmbedding") {
  static readonly layer = Layer.effect(
    this,
    Effect.gen(function* () {
      const embedder = yield* Embedder
      const model = embedder.defaultModel
      let inUse = model === undefined ? [] : [model]
      let missedCount = 0
      const missed = yield* Queue.sliding<void>(1)

      const query = Effect.fn("TextEmbedding.query")(
        function* (text: string) {
          const vectors = new Map<string, Float32Array>()
          for (const name of inUse) {
            const vector = yield* Effect.result(embedder.embedQuery(text, name))
            if (vector._tag === "Success") vectors.set(name, vector.success)
          }
          return vectors
        },
        (embedding) => timed("embedding", embedding)
      )

      const passages = Effect.fn("TextEmbedding.passages")(function* (records: ReadonlyArray<MemoryRecord>) {
        if (model === undefined || records.length === 0) return records.map(() => undefined)
        const vectors = yield* Effect.result(embedder.embedPassages(records.map(denseText), model))
        if (vectors._tag === "Failure") {
          missedCount += records.length
          yield* Queue.offer(missed, undefined)
          return records.map(() => undefined)
        }
        return vectors.success.map((values) => ({ model, values }))
      })

      const setOlderModels = (models: Iterable<string>) => {
        const older = [...new Set(models)].filter((name) => name !== model && modelById(name) !== undefined)
        inUse = model === undefined ? older : [model, ...older]
      }

      return {
        query,
        passages,
        setOlderModels,
        missed: Queue.take(missed),
        missedCount: () => missedCount,
        forgetMissed: () => {
          missedCount = 0
        }
      }
    })
  )
}
