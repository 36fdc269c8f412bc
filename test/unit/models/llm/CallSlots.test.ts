/** Turns at the model: how many at once, who waits, who is refused. */
import { describe, expect } from "vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { makeCallSlots } from "@muniment/models/llm/CallSlots"
import { it } from "../../../support/it.ts"

const deadlineMillis = 60_000

/** Calls of one second each; tells in which order they ran. */
const makeSlots = (concurrency: number, waitingMax: number) => {
  const ran: Array<string> = []
  const { untilIdle, withTurn } = makeCallSlots<string>({ concurrency, waitingMax, refuse: () => "refused" })
  const call = (account: string, until = deadlineMillis) =>
    Effect.forkChild(
      Effect.result(
        withTurn(
          { account, deadlineMillis: until },
          Effect.andThen(
            Effect.sync(() => void ran.push(account)),
            Effect.sleep(1_000)
          )
        )
      ),
      { startImmediately: true }
    )
  return { ran, call, untilIdle }
}

const anyCall = fc.record({
  account: fc.constantFrom("a", "b", "c"),
  ending: fc.constantFrom("success", "failure", "defect", "interruption"),
  startMillis: fc.nat({ max: 50 }),
  lengthMillis: fc.nat({ max: 30 }),
  patienceMillis: fc.nat({ max: 60 })
})
type AnyCall = typeof anyCall extends fc.Arbitrary<infer Call> ? Call : never

/** Two turns; after all calls both are free again, and no third one came into being. */
const runAll = Effect.fnUntraced(function* (calls: ReadonlyArray<AnyCall>) {
  const { withTurn } = makeCallSlots<string>({ concurrency: 2, waitingMax: 100, refuse: () => "refused" })
  let running = 0
  let runningMax = 0
  const work = (ending: AnyCall["ending"], millis: number) =>
    Effect.suspend(() => {
      running += 1
      runningMax = Math.max(runningMax, running)
      const end =
        ending === "failure" ? Effect.fail("failed") : ending === "defect" ? Effect.die("broken") : Effect.void
      return Effect.andThen(Effect.sleep(millis), end)
    }).pipe(Effect.ensuring(Effect.sync(() => void (running -= 1))))
  const millisPass = (millis: number) =>
    Effect.forEach(Array.from({ length: millis / 10 }), () => TestClock.adjust(10), { discard: true })

  const now = yield* Clock.currentTimeMillis
  for (const { account, ending, lengthMillis, patienceMillis, startMillis } of calls) {
    const deadlineMillis = now + startMillis + patienceMillis
    const call = Effect.delay(withTurn({ account, deadlineMillis }, work(ending, lengthMillis)), startMillis)
    const fiber = yield* Effect.forkChild(Effect.exit(call))
    if (ending === "interruption") {
      yield* Effect.forkChild(Effect.delay(Fiber.interrupt(fiber), startMillis + Math.floor(lengthMillis / 2)))
    }
  }
  yield* millisPass(1_000)
  expect(running).toBe(0)
  const deadlineMillis = (yield* Clock.currentTimeMillis) + 1_000
  const after = yield* Effect.forEach(["x", "y", "z"], (account) =>
    Effect.forkChild(withTurn({ account, deadlineMillis }, work("success", 10)), { startImmediately: true })
  )
  yield* TestClock.adjust(0)
  expect(running).toBe(2)
  yield* millisPass(40)
  yield* Effect.forEach(after, Fiber.join)
  expect(runningMax).toBeLessThanOrEqual(2)
})

describe("CallSlots", () => {
  it.effect("gives the next turn to an account that had none, not to the one that asks most", function* () {
    const { call, ran } = makeSlots(1, 8)
    for (const account of ["a", "a", "a", "a", "b"]) yield* call(account)
    yield* TestClock.adjust(3_000)
    expect(ran.indexOf("b")).toBeGreaterThanOrEqual(0)
    expect(ran.indexOf("b")).toBeLessThan(3)
  })

  it.effect("lets one who waits for an idle model go on when nobody is under way or waits", function* () {
    const { call, ran, untilIdle } = makeSlots(1, 8)
    for (const account of ["a", "b"]) yield* call(account)
    const idle = yield* Effect.forkChild(
      Effect.andThen(
        untilIdle,
        Effect.sync(() => ran.push("idle"))
      )
    )
    yield* TestClock.adjust(1_900)
    expect(ran).toEqual(["a", "b"])
    yield* TestClock.adjust(400)
    yield* Fiber.join(idle)
    expect(ran).toEqual(["a", "b", "idle"])
  })

  it.effect("leaves half of the waiting places to other accounts", function* () {
    const { call } = makeSlots(1, 4)
    const calls = yield* Effect.forEach(["a", "a", "a", "a", "b", "b", "b"], (account) => call(account))
    yield* TestClock.adjust(30_000)
    const tags = (yield* Effect.forEach(calls, Fiber.join)).map(({ _tag }) => _tag)
    expect(tags).toEqual(["Success", "Success", "Success", "Failure", "Success", "Success", "Failure"])
  })

  it.effect("refuses who got no turn by the deadline, and lets who got one end after it", function* () {
    const { call, ran } = makeSlots(1, 4)
    const calls = [yield* call("a", 500), yield* call("b", 500)]
    yield* TestClock.adjust(2_000)
    expect((yield* Effect.forEach(calls, Fiber.join)).map(({ _tag }) => _tag)).toEqual(["Success", "Failure"])
    expect(ran).toEqual(["a"])
  })

  it("never runs more at once than it may, and gives every turn back, however calls end", () =>
    fc.assert(
      fc.asyncProperty(fc.array(anyCall, { maxLength: 30 }), (calls) =>
        Effect.runPromise(runAll(calls).pipe(Effect.provide(TestClock.layer()), Effect.scoped))
      ),
      { numRuns: 60 }
    ))

  it.effect("gives the place of a caller that left to the next one", function* () {
    const { call, ran } = makeSlots(1, 0)
    const first = yield* call("a")
    expect((yield* Fiber.join(yield* call("b")))._tag).toBe("Failure")
    yield* Fiber.interrupt(first)
    const third = yield* call("c")
    yield* TestClock.adjust(1_000)
    expect((yield* Fiber.join(third))._tag).toBe("Success")
    expect(ran).toEqual(["a", "c"])
  })
})
