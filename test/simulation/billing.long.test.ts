/**
 * A year of billing for more accounts than the short run has, from a new seed each time (contract: Plans and the daily
 * job). Replay: `MUNIMENT_LONG_TESTS=1 MUNIMENT_TEST_SEED=<seed> npx vitest run <this file>`.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { chosenSeed } from "../support/SeededRandom.ts"
import { simulateBilling } from "./BillingSimulation.ts"

const days = 365
const accounts = 90
const timeoutMillis = 3_600_000

describe("a year of billing", () => {
  it.effect(
    "leaves every balance what the events say, to the last millionth",
    () =>
      Effect.gen(function* () {
        const seed = chosenSeed()
        console.log(`billing simulation, seed ${seed}`)
        const figures = yield* simulateBilling({ seed, days, accounts })
        console.log(figures)
        expect(figures.purged).toBeGreaterThan(accounts)
      }),
    timeoutMillis
  )
})
