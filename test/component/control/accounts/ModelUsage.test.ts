/** What language models used, by account and UTC day: reserved before a call, settled after it. */
import { describe, expect } from "vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { ModelSpend } from "@muniment/domain/ModelSpend"
import { ModelUsage } from "@muniment/control/accounts/ModelUsage"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../../support/it.ts"
import { controlOf } from "../MemoryLog.ts"

const fresh = itWith(() => usageOf(temporaryDirectory()))

const usageOf = (directory: string) => ModelUsage.layer.pipe(Layer.provide(controlOf(directory)), Layer.fresh)

const amount = (inputTokens: number, outputTokens = 0, costMicroUsd = 0): ModelSpend => ({
  inputTokens,
  outputTokens,
  costMicroUsd
})
const noon = Date.UTC(2026, 0, 2, 12)
const dayMillis = 86_400_000

describe("ModelUsage", () => {
  fresh.effect("counts an estimate at once and puts what was used in its place", function* () {
    const usage = yield* ModelUsage
    yield* TestClock.setTime(noon)
    const hold = yield* usage.reserve("a", amount(100, 50, 7), {})
    const day = { fromDay: "2026-01-02", toDay: "2026-01-02" }
    expect(yield* usage.usage(day)).toEqual([{ account: "a", day: "2026-01-02", ...amount(100, 50, 7) }])
    yield* usage.settle(hold!, amount(90, 200, 9))
    expect(yield* usage.usage(day)).toEqual([{ account: "a", day: "2026-01-02", ...amount(90, 200, 9) }])
  })

  fresh.effect("refuses what would pass the day's tokens or cost, and takes what just fits", function* () {
    const usage = yield* ModelUsage
    yield* TestClock.setTime(noon)
    const bounds = { tokensPerDay: 100, costPerDayMicroUsd: 10 }
    expect(yield* usage.reserve("a", amount(61, 40, 1), bounds)).toBeUndefined()
    const hold = yield* usage.reserve("a", amount(60, 40, 1), bounds)
    expect(hold).toBeDefined()
    expect(yield* usage.reserve("a", amount(1), bounds)).toBeUndefined()
    expect(yield* usage.reserve("b", amount(1), bounds)).toBeDefined()
    yield* usage.settle(hold!, amount(10, 10, 9))
    expect(yield* usage.reserve("a", amount(1, 0, 2), bounds)).toBeUndefined()
    expect(yield* usage.reserve("a", amount(1, 0, 1), bounds)).toBeDefined()
  })

  it.effect("keeps a share of all accounts together within a bound of its own, over restarts", function* () {
    const directory = temporaryDirectory()
    yield* TestClock.setTime(noon)
    const share = { name: "consolidation", tokensPerDay: 100 }
    yield* Effect.gen(function* () {
      const usage = yield* ModelUsage
      const hold = yield* usage.reserve("a", amount(60, 40), { share })
      expect(yield* usage.reserve("b", amount(1), { share })).toBeUndefined()
      expect(yield* usage.reserve("b", amount(1), {})).toBeDefined()
      yield* usage.settle(hold!, amount(20, 10))
    }).pipe(Effect.provide(usageOf(directory)))
    yield* Effect.gen(function* () {
      const usage = yield* ModelUsage
      expect(yield* usage.reserve("b", amount(71), { share })).toBeUndefined()
      expect(yield* usage.reserve("b", amount(70), { share })).toBeDefined()
      yield* TestClock.setTime(noon + dayMillis)
      expect(yield* usage.reserve("b", amount(100), { share })).toBeDefined()
    }).pipe(Effect.provide(usageOf(directory)))
  })

  fresh.effect("opens a new budget at midnight UTC, and settles on the day of the estimate", function* () {
    const usage = yield* ModelUsage
    yield* TestClock.setTime(noon)
    const hold = yield* usage.reserve("a", amount(100), { tokensPerDay: 100 })
    yield* TestClock.setTime(noon + dayMillis)
    expect(yield* usage.reserve("a", amount(100), { tokensPerDay: 100 })).toBeDefined()
    yield* usage.settle(hold!, amount(30))
    expect(yield* usage.usage({ account: "a", fromDay: "2026-01-01", toDay: "2026-01-31" })).toEqual([
      { account: "a", day: "2026-01-03", ...amount(100) },
      { account: "a", day: "2026-01-02", ...amount(30) }
    ])
  })

  it.effect("keeps what was counted over a restart, also of calls that were never settled", function* () {
    const directory = temporaryDirectory()
    yield* TestClock.setTime(noon)
    yield* ModelUsage.use((usage) => usage.reserve("a", amount(80), {})).pipe(Effect.provide(usageOf(directory)))
    yield* Effect.gen(function* () {
      const usage = yield* ModelUsage
      expect(yield* usage.reserve("a", amount(21), { tokensPerDay: 100 })).toBeUndefined()
      expect(yield* usage.reserve("a", amount(20), { tokensPerDay: 100 })).toBeDefined()
    }).pipe(Effect.provide(usageOf(directory)))
  })

  fresh.effect("never lets calls at once pass the bound together", function* () {
    const usage = yield* ModelUsage
    yield* TestClock.setTime(noon)
    const holds = yield* Effect.all(
      Array.from({ length: 20 }, () => usage.reserve("a", amount(10), { tokensPerDay: 55 })),
      { concurrency: "unbounded" }
    )
    expect(holds.filter((hold) => hold !== undefined)).toHaveLength(5)
  })

  fresh.effect("lists the days asked for, of one account or of all", function* () {
    const usage = yield* ModelUsage
    for (const [index, account] of ["b", "a"].entries()) {
      yield* TestClock.setTime(noon + index * dayMillis)
      yield* usage.reserve(account, amount(1), {})
      yield* usage.reserve("c", amount(2), {})
    }
    const all = yield* usage.usage({ fromDay: "2026-01-02", toDay: "2026-01-03" })
    expect(all.map(({ account, day }) => `${day} ${account}`)).toEqual([
      "2026-01-03 a",
      "2026-01-03 c",
      "2026-01-02 b",
      "2026-01-02 c"
    ])
    expect(yield* usage.usage({ account: "b", fromDay: "2026-01-02", toDay: "2026-01-03" })).toHaveLength(1)
    expect(yield* usage.usage({ fromDay: "2026-01-04", toDay: "2026-01-05" })).toEqual([])
  })

  fresh.effect("takes a fraction of a token for a broken caller", function* () {
    const usage = yield* ModelUsage
    const exit = yield* Effect.exit(usage.reserve("a", amount(0.5), {}))
    expect(exit).toMatchObject({ _tag: "Failure" })
  })
})
