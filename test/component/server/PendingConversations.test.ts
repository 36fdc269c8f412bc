/**
 * How many conversations wait for their reading, as health and metrics say: as many as the files have, whoever settled
 * them. Over real files and the test's clock; the reading alone is the test's.
 */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { ConversationExtraction } from "@muniment/server/extraction/ConversationExtraction"
import { makePendingReadings, makeRequestReadings, readingKey } from "@muniment/server/extraction/PendingReadings"
import { ReadingFailed, type ThreadReading } from "@muniment/server/extraction/ThreadReading"
import { PendingConversations } from "@muniment/server/jobs/PendingConversations"
import { KnownKinds } from "@muniment/server/memories/KnownKinds"
import { engineOf, extracting, messageRecord, turnOf, untilLater } from "../../support/EngineFixtures.ts"
import { controlLayerOf } from "../control/ControlLayers.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"

const storing = (key: NamespaceKey, number: number, id = `reading ${number}`) =>
  NamespaceHost.use((host) =>
    host.ask(
      key,
      extracting([], [messageRecord(number, `text ${number}`, { agentId: key.agentId, threadId: `t${number}` })], {
        scope: { threadId: `t${number}` },
        isForced: true,
        awaits: {
          id,
          messages: [{ key: turnOf(number).key, readKey: turnOf(number).key }],
          kinds: undefined,
          conversationDate: "2026-01-02",
          expiresAt: undefined
        }
      })
    )
  )

/** As a reading commits. */
const ending = (key: NamespaceKey, number: number) =>
  NamespaceHost.use((host) =>
    host.ask(key, {
      _tag: "StoreMemories",
      memories: [],
      idempotency: undefined,
      conversation: {
        scope: { threadId: `t${number}` },
        processed: [],
        isForced: true,
        turns: [],
        summary: undefined,
        reads: `reading ${number}`
      }
    })
  )

/** A small part of the pause before a reading is tried again. */
const stepMillis = 100

/** Of every file, by its own count. */
const inFiles = Effect.gen(function* () {
  const host = yield* NamespaceHost
  const directory = yield* NamespaceDirectory
  const counts = yield* Effect.forEach(directory.all(), (key) => host.answer(key, { _tag: "Pending" }))
  return counts.reduce((sum, { count }) => sum + count, 0)
})

/** Reads everything but what stands in `failing`. */
const world = (failing: ReadonlySet<string>) => {
  const tried: Array<string | undefined> = []
  const read: ThreadReading = ({ messages }) =>
    Effect.suspend(() => {
      tried.push(messages[0]?.content)
      return messages.some(({ content }) => failing.has(content))
        ? Effect.fail(new ReadingFailed({ refusal: Effect.never, isBusy: false }))
        : Effect.succeed(undefined)
    })
  const control = controlLayerOf(temporaryDirectory())
  const base = Layer.mergeAll(engineOf(temporaryDirectory()), KnownKinds.layer).pipe(Layer.provideMerge(control))
  return Effect.gen(function* () {
    const readings = yield* makeRequestReadings
    const { resume } = yield* makePendingReadings(read, readings)
    const extraction = Layer.succeed(ConversationExtraction, {
      remember: () => Effect.die("not asked"),
      tryReading: () => Effect.die("not asked"),
      resume,
      reread: () => Effect.die("not asked"),
      untilPending: readings.untilLeft
    })
    const jobs = yield* Layer.build(PendingConversations.layer.pipe(Layer.provide(extraction)))
    const { total } = yield* Effect.provide(PendingConversations, jobs)
    yield* TestClock.adjust("6 seconds")
    return { readings, total, tried }
  }).pipe((made) => ({ made, base }))
}

describe("the count of conversations that wait", () => {
  it.effect("has none that a request read while the background passed it by", () => {
    const { base, made } = world(new Set())
    return Effect.gen(function* () {
      const { readings, total } = yield* made
      const directory = yield* NamespaceDirectory
      const { id: account } = yield* Accounts.use((accounts) => accounts.create("waiting", { plan: "free" }))
      const key = yield* directory.ensure(account, "one")
      yield* storing(key, 1)
      const isRead = yield* Deferred.make<void>()
      const host = yield* NamespaceHost
      const commit = Effect.provideService(ending(key, 1), NamespaceHost, host)
      const reading = Effect.andThen(Deferred.await(isRead), commit)
      const request = yield* Effect.forkChild(readings.run(readingKey(key, "reading 1"), reading, Effect.never), {
        startImmediately: true
      })
      yield* storing(key, 2)
      yield* readings.leave(key, readingKey(key, "reading 2"), true)
      yield* TestClock.adjust("1 minute")
      yield* untilLater(inFiles, (count) => count === 1, stepMillis)
      expect((yield* total).count).toBe(1)
      yield* Deferred.succeed(isRead, undefined)
      yield* untilLater(inFiles, (count) => count === 0, stepMillis)
      expect(yield* total).toEqual({ count: 0, ageMillis: 0 })
      yield* Fiber.join(request)
    }).pipe(Effect.scoped, Effect.provide(base))
  })

  it.effect("has none whose thread was erased while its reading waited to be tried again", () => {
    const numbers = Array.from({ length: 40 }, (_, at) => at + 1)
    const { base, made } = world(new Set(numbers.map((number) => `text ${number}`)))
    return Effect.gen(function* () {
      const { readings, total } = yield* made
      const directory = yield* NamespaceDirectory
      const host = yield* NamespaceHost
      const { id: account } = yield* Accounts.use((accounts) => accounts.create("waiting", { plan: "free" }))
      const keyOf = (number: number) => directory.ensure(account, `agent ${number % 3}`)
      yield* Effect.forEach(
        numbers,
        Effect.fnUntraced(function* (number) {
          const key = yield* keyOf(number)
          yield* storing(key, number)
          yield* readings.leave(key, readingKey(key, `reading ${number}`), true)
        }),
        { concurrency: "unbounded" }
      )
      yield* TestClock.adjust("1 second")
      expect((yield* total).count).toBe(yield* inFiles)
      yield* Effect.forEach(
        numbers,
        Effect.fnUntraced(function* (number) {
          const key = yield* keyOf(number)
          if (number % 4 !== 0) yield* host.ask(key, { _tag: "RemoveMatching", filter: { threadId: `t${number}` } })
        }),
        { concurrency: "unbounded" }
      )
      const left = yield* inFiles
      expect(left).toBe(10)
      expect((yield* total).count).toBe(left)
    }).pipe(Effect.scoped, Effect.provide(base))
  })
})

it.effect(
  "messages that are read again wait together where one fails, which comes after the others, and behind what nobody has read",
  () => {
    const failing = new Set(["text 1", "text 2"])
    const { base, made } = world(failing)
    return Effect.gen(function* () {
      const { readings, tried } = yield* made
      const directory = yield* NamespaceDirectory
      const { id: account } = yield* Accounts.use((accounts) => accounts.create("again", { plan: "free" }))
      const key = yield* directory.ensure(account, "one")
      for (const number of [1, 2, 3]) yield* storing(key, number, `again ${number}`)
      yield* storing(key, 4)
      yield* readings.note(key)
      const after = Effect.fnUntraced(function* (millis: number, expected: ReadonlyArray<number>) {
        yield* TestClock.adjust(millis)
        yield* untilLater(
          Effect.sync(() => tried.length),
          (count) => count >= expected.length,
          stepMillis
        )
        expect(tried).toEqual(expected.map((number) => `text ${number}`))
      })
      yield* after(100, [4, 1])
      yield* after(5_000, [4, 1, 2])
      yield* after(5_000, [4, 1, 2])
      yield* after(5_000, [4, 1, 2, 3])
      failing.clear()
      yield* after(5_000, [4, 1, 2, 3, 1, 2])
      yield* untilLater(inFiles, (count) => count === 0, stepMillis)
    }).pipe(Effect.scoped, Effect.provide(base))
  }
)
