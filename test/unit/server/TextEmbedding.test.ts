/** How long a write waits for its vectors, and what is noted for the backlog. */
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { Embedder, type EmbedderStatus } from "@muniment/models/Embedder"
import { TextEmbedding, type VectorWait } from "@muniment/server/memories/TextEmbedding"
import { memoryRecord, namespaceKey } from "../../support/EngineFixtures.ts"
import { it } from "../../support/it.ts"

const key = namespaceKey()
const vector = Float32Array.of(1)
const recordsOf = (count: number) => Array.from({ length: count }, (_, at) => memoryRecord(at, `text ${at}`))

/** Embeds when `gate` opens. */
const embeddingBehind = (gate: Deferred.Deferred<void>, queuedPassages = 0) =>
  TextEmbedding.layer.pipe(
    Layer.provide(
      Layer.succeed(Embedder, {
        defaultModel: "m",
        embedQuery: () => Effect.succeed(vector),
        embedPassages: (texts: ReadonlyArray<string>) =>
          Effect.as(
            Deferred.await(gate),
            texts.map(() => vector)
          ),
        status: Effect.succeed<EmbedderStatus>({
          state: "ready",
          reason: undefined,
          defaultModel: "m",
          loadedModels: ["m"],
          queuedQueries: 0,
          queuedPassages,
          threadCrashes: 0,
          helpers: 0
        })
      })
    )
  )

/** How many vectors a write of `count` memories gets. */
const vectorsOf = (count: number, wait: VectorWait) =>
  TextEmbedding.use((embedding) =>
    embedding.storing(key, recordsOf(count), wait, (vectors) =>
      Effect.succeed(vectors.filter((each) => each !== undefined).length)
    )
  )
const missing = TextEmbedding.use((embedding) => Effect.sync(() => embedding.missingCount()))

describe("a write", () => {
  it.effect("gets vectors that are there at once, and nothing is noted", function* () {
    const gate = yield* Deferred.make<void>()
    yield* Deferred.succeed(gate, undefined)
    yield* Effect.gen(function* () {
      expect(yield* vectorsOf(Limits.vectorWaitTextsMax, "briefly")).toBe(Limits.vectorWaitTextsMax)
      expect(yield* missing).toBe(0)
    }).pipe(Effect.provide(embeddingBehind(gate)))
  })

  it.effect("waits for the bound, then is stored without vectors, which are noted", function* () {
    const gate = yield* Deferred.make<void>()
    yield* Effect.gen(function* () {
      const writing = yield* Effect.forkChild(vectorsOf(2, "briefly"), { startImmediately: true })
      yield* TestClock.adjust(Limits.vectorWaitMillis - 1)
      expect(writing.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      expect(yield* Fiber.join(writing)).toBe(0)
      yield* TextEmbedding.use(({ untilMissing }) => untilMissing)
      const notes = yield* TextEmbedding.use(({ takeMissing }) => Effect.sync(takeMissing))
      expect(notes).toEqual([{ key, count: 2 }])
      expect(yield* missing).toBe(0)
    }).pipe(Effect.provide(embeddingBehind(gate)))
  })

  it.effect("does not wait in vain: with more texts than fit, or behind those of others", function* () {
    const gate = yield* Deferred.make<void>()
    const large = vectorsOf(Limits.vectorWaitTextsMax + 1, "briefly")
    expect(yield* Effect.provide(large, embeddingBehind(gate))).toBe(0)
    const behind = vectorsOf(1, "briefly")
    expect(yield* Effect.provide(behind, embeddingBehind(gate, Limits.vectorWaitTextsMax))).toBe(0)
  })

  it.effect("that asks to waits until all vectors are there", function* () {
    const gate = yield* Deferred.make<void>()
    const count = Limits.vectorWaitTextsMax + 1
    yield* Effect.gen(function* () {
      const writing = yield* Effect.forkChild(vectorsOf(count, "vectors"), { startImmediately: true })
      yield* TestClock.adjust("1 hour")
      expect(writing.pollUnsafe()).toBeUndefined()
      yield* Deferred.succeed(gate, undefined)
      expect(yield* Fiber.join(writing)).toBe(count)
    }).pipe(Effect.provide(embeddingBehind(gate)))
  })

  it.effect("is noted also if it fails: its outcome may be unknown", function* () {
    const gate = yield* Deferred.make<void>()
    yield* Effect.gen(function* () {
      const { storing } = yield* TextEmbedding
      const failing = storing(key, recordsOf(Limits.vectorWaitTextsMax + 1), "briefly", () => Effect.fail("lost"))
      expect(yield* Effect.flip(failing)).toBe("lost")
      expect(yield* missing).toBe(Limits.vectorWaitTextsMax + 1)
    }).pipe(Effect.provide(embeddingBehind(gate)))
  })
})
