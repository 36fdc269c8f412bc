/** What a reading is shown as known: its queries are embedded together, and a file that cannot be read is told. */
import { Effect, Layer, Logger } from "effect"
import { expect, it } from "@effect/vitest"
import { Unavailable } from "@muniment/domain/Errors"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { makeKnownMemories } from "@muniment/server/extraction/KnownMemories"
import { TextEmbedding } from "@muniment/server/memories/TextEmbedding"
import { namespaceKey } from "../../support/EngineFixtures.ts"

const embedding = (query: TextEmbedding["Service"]["query"]) =>
  Layer.mock(TextEmbedding, {
    understands: () => true,
    setOlderModels: () => undefined,
    takeMissing: () => [],
    missingCount: () => 0,
    query
  })
const host = Layer.mock(NamespaceHost, {})
const texts = Array.from({ length: 17 }, (_, at) => `text ${at}`)
const scope = { subjectId: "s", threadId: undefined, expiresAt: undefined, saidMillis: undefined }
const nearest = Effect.flatMap(makeKnownMemories, (known) => known.nearest(namespaceKey(), scope, texts))

it.effect("all texts wait for their vectors at once", () => {
  let [waiting, most] = [0, 0]
  const counted = embedding(() =>
    Effect.gen(function* () {
      most = Math.max(most, ++waiting)
      yield* Effect.yieldNow
      waiting--
      return new Map()
    })
  )
  const search = Layer.mock(MemorySearch, { search: () => Effect.succeed({ hits: [], plans: [] }) })
  return Effect.gen(function* () {
    expect(yield* nearest).toEqual([])
    expect(most).toBe(texts.length)
  }).pipe(Effect.provide(Layer.mergeAll(counted, search, host)))
})

it.effect("where it cannot be read nothing is shown, and the log has one line", () => {
  const told: Array<unknown> = []
  const logger = Logger.make(({ message }) => void told.push(message))
  const busy = new Unavailable({ code: "namespace_unavailable", error: "set aside" })
  const search = Layer.mock(MemorySearch, { search: () => Effect.fail(busy) })
  const services = Layer.mergeAll(
    embedding(() => Effect.succeed(new Map())),
    search,
    host,
    Logger.layer([logger])
  )
  return Effect.gen(function* () {
    expect(yield* nearest).toEqual([])
    expect(told).toEqual([
      [expect.stringContaining("without what is known"), { reason: "Unavailable namespace_unavailable" }]
    ])
  }).pipe(Effect.provide(services))
})
