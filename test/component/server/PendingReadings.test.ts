/**
 * When readings that failed are tried again, by the test's clock: after a time that doubles up to a day, or up to a
 * quarter of an hour where the failure cost nothing, each conversation by itself, at once in a new process. Over a real file; the reading alone is the test's.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { ExtractionProblem } from "@muniment/domain/Memory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { makePendingReadings, makeRequestReadings } from "@muniment/server/extraction/PendingReadings"
import { ReadingFailed, type ThreadReading } from "@muniment/server/extraction/ThreadReading"
import { KnownKinds } from "@muniment/server/memories/KnownKinds"
import { engineOf, extracting, messageRecord, namespaceKey, turnOf } from "../../support/EngineFixtures.ts"
import { controlLayerOf } from "../control/ControlLayers.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"

const key = namespaceKey()
/** Where the test's clock begins: the engine sleeps by it, so that a jump of years would take long. */
const start = 0
const day = 86_400_000
const quarter = 900_000

/** Stores message `number` of a thread of its own and awaits its reading. */
const storing = (number: number) =>
  NamespaceHost.use((host) =>
    host.ask(
      key,
      extracting([], [messageRecord(number, `text ${number}`, { threadId: `t${number}` })], {
        scope: { threadId: `t${number}` },
        isForced: true,
        awaits: {
          id: `reading ${number}`,
          messages: [{ key: turnOf(number).key, readKey: turnOf(number).key }],
          kinds: undefined,
          conversationDate: "2026-01-02",
          expiresAt: undefined
        }
      })
    )
  )

const failureOf = (code?: ExtractionProblem["code"]) =>
  new ReadingFailed({
    refusal: Effect.never,
    isBusy: false,
    ...(code !== undefined && { problem: { code, message: "as the test says" } })
  })

/** A reader that fails for the messages in `failing`, and the texts that it was given. */
const reader = (code?: ExtractionProblem["code"]) => {
  const failing = new Set<string>()
  const given: Array<string> = []
  const read: ThreadReading = ({ messages }) =>
    Effect.suspend(() => {
      const [{ content } = { content: "" }] = messages
      given.push(content)
      return failing.has(content) ? Effect.fail(failureOf(code)) : Effect.succeed(undefined)
    })
  return { failing, given, read }
}

const process = (read: ThreadReading) => Effect.map(readings(read), ({ resume }) => resume(key))

const readings = (read: ThreadReading) =>
  Effect.flatMap(makeRequestReadings, (requests) => makePendingReadings(read, requests))

const world = () => {
  const directory = temporaryDirectory()
  return Effect.provide(
    Layer.mergeAll(engineOf(directory), KnownKinds.layer.pipe(Layer.provide(controlLayerOf(temporaryDirectory()))))
  )
}

describe("a reading that fails", () => {
  it.effect("is tried again after 5 s, and each time after twice as long, up to a day", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { failing, given, read } = reader()
        const resume = yield* process(read)
        yield* storing(1)
        failing.add("text 1")
        const waits: Array<number> = []
        let now = start
        for (let round = 0; round < 18; round++) {
          const { count, nextMillis } = yield* resume
          expect(count).toBe(1)
          waits.push(nextMillis! - now)
          // Before its time it is not tried, whoever looks.
          yield* TestClock.setTime(nextMillis! - 1)
          expect((yield* resume).nextMillis).toBe(nextMillis)
          expect(given).toHaveLength(round + 1)
          now = nextMillis!
          yield* TestClock.setTime(now)
        }
        expect(waits.slice(0, 4)).toEqual([5_000, 10_000, 20_000, 40_000])
        expect(waits.every((wait, at) => wait === Math.min(5_000 * 2 ** at, day))).toBe(true)
        expect(waits.slice(-2)).toEqual([day, day])
        failing.clear()
        expect(yield* resume).toEqual({ count: 0, sinceMillis: undefined, nextMillis: undefined })
      })
    ).pipe(world())
  )

  it.effect.each([
    ["model_rejected", quarter],
    ["model_unreachable", quarter],
    ["model_circuit_open", quarter],
    ["model_rate_limited", quarter],
    ["model_budget_exhausted", quarter],
    ["model_timeout", day],
    ["model_malformed", day]
  ] as const)("as %s waits for %i ms at most", ([code, waitMillisMax]) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { failing, read } = reader(code)
        const resume = yield* process(read)
        yield* storing(1)
        failing.add("text 1")
        let [now, waited] = [start, 0]
        for (let round = 0; round < 17; round++) {
          const nextMillis = (yield* resume).nextMillis!
          waited = nextMillis - now
          now = nextMillis
          yield* TestClock.setTime(now)
        }
        expect(waited).toBe(waitMillisMax)
      })
    ).pipe(world())
  )

  it.effect("for its request is not tried again at once", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { given, read } = reader()
        const { failed, resume } = yield* readings(read)
        yield* storing(1)
        yield* failed(key, "reading 1", failureOf("model_malformed"))
        expect(yield* resume(key)).toMatchObject({ count: 1, nextMillis: start + 5_000 })
        expect(given).toEqual([])
        yield* TestClock.setTime(start + 5_000)
        expect(yield* resume(key)).toMatchObject({ count: 0, nextMillis: undefined })
        expect(given).toEqual(["text 1"])
      })
    ).pipe(world())
  )

  it.effect("holds no other one up, and starts at 5 s again after one that succeeded", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { failing, given, read } = reader()
        const resume = yield* process(read)
        yield* storing(1)
        yield* storing(2)
        failing.add("text 1")
        expect(yield* resume).toMatchObject({ count: 1, nextMillis: start + 5_000 })
        expect(given).toEqual(["text 1", "text 2"])
        yield* storing(3)
        expect(yield* resume).toMatchObject({ count: 1, nextMillis: start + 5_000 })
        expect(given).toEqual(["text 1", "text 2", "text 3"])
        yield* TestClock.setTime(start + 5_000)
        expect(yield* resume).toMatchObject({ count: 1, nextMillis: start + 15_000 })
        failing.clear()
        failing.add("text 4")
        yield* storing(4)
        yield* TestClock.setTime(start + 15_000)
        expect(yield* resume).toMatchObject({ count: 1, nextMillis: start + 20_000 })
      })
    ).pipe(world())
  )

  it.effect("is tried at once by a new process", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { failing, given, read } = reader()
        yield* storing(1)
        failing.add("text 1")
        yield* yield* process(read)
        failing.clear()
        expect(yield* yield* process(read)).toMatchObject({ count: 0, nextMillis: undefined })
        expect(given).toEqual(["text 1", "text 1"])
      })
    ).pipe(world())
  )
})
