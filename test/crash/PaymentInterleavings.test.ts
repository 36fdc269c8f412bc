/**
 * Three of the interleavings that `PaymentInterleavings.long.test.ts` plays by the hundred: payments in every state
 * while the operator changes payees, keys and networks, with faults, kills and reorganisations.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { PaymentWorld } from "../support/PaymentActions.ts"
import { missingChains } from "../support/PaymentChains.ts"
import { endPaymentWorld, playInterleaving, startPaymentWorld } from "../support/PaymentInterleavings.ts"
import { chosenSeed } from "../support/SeededRandom.ts"

const interleavings = 3
const dayMillis = 86_400_000
const worldMillisMax = 900_000

describe.skipIf(missingChains !== "")(`${interleavings} random interleavings of payments${missingChains}`, () => {
  let world: PaymentWorld
  beforeAll(async () => {
    world = await startPaymentWorld()
  })
  afterAll(() => endPaymentWorld(world))

  it(
    "reverse nothing that a chain holds, credit nothing that it does not, and refuse no good payment",
    async () => {
      // Others each day, so that what fails fails again; the long suite has others each time.
      const today = Math.floor(Date.now() / dayMillis)
      const firstSeed = process.env["MUNIMENT_TEST_SEED"] === undefined ? today * interleavings : chosenSeed()
      for (let at = 0; at < interleavings; at++) {
        const report = await playInterleaving(world, firstSeed + at)
        expect(report.problems, `seed ${report.seed}: ${report.trace.join("; ")}`).toEqual([])
      }
    },
    worldMillisMax
  )
})
