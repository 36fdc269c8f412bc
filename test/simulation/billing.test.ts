/**
 * Sixty days of billing, or in long runs ninety, for accounts of every plan (contract: Plans and the daily job). Replay one run with
 * `MUNIMENT_TEST_SEED=<seed> npx vitest run test/simulation/billing.test.ts`.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { isLongRun } from "../support/Repetitions.ts"
import { chosenSeed } from "../support/SeededRandom.ts"
import { simulateBilling } from "./BillingSimulation.ts"

const days = isLongRun ? 90 : 60
const accounts = isLongRun ? 30 : 18
/** Time that machines have for it, which says nothing of the service: a minute of processor time on an idle one. */
const timeoutMillis = 3_600_000

describe("months of billing", () => {
  it.effect(
    "leave every balance what the events say, to the last millionth, over downtime, crashes and reruns",
    () =>
      Effect.gen(function* () {
        const seed = chosenSeed()
        console.log(`billing simulation, seed ${seed}`)
        const figures = yield* simulateBilling({ seed, days, accounts })
        console.log(figures)
        for (const count of Object.values(figures)) expect(count).toBeGreaterThan(0)
      }),
    timeoutMillis
  )
})
