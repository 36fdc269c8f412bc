/** The circuit breaker by itself, on a clock that the test moves. */
import { describe, expect } from "vitest"
import { Deferred, Effect, Fiber } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { TestClock } from "effect/testing"
import { type CircuitState, makeCircuits } from "@muniment/models/llm/CallSlots"
import { it } from "../../../support/it.ts"

const makeBreaker = Effect.gen(function* () {
  const states: Array<CircuitState> = []
  const circuits = yield* makeCircuits<string>({
    failuresMax: 3,
    coolDownMillis: 10_000,
    signOf: (failure) =>
      failure === "down"
        ? CircuitBreaker.failure()
        : failure === "nothing"
          ? CircuitBreaker.ignored
          : CircuitBreaker.success,
    refuse: (retryAfterMillis) => `open:${retryAfterMillis}`,
    onChange: (state) => Effect.sync(() => void states.push(state))
  })
  const through = circuits.through("key")
  return {
    check: circuits.check("key"),
    circuits,
    states,
    through,
    outcome: (call: Effect.Effect<string, string>) => Effect.catch(through(call), Effect.succeed)
  }
})
const down = Effect.fail("down")

describe("CircuitBreaker", () => {
  it.effect("opens at the third failure in a row, not at the third of all", function* () {
    const { outcome } = yield* makeBreaker
    for (const call of [down, down, Effect.fail("wrong"), down, down, Effect.succeed("fine"), down, down]) {
      yield* outcome(call)
    }
    expect(yield* outcome(down)).toBe("down")
    expect(yield* outcome(Effect.succeed("fine"))).toBe("open:10000")
  })

  it.effect("says how long it stays open, and lets one call probe after that", function* () {
    const { outcome, states, through } = yield* makeBreaker
    for (const call of [down, down, down]) yield* outcome(call)
    yield* TestClock.adjust(4_000)
    expect(yield* outcome(down)).toBe("open:6000")
    yield* TestClock.adjust(6_000)
    const answer = yield* Deferred.make<string, string>()
    const probe = yield* Effect.forkChild(through(Deferred.await(answer)), { startImmediately: true })
    expect(yield* outcome(Effect.succeed("second"))).toBe("open:10000")
    yield* Deferred.succeed(answer, "fine")
    expect(yield* Fiber.join(probe)).toBe("fine")
    expect(yield* outcome(Effect.succeed("third"))).toBe("third")
    expect(states).toEqual(["Open", "HalfOpen", "Closed"])
  })

  it.effect("tells by a look whether it refuses, without taking the place of the probe", function* () {
    const { check, outcome } = yield* makeBreaker
    yield* check
    for (const call of [down, down, down]) yield* outcome(call)
    expect(yield* Effect.flip(check)).toBe("open:10000")
    yield* TestClock.adjust(10_000)
    yield* check
    yield* check
    expect(yield* outcome(Effect.succeed("probe"))).toBe("probe")
  })

  it.effect("opens again for as long when the probe fails", function* () {
    const { outcome } = yield* makeBreaker
    for (const call of [down, down, down]) yield* outcome(call)
    yield* TestClock.adjust(10_000)
    expect(yield* outcome(down)).toBe("down")
    expect(yield* outcome(down)).toBe("open:10000")
  })

  it.effect("gives the place of a probe that told nothing to the next call", function* () {
    const { outcome, through } = yield* makeBreaker
    for (const call of [down, down, down]) yield* outcome(call)
    yield* TestClock.adjust(10_000)
    const probe = yield* Effect.forkChild(through(Effect.never), { startImmediately: true })
    yield* Fiber.interrupt(probe)
    expect(yield* outcome(Effect.fail("nothing"))).toBe("nothing")
    expect(yield* outcome(Effect.succeed("fine"))).toBe("fine")
  })

  it.effect("is not kept open by calls that were under way when it opened", function* () {
    const { outcome, through } = yield* makeBreaker
    const late = yield* Deferred.make<string, string>()
    const slow = yield* Effect.forkChild(Effect.exit(through(Deferred.await(late))), { startImmediately: true })
    for (const call of [down, down, down]) yield* outcome(call)
    yield* TestClock.adjust(9_000)
    yield* Deferred.fail(late, "down")
    yield* Fiber.join(slow)
    yield* TestClock.adjust(1_000)
    expect(yield* outcome(Effect.succeed("fine"))).toBe("fine")
  })

  it.effect("is one for each key", function* () {
    const { circuits, outcome } = yield* makeBreaker
    for (const call of [down, down, down]) yield* outcome(call)
    expect(yield* outcome(Effect.succeed("fine"))).toBe("open:10000")
    yield* circuits.check("another")
    expect(yield* circuits.through("another")(Effect.succeed("fine"))).toBe("fine")
  })
})
