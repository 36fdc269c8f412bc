/**
 * 500 random interleavings of payments on both chains, duplicates, faults, kills and reorganisations. Each is printed with
 * its seed: `MUNIMENT_TEST_SEED=<seed>` plays that one first, `MUNIMENT_TEST_COUNT` is their number.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { PaymentWorld } from "../support/PaymentActions.ts"
import { missingChains } from "../support/PaymentChains.ts"
import {
  endPaymentWorld,
  type InterleavingReport,
  playInterleaving,
  startPaymentWorld
} from "../support/PaymentInterleavings.ts"
import { longCount } from "../support/Repetitions.ts"
import { chosenSeed } from "../support/SeededRandom.ts"

const interleavings = longCount(500)
/** A ledger and its chains serve that many; the operator's list of payments has a bound. */
const perWorld = 50
const worldMillisMax = 1_800_000
const firstSeed = chosenSeed()

describe.skipIf(missingChains !== "")(`${interleavings} random interleavings of payments${missingChains}`, () => {
  for (let from = 0; from < interleavings; from += perWorld) {
    const until = Math.min(from + perWorld, interleavings)
    describe(`${from + 1} to ${until}`, () => {
      let world: PaymentWorld
      beforeAll(async () => {
        world = await startPaymentWorld()
      })
      afterAll(() => endPaymentWorld(world))

      it(
        "lose no money, make none, and refuse no good payment",
        async () => {
          const reports: Array<InterleavingReport> = []
          for (let at = from; at < until; at++) {
            const report = await playInterleaving(world, firstSeed + at)
            expect(report.problems, `seed ${report.seed}: ${report.trace.join("; ")}`).toEqual([])
            reports.push(report)
            console.log(
              `interleaving ${at + 1}, seed ${report.seed}: ${report.payments} payments, ${report.kills} kills`
            )
          }
          console.log(summary(firstSeed + from, reports))
        },
        worldMillisMax
      )
    })
  }
})

const summary = (seed: number, reports: ReadonlyArray<InterleavingReport>): string => {
  const total = (count: (report: InterleavingReport) => number) =>
    reports.reduce((sum, report) => sum + count(report), 0)
  const answers = Map.groupBy(
    reports.flatMap((report) => report.answers),
    (status) => status
  )
  const tally = Object.fromEntries([...answers].map(([status, all]) => [status, all.length]))
  return (
    `interleavings: seed ${seed}, ${reports.length} of them, ${total(({ payments }) => payments)} payments, ` +
    `${total(({ credited }) => credited)} credited, ${total(({ reversed }) => reversed)} reversed, ` +
    `${total(({ kills }) => kills)} kills, ${total(({ undone }) => undone)} undone; answers ${JSON.stringify(tally)}`
  )
}
