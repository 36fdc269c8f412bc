/** What a reading is shown as known: its queries are embedded together. */
import { Effect, Layer } from "effect"
import { expect, it } from "@effect/vitest"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { makeKnownMemories } from "@muniment/server/extraction/KnownMemories"
import { TextEmbedding } from "@muniment/server/memories/TextEmbedding"
import { namespaceKey } from "../../support/EngineFixtures.ts"

it.effect("all texts wait for their vectors at once", () => {
  let [waiting, most] = [0, 0]
  const embedding = Layer.mock(TextEmbedding, {
    understands: () => true,
    setOlderModels: () => undefined,
    takeMissing: () => [],
    missingCount: () => 0,
    query: () =>
      Effect.gen(function* () {
        most = Math.max(most, ++waiting)
        yield* Effect.yieldNow
        waiting--
        return new Map()
      })
  })
  const search = Layer.mock(MemorySearch, {
    search: () => Effect.succeed({ hits: [], plans: [] })
  })
  const texts = Array.from({ length: 17 }, (_, at) => `text ${at}`)
  const scope = { subjectId: "s", threadId: undefined, expiresAt: undefined, saidMillis: undefined }
  return Effect.gen(function* () {
    const { nearest } = yield* makeKnownMemories
    expect(yield* nearest(namespaceKey(), scope, texts)).toEqual([])
    expect(most).toBe(texts.length)
  }).pipe(Effect.provide(Layer.mergeAll(embedding, search, Layer.mock(NamespaceHost, {}))))
})
