import { expect } from "vitest"
import { Clock, Data, Deferred, Effect, Exit, Fiber, Layer, Logger, Metric, Queue, Schedule, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import { SqliteError } from "@muniment/sqlite/Database"
import { RoundBook } from "@muniment/worker/RoundBook"
import { Rounds } from "@muniment/worker/Rounds"
import { it, itWith } from "../../support/it.ts"

const fresh = itWith(() => around().layer)

class Fault extends Data.TaggedError("Fault")<{ readonly cause: unknown }> {}

/** Lines of the log as they are written, and a book of its own. */
const around = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => void lines.push(JSON.stringify(message)))
  // No book above: other files in this process leave rounds open.
  return { lines, layer: Layer.merge(Layer.succeed(RoundBook.current, new RoundBook()), Logger.layer([logger])) }
}

const stateOf = (name: string) =>
  Effect.map(RoundBook.current, ({ states }) => states.find((state) => state.name === name))

const countOf = (name: string) =>
  Effect.map(Metric.snapshot, (all) =>
    all
      .filter(({ id, attributes }) => id === "rounds_failed_total" && attributes?.["round"] === name)
      .reduce((sum, { state }) => sum + Number("count" in state ? state.count : 0), 0)
  )

const minute = Schedule.spaced("1 minute")

it.effect("a round that dies is logged, counted and shown, and the next one runs", () => {
  const { layer, lines } = around()
  return Effect.gen(function* () {
    let runs = 0
    const work = Effect.sync(() => {
      if (++runs === 2) throw new Error("my neighbour Ada lives in Oslo")
    })
    yield* Rounds.add({ name: "dies once", schedule: minute, work })
    yield* TestClock.adjust("1 minute")
    expect(runs).toBe(1)
    yield* TestClock.adjust("1 minute")
    expect(runs).toBe(2)
    expect(yield* stateOf("dies once")).toMatchObject({ open: 1, running: 0, failures: 1, isFailing: true })
    yield* TestClock.adjust(Limits.roundRetryMillisMin)
    expect(runs).toBe(3)
    const state = yield* stateOf("dies once")
    expect(state).toMatchObject({ failures: 1, isFailing: false, lastFailure: { at: 120_000 } })
    expect(state?.lastFailure?.reason).toMatch(/^Error at Rounds\.test\.ts:\d+$/)
    expect(yield* countOf("dies once")).toBe(1)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain(`"round":"dies once"`)
    expect(lines[0]).not.toContain("Ada")
    // Back on its schedule.
    yield* TestClock.adjust("1 minute")
    expect(runs).toBe(4)
  }).pipe(Effect.scoped, Effect.provide(layer))
})

const busy = new SqliteError({ reason: "busy", operation: "BEGIN", errcode: 5, cause: new Error("locked") })

it.effect.each([
  ["a typed failure", Effect.fail(new Fault({ cause: busy })), "Fault, SqliteError(busy), Error"],
  ["a thrown error of SQLite", Effect.die(busy), "SqliteError(busy), Error"],
  ["an error of the disk", Effect.die(Object.assign(new Error("EIO: /data"), { code: "EIO" })), "Error(EIO)"],
  ["a thrown text", Effect.die("Ada lives in Oslo"), "string"],
  ["a thrown object with a text as its reason", Effect.die({ reason: "Ada lives in Oslo" }), "object"],
  ["an interruption from within", Effect.interrupt, "interrupted from within"],
  ["a fiber that was interrupted", Effect.flatMap(Effect.forkChild(Effect.never), endedFrom), "interrupted from within"]
] as const)("after %s the next round runs", ([name, fault, reason]) =>
  Effect.gen(function* () {
    let runs = 0
    const work = Effect.suspend((): Effect.Effect<void, unknown> => (++runs === 1 ? Effect.asVoid(fault) : Effect.void))
    yield* Rounds.add({ name, schedule: minute, isFirstNow: true, work })
    yield* TestClock.adjust(0)
    const told = (yield* stateOf(name))?.lastFailure?.reason ?? ""
    expect(told.replace(/ at Rounds\.test\.ts:\d+$/, "")).toBe(reason)
    yield* TestClock.adjust(Limits.roundRetryMillisMin)
    expect(runs).toBe(2)
  }).pipe(Effect.scoped, Effect.provide(around().layer))
)

function endedFrom(fiber: Fiber.Fiber<never>): Effect.Effect<void> {
  return Effect.andThen(Fiber.interrupt(fiber), Fiber.join(fiber))
}

fresh.effect("pauses double while a round fails, up to a bound, and begin anew after a success", function* () {
  const times: Array<number> = []
  let isBroken = true
  const work = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    times.push(now)
    return isBroken ? Effect.die(busy) : Effect.void
  })
  yield* Rounds.add({ name: "broken", schedule: minute, isFirstNow: true, work })
  yield* TestClock.adjust("1 hour")
  const pauses = times.slice(1).map((at, index) => at - times[index]!)
  expect(pauses.slice(0, 4)).toEqual([1_000, 2_000, 4_000, 8_000])
  expect(Math.max(...pauses)).toBe(Limits.roundRetryMillisMax)
  expect(pauses.at(-1)).toBe(Limits.roundRetryMillisMax)
  const failures = times.length
  isBroken = false
  yield* TestClock.adjust(Limits.roundRetryMillisMax)
  expect(yield* stateOf("broken")).toMatchObject({ isFailing: false, failures })
  isBroken = true
  const before = times.length
  yield* TestClock.adjust("2 minutes")
  const [firstAt, secondAt] = times.slice(before)
  expect(secondAt! - firstAt!).toBe(Limits.roundRetryMillisMin)
})

fresh.effect("a woken round whose work failed tries again without being woken", function* () {
  const wake = yield* Queue.sliding<void>(1)
  const outcomes: Array<string> = []
  let isBroken = true
  const work = Effect.suspend(() => {
    outcomes.push(isBroken ? "failed" : "done")
    return isBroken ? Effect.die(busy) : Effect.void
  })
  yield* Rounds.whenWoken({ name: "woken", until: Queue.take(wake), work })
  yield* TestClock.adjust("1 minute")
  expect(outcomes).toEqual([])
  yield* Queue.offer(wake, undefined)
  yield* TestClock.adjust(0)
  isBroken = false
  yield* TestClock.adjust(Limits.roundRetryMillisMin)
  expect(outcomes).toEqual(["failed", "done"])
  yield* TestClock.adjust("1 minute")
  expect(outcomes).toHaveLength(2)
})

fresh.effect(
  "an item whose work dies is given up, and so is a take that dies; the next ones are worked on",
  function* () {
    const items = yield* Queue.bounded<number>(8)
    const done: Array<number> = []
    let takes = 0
    const take = Effect.suspend(() => (++takes === 3 ? Effect.die(busy) : Queue.take(items)))
    const work = (item: number) => (item === 1 ? Effect.die(busy) : Effect.sync(() => void done.push(item)))
    yield* Rounds.each({ name: "items", take, work })
    yield* Queue.offerAll(items, [0, 1, 2, 3])
    yield* TestClock.adjust("1 minute")
    expect(done).toEqual([0, 2, 3])
    expect(yield* stateOf("items")).toMatchObject({ failures: 2, isFailing: false })
  }
)

fresh.effect("a stop waits for a round that runs, and begins no other", function* () {
  const scope = yield* Scope.make()
  const begun = yield* Deferred.make<void>()
  const ends: Array<string> = []
  const work = Effect.gen(function* () {
    yield* Deferred.succeed(begun, undefined)
    yield* Effect.sleep(Limits.roundStopMillisMax / 2)
    ends.push("work")
  })
  yield* Scope.provide(Rounds.add({ name: "slow", schedule: minute, isFirstNow: true, work }), scope)
  yield* Deferred.await(begun)
  const closing = yield* Effect.forkChild(
    Effect.tap(Scope.close(scope, Exit.void), () => Effect.sync(() => ends.push("stop")))
  )
  yield* TestClock.adjust(Limits.roundStopMillisMax / 2)
  yield* Fiber.join(closing)
  expect(ends).toEqual(["work", "stop"])
  yield* TestClock.adjust("1 hour")
  expect(ends).toHaveLength(2)
  expect((yield* RoundBook.current).states).toEqual([])
})

fresh.effect("all rounds of a service have one bound at its stop; what waits or may be cut ends at once", function* () {
  const scope = yield* Scope.make()
  const ends: Array<string> = []
  const hangs = (name: string) => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void ends.push(name)))
  const adding = Effect.gen(function* () {
    yield* Rounds.add({ name: "first", schedule: minute, isFirstNow: true, work: hangs("first") })
    yield* Rounds.add({ name: "second", schedule: minute, isFirstNow: true, work: hangs("second") })
    yield* Rounds.add({ name: "cut", schedule: minute, isFirstNow: true, isCut: true, work: hangs("cut") })
    yield* Rounds.add({ name: "rests", schedule: minute, work: Effect.void })
  })
  yield* Scope.provide(adding, scope)
  yield* TestClock.adjust(0)
  const { stop } = yield* RoundBook.current
  const stopping = yield* Effect.forkChild(Effect.andThen(stop, Scope.close(scope, Exit.void)))
  yield* TestClock.adjust(Limits.roundStopMillisMax - 1)
  expect(ends).toEqual(["cut"])
  expect(yield* stateOf("rests")).toBeUndefined()
  yield* TestClock.adjust(1)
  yield* Fiber.join(stopping)
  expect(ends).toEqual(["cut", "first", "second"])
})

fresh.effect("what plain code begins is noted when it dies, and ends with its scope", function* () {
  const scope = yield* Scope.make()
  const begin = yield* Scope.provide(Rounds.errands({ name: "errands" }), scope)
  const ends: Array<string> = []
  begin(Effect.die(busy))
  begin(
    Effect.andThen(
      Effect.sleep("1 second"),
      Effect.sync(() => void ends.push("done"))
    )
  )
  begin(Effect.onInterrupt(Effect.never, () => Effect.sync(() => void ends.push("interrupted"))))
  yield* TestClock.adjust("1 second")
  yield* Scope.close(scope, Exit.void)
  expect(ends).toEqual(["done", "interrupted"])
  expect(yield* stateOf("errands")).toMatchObject({ open: 0, failures: 1 })
})

fresh.effect("a service lists its own rounds and those of what it stands in", function* () {
  yield* Rounds.add({ name: "node", schedule: minute, work: Effect.void })
  const inner = Effect.gen(function* () {
    yield* Rounds.add({ name: "service", schedule: minute, work: Effect.void })
    return (yield* RoundBook.current).states.map(({ name }) => name)
  })
  expect(yield* Effect.provide(Effect.scoped(inner), RoundBook.layer())).toEqual(["node", "service"])
  expect((yield* RoundBook.current).states.map(({ name }) => name)).toEqual(["node"])
})
