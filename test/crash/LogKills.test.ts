/**
 * Kill -9 while commits go to the log and files follow it: what was acknowledged is there after the next open, in the
 * order of its commits and once, and what was removed stays removed.
 */
import { describe, expect, it } from "vitest"
import { memoryRecord } from "../support/EngineFixtures.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { runLogKills } from "./LogKills.ts"

const kills = 4

describe(`kill -9 while files follow the log, ${kills} times`, () => {
  it("loses nothing that was acknowledged, doubles nothing and brings nothing back", async () => {
    expect(memoryRecord(7, "").id).toMatch(/^mem_0*7$/)
    const seed = chosenSeed()
    const report = await runLogKills(kills, new SeededRandom(seed))
    console.log(`seed ${seed}: ${JSON.stringify(report)}`)
    expect(report).toMatchObject({ cuts: kills, faults: [] })
    expect(report.stored).toBeGreaterThan(kills)
    expect(report.removed).toBeGreaterThan(0)
  })
})
