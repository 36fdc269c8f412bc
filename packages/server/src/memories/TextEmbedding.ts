/**
 * Vectors of queries and of memories to be stored. A write never waits long for a model: what has no vector in time is
 * stored, found by its words, noted here, and embedded from the backlog (`VectorBacklog`).
 *
 * During re-embedding some memories still have vectors of an older model. A query is then embedded by each
 * model in use, so that old vectors serve until the last one is replaced.
 */
import { Context, Effect, Layer, Option, Queue } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryRecord } from "@muniment/domain/Memory"
import { spentOn } from "@muniment/domain/StageTimes"
import { traced } from "@muniment/domain/traced"
import type { QueryVectors } from "@muniment/engine/namespace/NamespaceQuery"
import { isForeign } from "@muniment/language/text/Language"
import { denseTexts } from "@muniment/engine/text/MemoryText"
import { timed } from "@muniment/engine/search/MemorySearch"
import type { MemoryVector } from "@muniment/engine/store/Commit"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { modelById } from "@muniment/models/ModelCatalog"
import { Embedder } from "@muniment/models/Embedder"

/** How long a write waits for its vectors: until they are there; `Limits.vectorWaitMillis`, if it is small; not at all. */
export type VectorWait = "vectors" | "briefly" | "never"

/** One entry per record; undefined where there is no vector yet. */
type PassageVectors = ReadonlyArray<MemoryVector | undefined>

/** Memories of a namespace that were stored without a vector. */
interface MissingVectors {
  readonly key: NamespaceKey
  readonly count: number
}

export class TextEmbedding extends Context.Service<
  TextEmbedding,
  {
    readonly query: (text: string) => Effect.Effect<QueryVectors>
    /** Whether the model of a query knows its language: the vectors of others say nothing. */
    readonly understands: (text: string) => boolean
    /** Gives `store` the vectors that are there in time; what has none is noted when `store` has ended, however: the backlog must find the rows. */
    readonly storing: <A, E, R>(
      key: NamespaceKey,
      records: ReadonlyArray<MemoryRecord>,
      wait: VectorWait,
      store: (vectors: PassageVectors) => Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E, R>
    /** Sets the models other than the default that still have vectors. */
    readonly setOlderModels: (models: Iterable<string>) => void
    /** Waits until something is noted. */
    readonly untilMissing: Effect.Effect<void>
    /** Takes the notes. */
    readonly takeMissing: () => ReadonlyArray<MissingVectors>
    /** Sum of the notes. */
    readonly missingCount: () => number
  }
>()("muniment/server/TextEmbedding") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const embedder = yield* Embedder
  const model = embedder.defaultModel
  let inUse = model === undefined ? [] : [model]
  const notes = new Map<string, MissingVectors>()
  let notedCount = 0
  const noted = yield* Queue.sliding<void>(1)

  const query = traced("TextEmbedding.query")(
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

  const passages = traced("TextEmbedding.passages")(function* (
    records: ReadonlyArray<MemoryRecord>,
    wait: VectorWait
  ): Effect.fn.Return<PassageVectors> {
    const none = records.map(() => undefined)
    if (model === undefined || records.length === 0 || wait === "never") return none
    const { queuedPassages } = yield* embedder.status
    const texts = records.map((record) => denseTexts(record))
    const isSmall = queuedPassages + texts.flat().length <= Limits.vectorWaitTextsMax
    if (wait === "briefly" && !isSmall) return none
    const vectors = spentOn("embedding", embedder.embedPassages(texts.flat(), model)).pipe(
      Effect.map((values) => vectorsOf(model, texts, values)),
      Effect.orElseSucceed(() => none)
    )
    if (wait === "vectors") return yield* vectors
    return Option.getOrElse(yield* Effect.timeoutOption(vectors, Limits.vectorWaitMillis), () => none)
  })

  const note = (key: NamespaceKey, vectors: PassageVectors) => {
    const count = vectors.filter((vector) => vector === undefined).length
    if (model === undefined || count === 0) return
    notes.set(key.tag, { key, count: count + (notes.get(key.tag)?.count ?? 0) })
    notedCount += count
    Queue.offerUnsafe(noted, undefined)
  }

  return TextEmbedding.of({
    query,
    understands: (text) => isKnownTo(inUse[0], text),
    storing: Effect.fnUntraced(function* (key, records, wait, store) {
      const vectors = yield* passages(records, wait)
      return yield* Effect.ensuring(
        store(vectors),
        Effect.sync(() => note(key, vectors))
      )
    }),
    setOlderModels: (models) => {
      const older = [...new Set(models)].filter((name) => name !== model && modelById(name) !== undefined)
      inUse = model === undefined ? older : [model, ...older]
    },
    untilMissing: Queue.take(noted),
    takeMissing: () => {
      const taken = [...notes.values()]
      notes.clear()
      notedCount = 0
      return taken
    },
    missingCount: () => notedCount
  })
})

const isKnownTo = (model: string | undefined, text: string): boolean =>
  (model !== undefined && modelById(model)?.languages === "many") || !isForeign(text)

/** The vectors of records from those of their texts: a long message has several. */
export const vectorsOf = (
  model: string,
  texts: ReadonlyArray<ReadonlyArray<string>>,
  values: ReadonlyArray<Float32Array>
): ReadonlyArray<MemoryVector> => {
  let at = 0
  return texts.map(({ length }) => {
    const [first, ...passages] = values.slice(at, (at += length))
    return { model, values: first!, ...(passages.length > 0 && { passages }) }
  })
}
