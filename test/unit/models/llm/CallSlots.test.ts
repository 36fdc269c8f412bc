/** Turns at the model: how many at once, who waits, who is refused. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeCallSlots } from "@muniment/models/llm/CallSlots"

const deadlineMillis = 60_000

/** Calls of one second each; tells in which order they ran. */
const makeSlots = (concurrency: number, waitingMax: number) => {
  const ran: Array<string> = []
  const withTurn = makeCallSlots<string>({ concurrency, waitingMax, refuse: () => "refused" })
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
  return { ran, call }
}

describe("CallSlots", () => {
  it.effect("gives the next turn to an account that had none, not to the one that asks most", () =>
    Effect.gen(function* () {
      const { call, ran } = makeSlots(1, 8)
      for (const account of ["a", "a", "a", "a", "b"]) yield* call(account)
      yield* TestClock.adjust(3_000)
      expect(ran.indexOf("b")).toBeGreaterThanOrEqual(0)
      expect(ran.indexOf("b")).toBeLessThan(3)
    })
  )

  it.effect("leaves half of the waiting places to other accounts", () =>
    Effect.gen(function* () {
      const { call } = makeSlots(1, 4)
      const calls = yield* Effect.forEach(["a", "a", "a", "a", "b", "b", "b"], (account) => call(account))
      yield* TestClock.adjust(30_000)
      const tags = (yield* Effect.forEach(calls, Fiber.join)).map(({ _tag }) => _tag)
      expect(tags).toEqual(["Success", "Success", "Success", "Failure", "Success", "Success", "Failure"])
    })
  )

  it.effect("refuses who got no turn by the deadline, and lets who got one end after it", () =>
    Effect.gen(function* () {
      const { call, ran } = makeSlots(1, 4)
      const calls = [yield* call("a", 500), yield* call("b", 500)]
      yield* TestClock.adjust(2_000)
      expect((yield* Effect.forEach(calls, Fiber.join)).map(({ _tag }) => _tag)).toEqual(["Success", "Failure"])
      expect(ran).toEqual(["a"])
    })
  )

  it.effect("gives the place of a caller that left to the next one", () =>
    Effect.gen(function* () {
      const { call, ran } = makeSlots(1, 0)
      const first = yield* call("a")
      expect((yield* Fiber.join(yield* call("b")))._tag).toBe("Failure")
      yield* Fiber.interrupt(first)
      const third = yield* call("c")
      yield* TestClock.adjust(1_000)
      expect((yield* Fiber.join(third))._tag).toBe("Success")
      expect(ran).toEqual(["a", "c"])
    })
  )
})
