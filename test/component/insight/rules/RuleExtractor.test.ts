/** The extractor as a service: a real thread, a real deadline, a bounded queue. */
import { describe, expect } from "vitest"
import { makeRuleExtractor, type RulesLimits } from "@muniment/insight/rules/RuleExtractor"
import { rulesLimits } from "@muniment/insight/rules/RulesProtocol"
import { factKinds } from "@muniment/schemas/BuiltinKinds"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { it } from "../../../support/it.ts"

const request = (contents: ReadonlyArray<string>) => ({
  account: "a",
  kinds: factKinds,
  messages: contents.map((content) => ({ role: "user" as const, content })),
  context: [],
  summary: undefined,
  conversationDate: "2026-03-04"
})
const simple = request(["My name is Alice and I live in Seattle."])
/** Some seconds of honest work. */
const long = request(
  Array.from({ length: 200 }, (_, at) =>
    Array.from({ length: 20 }, (_, n) => `I live in Rome with my cat number ${at} ${n}.`).join(" ")
  )
)

const some = request(
  Array.from({ length: 20 }, (_, at) => `I live in Rome with my ${at} cats. I love jazz number ${at}.`)
)

const withLimits = (limits: Partial<RulesLimits>) => makeRuleExtractor({ ...rulesLimits, ...limits })

describe("the rule extractor", () => {
  it.live("answers from its thread", function* () {
    const extractor = yield* withLimits({ deadlineMillis: 25_000 })
    const { candidates } = yield* extractor.extract(simple)
    expect(extractor.name).toBe("rules")
    expect(candidates).toHaveLength(2)
  })

  it.live("gives up once its processor time is used, and answers the next conversation", function* () {
    const extractor = yield* withLimits({ deadlineMillis: 25_000 })
    yield* extractor.extract(simple)
    const failure = yield* extractor.extract(long).pipe(Effect.timeout("1 milli"), Effect.exit)
    expect(Exit.isFailure(failure)).toBe(true)
    const { candidates } = yield* extractor.extract(simple)
    expect(candidates).toHaveLength(2)
    const hurried = yield* withLimits({ cpuMillisMax: 1 })
    const reason = yield* hurried.extract(long).pipe(Effect.flip)
    expect(reason.reason).toBe("timeout")
  })

  it.effect("counts processor time: a machine that gives it none takes nothing from a conversation", function* () {
    const cpuMillisMax = 6_000
    const extractor = yield* withLimits({ cpuMillisMax, deadlineMillis: 10 * cpuMillisMax })
    yield* extractor.extract(simple)
    const reading = yield* Effect.forkChild(extractor.extract(some), { startImmediately: true })
    yield* TestClock.adjust(2 * cpuMillisMax)
    expect(reading.pollUnsafe(), "it was read before").toBeUndefined()
    expect((yield* Fiber.join(reading)).candidates.length).toBeGreaterThan(2)
  })

  it.live("has another thread start as soon as one is lost, before the next conversation", function* () {
    const started: Array<unknown> = []
    const count = (worker: unknown) => void started.push(worker)
    process.on("worker", count)
    yield* Effect.addFinalizer(() => Effect.sync(() => process.off("worker", count)))
    const extractor = yield* withLimits({ cpuMillisMax: 1 })
    yield* Effect.flip(extractor.extract(long))
    for (let round = 0; round < 500 && started.length < 2; round += 1) yield* Effect.sleep("10 millis")
    expect(started).toHaveLength(2)
  })

  it.live("lets another account's conversation pass those that wait", function* () {
    const extractor = yield* withLimits({ deadlineMillis: 25_000 })
    yield* extractor.extract(simple)
    const finished: Array<string> = []
    const ask = (account: string) =>
      extractor.extract({ ...some, account }).pipe(Effect.tap(() => Effect.sync(() => finished.push(account))))
    yield* Effect.all([ask("a"), ask("a"), ask("a"), ask("b")], { concurrency: "unbounded" })
    expect(finished.slice(0, 3)).toContain("b")
  })

  it.live("refuses more than one account may have waiting", function* () {
    const extractor = yield* withLimits({ deadlineMillis: 25_000, queuePerAccountMax: 1 })
    const exits = yield* Effect.all(
      ["a", "a", "a", "b"].map((account) => Effect.exit(extractor.extract({ ...simple, account }))),
      { concurrency: "unbounded" }
    )
    expect(exits.map(Exit.isSuccess)).toEqual([true, true, false, true])
  })

  it.effect("does not count the start of its thread into the deadline", function* () {
    const deadlineMillis = 6_000
    const extractor = yield* withLimits({ deadlineMillis })
    const reading = yield* Effect.forkChild(extractor.extract(simple), { startImmediately: true })
    // The deadline passes while the thread, which takes real time, is loading.
    yield* TestClock.adjust(deadlineMillis + 1)
    const { candidates } = yield* Fiber.join(reading)
    expect(candidates).toHaveLength(2)
  })

  it.effect(
    "counts the deadline from the start of the work, not while a conversation waits for its turn",
    function* () {
      const deadlineMillis = 6_000
      const extractor = yield* withLimits({ deadlineMillis, waitMillisMax: 10 * deadlineMillis })
      // The thread is warm.
      yield* extractor.extract(simple)
      const first = yield* Effect.forkChild(Effect.flip(extractor.extract(long)), { startImmediately: true })
      yield* TestClock.adjust(deadlineMillis - 1)
      const second = yield* Effect.forkChild(extractor.extract(simple), { startImmediately: true })
      yield* TestClock.adjust(1)
      expect((yield* Fiber.join(first)).reason).toBe("overloaded")
      expect((yield* Fiber.join(second)).candidates).toHaveLength(2)
    }
  )

  it.live("lets a conversation that waits for its turn go when its time is over", function* () {
    const extractor = yield* withLimits({ deadlineMillis: 25_000 })
    yield* extractor.extract(simple)
    const first = yield* Effect.forkChild(extractor.extract(long), { startImmediately: true })
    const second = yield* Effect.forkChild(extractor.extract(simple), { startImmediately: true })
    expect(yield* extractor.underWay("a")).toBe(2)
    const failure = yield* extractor.extract({ ...simple, turnMillisMax: 1 }).pipe(Effect.flip)
    expect(failure.reason).toBe("overloaded")
    const free = yield* Effect.forkChild(extractor.untilFree("a"), { startImmediately: true })
    expect((yield* Fiber.join(second)).candidates).toHaveLength(2)
    yield* Fiber.join(free)
    expect([yield* extractor.underWay("a"), first.pollUnsafe() === undefined]).toEqual([0, false])
  })

  it.live("refuses what does not fit its queue", function* () {
    const extractor = yield* withLimits({ deadlineMillis: 25_000, queueMax: 1 })
    yield* extractor.extract(simple)
    const results = yield* Effect.all(
      Array.from({ length: 4 }, () => Effect.exit(extractor.extract(some))),
      { concurrency: "unbounded" }
    )
    const reasons = results.flatMap((exit) => (Exit.isFailure(exit) ? [String(exit.cause)] : []))
    expect(reasons.length).toBeGreaterThan(0)
    expect(reasons.every((reason) => reason.includes("too many conversations"))).toBe(true)
  })
})
