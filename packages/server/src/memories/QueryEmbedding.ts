/**
 * Vectors for queries and for memories to be stored. Embedding is never in the way: what cannot be
 * embedded now is stored and searched by its words, and embedded later (retrieval.md).
 *
 * While memories are re-embedded, some still have vectors of an older model; a query is then embedded
 * by each model in use, so that the old vectors serve until the last one is replaced.
 */
import { Context, Effect, Layer, Queue } from "effect"
import type { MemoryRecord } from "@muniment/domain/Memory"
import type { QueryVectors } from "@muniment/engine/NamespaceReader"
import { denseText } from "@muniment/engine/recall/MemoryText"
import { timed } from "@muniment/engine/SearchMetrics"
import type { MemoryVector } from "@muniment/engine/store/NamespaceStore"
import { modelById } from "@muniment/models/ModelCatalog"
import { Embedder } from "@muniment/models/Embedder"

export class QueryEmbedding extends Context.Service<
  QueryEmbedding,
  {
    readonly query: (text: string) => Effect.Effect<QueryVectors>
    /** One entry per record; undefined where nothing could be embedded. */
    readonly passages: (records: ReadonlyArray<MemoryRecord>) => Effect.Effect<ReadonlyArray<MemoryVector | undefined>>
    /** Says which models other than the default still have vectors. */
    readonly setOlderModels: (models: Iterable<string>) => void
    /** Ends when a record was let through without a vector since the last time. */
    readonly missed: Effect.Effect<void>
    /** Records let through without a vector since `forgetMissed`. */
    readonly missedCount: () => number
    readonly forgetMissed: () => void
  }
>()("muniment/server/QueryEmbedding") {
  static readonly layer = Layer.effect(
    this,
    Effect.gen(function* () {
      const embedder = yield* Embedder
      const model = embedder.defaultModel
      let inUse = model === undefined ? [] : [model]
      let missedCount = 0
      const missed = yield* Queue.sliding<void>(1)

      const query = Effect.fn("QueryEmbedding.query")(
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

      const passages = Effect.fn("QueryEmbedding.passages")(function* (records: ReadonlyArray<MemoryRecord>) {
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
