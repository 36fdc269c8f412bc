/** Kill -9 of a process that writes over the commit log, again and again on the same directories. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { SeededRandom } from "../support/SeededRandom.ts"
import { killedWriter } from "./KilledWriter.ts"
import { logAgents } from "./LogAgents.ts"
import { faultsOf, lookAt, noFaults, nothingTold, toldBy } from "./LogStates.ts"

/** After the first answer, milliseconds. */
const runMillis = { least: 1, most: 400 }
/** Numbers of one run of the writer. */
const numbersPerRun = 100_000

/** Kills on one directory: every open reads all that it has. */
const killsPerDirectory = 20

export interface KillsReport {
  readonly kills: number
  readonly stored: number
  readonly removed: number
  /** Losses, doubles, disorder, and what came back, with the number of kills before. */
  readonly faults: ReadonlyArray<unknown>
}

export const runLogKills = async (kills: number, random: SeededRandom): Promise<KillsReport> => {
  const report = { kills: 0, stored: 0, removed: 0, faults: Array.of<unknown>() }
  while (report.kills < kills && report.faults.length === 0) {
    const count = Math.min(killsPerDirectory, kills - report.kills)
    const { faults, told } = await killsOfOneDirectory(count, random)
    report.faults.push(...faults.map((fault) => ({ killsBefore: report.kills, fault })))
    report.kills += count
    report.stored += told.stored.size
    report.removed += told.removed.size
  }
  return report
}

const killsOfOneDirectory = async (kills: number, random: SeededRandom) => {
  const directory = mkdtempSync(join(tmpdir(), "muniment-log-kill-"))
  const told = nothingTold()
  const faults: Array<unknown> = []
  try {
    for (let kill = 0; kill < kills && faults.length === 0; kill++) {
      const lines = await killedWriter("LogWriter.ts", [directory, String(kill * numbersPerRun)], runMillis, random)
      lines.forEach(toldBy(told))
      for (const agent of logAgents) {
        const found = faultsOf(agent, await lookAt(directory, agent), told)
        if (JSON.stringify(found) !== JSON.stringify(noFaults)) faults.push({ kill, agent, ...found })
      }
    }
    return { told, faults }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
