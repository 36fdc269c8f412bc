/**
 * Kill -9 while commits go to the log and files follow it: what was acknowledged is there after the next open, in the
 * order of its commits and once, and what was removed stays removed.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { describe, expect, it } from "vitest"
import { memoryRecord } from "../support/EngineFixtures.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { logAgents } from "./LogAgents.ts"
import { faultsOf, lookAt, noFaults, nothingTold, type Told, toldBy } from "./LogStates.ts"

const kills = 6
/** After the first answer, milliseconds. */
const runMillis = { least: 1, most: 400 }
/** Numbers of one run of the writer. */
const numbersPerRun = 100_000

const killedRun = async (directory: string, first: number, random: SeededRandom, told: Told): Promise<void> => {
  const writer = join(import.meta.dirname, "LogWriter.ts")
  const child = spawn(process.execPath, [writer, directory, String(first)], { stdio: ["ignore", "pipe", "inherit"] })
  const closed = once(child, "close")
  const lines = createInterface({ input: child.stdout })
  lines.on("line", toldBy(told))
  await Promise.race([once(lines, "line"), closed])
  await new Promise((wake) => setTimeout(wake, random.between(runMillis.least, runMillis.most)))
  child.kill("SIGKILL")
  await closed
}

describe(`kill -9 while files follow the log, ${kills} times`, () => {
  it("loses nothing that was acknowledged, doubles nothing and brings nothing back", async () => {
    expect(memoryRecord(7, "").id).toMatch(/^mem_0*7$/)
    const random = new SeededRandom(chosenSeed())
    const directory = mkdtempSync(join(tmpdir(), "muniment-log-kill-"))
    const told = nothingTold()
    try {
      for (let kill = 0; kill < kills; kill++) {
        await killedRun(directory, kill * numbersPerRun, random, told)
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
