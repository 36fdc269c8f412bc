/**
 * Kill -9 while commits go to the log and files follow it: what was acknowledged is there after the next open, in the
 * order of its commits and once, and what was removed stays removed.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { memoryRecord } from "../support/EngineFixtures.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { logAgents } from "./LogAgents.ts"
import { killedWriter } from "./KilledWriter.ts"
import { faultsOf, lookAt, noFaults, nothingTold, toldBy } from "./LogStates.ts"

const kills = 6
/** After the first answer, milliseconds. */
const runMillis = { least: 1, most: 400 }
/** Numbers of one run of the writer. */
const numbersPerRun = 100_000

describe(`kill -9 while files follow the log, ${kills} times`, () => {
  it("loses nothing that was acknowledged, doubles nothing and brings nothing back", async () => {
    expect(memoryRecord(7, "").id).toMatch(/^mem_0*7$/)
    const random = new SeededRandom(chosenSeed())
    const directory = mkdtempSync(join(tmpdir(), "muniment-log-kill-"))
    const told = nothingTold()
    try {
      for (let kill = 0; kill < kills; kill++) {
        const run = [directory, String(kill * numbersPerRun)]
        const lines = await killedWriter("LogWriter.ts", run, runMillis, random)
        lines.forEach(toldBy(told))
        for (const agent of logAgents) {
          expect(faultsOf(agent, await lookAt(directory, agent), told)).toEqual(noFaults)
        }
      }
      console.log(`${told.stored.size} stored, ${told.removed.size} removed`)
      expect(told.stored.size).toBeGreaterThan(kills)
      expect(told.removed.size).toBeGreaterThan(0)
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })
})
