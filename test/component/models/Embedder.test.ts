import { Embedder, type EmbedderOptions } from "@muniment/models/Embedder"
import { isKnownVector, knownText, modelPreference } from "@muniment/models/ModelCatalog"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { beforeEach, describe, expect } from "vitest"
import { realModel, realModelsDir, requireRealModel } from "./realModel.ts"
import { effectOf, type Steps, it } from "../../support/it.ts"

/** Each test starts a thread and loads a model, in 0.3 s alone and in seconds on a busy machine. */
// Before each and not before all: without a model every test fails, none counts as skipped.
beforeEach(requireRealModel)

const realModelId = realModel.id
const options: EmbedderOptions = { modelsDir: realModelsDir, modelId: realModelId }
const crashing: EmbedderOptions = { ...options, workerEntry: new URL("./crashingWorker.ts", import.meta.url) }

/** A service of its own for a test, so that no test sees another's queue or thread. */
const withEmbedder = (settings: EmbedderOptions, use: (embedder: Embedder["Service"]) => Steps) =>
  Embedder.use((embedder) => effectOf(use(embedder))).pipe(Effect.provide(Embedder.layer(settings)))

const embedding = (name: string, ...args: Parameters<typeof withEmbedder>): void =>
  it.effect(name, () => withEmbedder(...args))

const cosine = (left: Float32Array, right: Float32Array): number =>
  left.reduce((sum, value, index) => sum + value * right[index]!, 0)

/** Equal up to the rounding that padding costs a model which runs several texts at once. */
const expectSame = (actual: ReadonlyArray<Float32Array>, expected: ReadonlyArray<Float32Array>): void => {
  expect(actual).toHaveLength(expected.length)
  actual.forEach((vector, index) => expect(cosine(vector, expected[index]!)).toBeGreaterThan(0.999_99))
}

const lengths = [3, 40, 1, 17, 120, 5, 60, 2, 30, 9, 25, 4, 80, 11, 6, 7, 200, 1]
const passages = lengths.map((length, index) => `note ${index}: ${"some words ".repeat(length)}`)

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "muniment-models-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

describe("embedding with the real model", () => {
  embedding(
    "gives the catalogue's known vector for the bare text, of length 1",
    { ...options, catalog: [{ ...realModel, queryPrefix: "" }] },
    function* (embedder) {
      const vector = yield* embedder.embedQuery(knownText)
      expect(vector).toHaveLength(384)
      expect(cosine(vector, vector)).toBeCloseTo(1, 5)
      expect(isKnownVector(realModel, vector)).toBe(true)
      expect((yield* embedder.status).state).toBe("ready")
    }
  )

  embedding("puts the passage that answers a question first", options, function* (embedder) {
    const texts = ["The cat sleeps on the sofa", "Ann lives in Lisbon", "Bob bought a new car"]
    const vectors = yield* embedder.embedPassages(texts)
    const query = yield* embedder.embedQuery("Where does Ann live?")
    const scores = vectors.map((vector) => cosine(vector, query))
    expect(scores.indexOf(Math.max(...scores))).toBe(1)
  })

  embedding(
    "keeps the order of the texts, and a vector does not depend on the texts beside it",
    options,
    function* (embedder) {
      const together = yield* embedder.embedPassages(passages)
      const alone = yield* Effect.forEach(passages, (text) => embedder.embedPassages([text]))
      expectSame(together, alone.flat())
    }
  )

  embedding("gives each of many concurrent callers its own vectors", options, function* (embedder) {
    const alone = yield* Effect.forEach(passages, (text) => embedder.embedPassages([text]))
    const calls = passages.map((text) => embedder.embedPassages([text]))
    const together = yield* Effect.all(calls, { concurrency: "unbounded" })
    expectSame(together.flat(), alone.flat())
  })

  embedding("lets a query overtake the passages that wait", options, function* (embedder) {
    yield* embedder.embedQuery("warm")
    const many = Array.from({ length: 120 }, (_, index) => `a passage of some words, number ${index}`)
    const writing = yield* Effect.forkChild(embedder.embedPassages(many), { startImmediately: true })
    yield* embedder.embedQuery("Who asks?")
    expect((yield* embedder.status).queuedPassages).toBeGreaterThan(60)
    expect(yield* Fiber.join(writing)).toHaveLength(120)
  })

  embedding("drops the queued passages of a caller who went away", options, function* (embedder) {
    yield* embedder.embedQuery("warm")
    const writing = yield* Effect.forkChild(embedder.embedPassages(passages), { startImmediately: true })
    yield* Fiber.interrupt(writing)
    yield* embedder.embedPassages(["the next caller"])
    expect((yield* embedder.status).queuedPassages).toBe(0)
  })

  embedding("embeds the same query once, also when it is asked twice at the same time", options, function* (embedder) {
    const ask = embedder.embedQuery("What did Carol start?")
    const [first, second] = yield* Effect.all([ask, ask], { concurrency: "unbounded" })
    expect(first).toBe(second)
    expect(yield* ask).toBe(first)
  })

  embedding("embeds an empty list, an empty text and one far too long", options, function* (embedder) {
    expect(yield* embedder.embedPassages([])).toEqual([])
    const vectors = yield* embedder.embedPassages(["", "word ".repeat(100_000)])
    for (const vector of vectors) expect(cosine(vector, vector)).toBeCloseTo(1, 5)
  })
})

describe("a long backlog", () => {
  const many = Array.from({ length: 120 }, (_, at) => `note ${at} of a long import`)

  /** Lets the service's clock run while the backlog is worked at, until it has a further thread or none. */
  const untilHelpers = (embedder: Embedder["Service"], count: number) =>
    Effect.andThen(TestClock.adjust("500 millis"), Effect.andThen(settled, embedder.status)).pipe(
      Effect.repeat({ until: ({ helpers }) => helpers === count })
    )
  /** Threads answer in real time. */
  const settled = Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, 20)))

  embedding(
    "gets a further thread after two seconds, with equal vectors, and gives it up at rest",
    { ...options, threads: 2 },
    function* (embedder) {
      const alone = yield* embedder.embedPassages(many.slice(-20))
      const writing = yield* Effect.forkChild(embedder.embedPassages([...many, ...many], undefined, "backlog"), {
        startImmediately: true
      })
      expect((yield* embedder.status).helpers).toBe(0)
      yield* untilHelpers(embedder, 1)
      const vectors = yield* Fiber.join(writing)
      expect(vectors).toHaveLength(2 * many.length)
      expect(vectors.slice(0, many.length)).toEqual(vectors.slice(many.length))
      expect(vectors.slice(-20)).toEqual(alone)
      yield* untilHelpers(embedder, 0)
    }
  )

  it.effect("is worked at by the first thread alone when the further one is lost", () =>
    withEmbedder(
      { ...options, threads: 2, workerEntry: new URL("./lostHelper.ts", import.meta.url) },
      function* (embedder) {
        const writing = yield* Effect.forkChild(embedder.embedPassages(many, undefined, "backlog"), {
          startImmediately: true
        })
        yield* untilHelpers(embedder, 1)
        expect(yield* Fiber.join(writing)).toHaveLength(many.length)
        expect((yield* embedder.status).threadCrashes).toBe(0)
      }
    )
  )

  embedding("has one thread where one is configured", { ...options, threads: 1 }, function* (embedder) {
    const writing = yield* Effect.forkChild(embedder.embedPassages(many, undefined, "backlog"), {
      startImmediately: true
    })
    for (let at = 0; at < 10; at++) {
      yield* TestClock.adjust("500 millis")
      yield* settled
      expect((yield* embedder.status).helpers).toBe(0)
    }
    expect(yield* Fiber.join(writing)).toHaveLength(many.length)
  })
})

it.effect(
  "an embedding thread that crashes fails the batch under way, says so at once to who asks next, and comes back",
  () =>
    withEmbedder(crashing, function* (embedder) {
      const before = yield* embedder.embedPassages(["a text"])
      const error = yield* Effect.flip(embedder.embedPassages(["crash"]))
      expect(error._tag).toBe("EmbeddingUnavailable")
      const refused = yield* Effect.flip(embedder.embedQuery("while it is down"))
      expect(refused.reason).toContain("code 9")
      expect((yield* embedder.status).state).toBe("unavailable")
      yield* TestClock.adjust("2 seconds")
      expect(yield* embedder.embedPassages(["a text"])).toEqual(before)
      expect(yield* embedder.embedQuery("while it is down")).toHaveLength(384)
      expect((yield* embedder.status).threadCrashes).toBe(1)
    })
)

describe("a model that cannot be had", () => {
  it.effect("leaves the service up, says what to run, and is picked up when it is put in place", function* () {
    const modelsDir = yield* temporaryDirectory
    yield* withEmbedder({ modelsDir, modelId: realModelId }, function* (embedder) {
      const error = yield* Effect.flip(embedder.embedQuery("anything"))
      expect(error.reason).toContain("npm run setup")
      expect((yield* embedder.status).state).toBe("unavailable")
      cpSync(join(realModelsDir, realModelId), join(modelsDir, realModelId), { recursive: true })
      yield* TestClock.adjust("6 seconds")
      expect(yield* embedder.embedQuery("anything")).toHaveLength(384)
    })
  })

  it.effect("is refused when it does not give its known vector", () => {
    const wrong = { ...realModel, knownVector: [0.9] }
    return withEmbedder({ ...options, catalog: [wrong] }, function* (embedder) {
      const error = yield* Effect.flip(embedder.embedPassages(["anything"]))
      expect(error.reason).toContain("known text")
    })
  })

  embedding("does not stand in the way of another model", options, function* (embedder) {
    const error = yield* Effect.flip(embedder.embedQuery("anything", "no-such-model"))
    expect(error.reason).toContain("not in the catalogue")
    expect(yield* embedder.embedQuery("anything")).toHaveLength(384)
  })

  it.effect("is not chosen as the default while a less preferred one is on disk", function* () {
    const modelsDir = yield* temporaryDirectory
    const lastChoice = modelPreference.at(-1)!
    mkdirSync(join(modelsDir, lastChoice))
    yield* withEmbedder({ modelsDir }, (embedder) => Effect.sync(() => expect(embedder.defaultModel).toBe(lastChoice)))
  })

  it.effect("fails every call when embedding is switched off", () =>
    Effect.gen(function* () {
      const embedder = yield* Embedder
      expect(embedder.defaultModel).toBeUndefined()
      expect((yield* Effect.flip(embedder.embedQuery("anything"))).reason).toContain("switched off")
      expect((yield* embedder.status).state).toBe("unavailable")
    }).pipe(Effect.provide(Embedder.layerUnavailable))
  )
})

it.effect("closing the service fails what still waits instead of leaving it hanging", function* () {
  const started = yield* Deferred.make<Embedder["Service"]>()
  const living = yield* withEmbedder(options, (embedder) =>
    embedder.embedQuery("warm").pipe(Effect.andThen(Deferred.succeed(started, embedder)), Effect.andThen(Effect.never))
  ).pipe(Effect.forkChild)
  const embedder = yield* Deferred.await(started)
  const waiting = yield* Effect.forkChild(Effect.flip(embedder.embedPassages(passages)), { startImmediately: true })
  yield* Fiber.interrupt(living)
  expect((yield* Fiber.join(waiting)).reason).toMatch(/clos/)
})
