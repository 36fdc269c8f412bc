/** Kill -9 of a process that writes over the commit log: power cuts of a disk that keeps all that was written. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { CutDisk } from "../support/PowerCuts.ts"
import type { SeededRandom } from "../support/SeededRandom.ts"
import { type CutOptions, type CutReport, runLogCuts } from "./LogCuts.ts"

/** Kills on one directory: every start reads all that it has. */
const killsPerDirectory = 20

export const runLogKills = async (
  kills: number,
  random: SeededRandom,
  { onCut, ...options }: CutOptions = {}
): Promise<CutReport> => {
  const report = { cuts: 0, stored: 0, removed: 0, faults: Array.of<unknown>() }
  while (report.cuts < kills && report.faults.length === 0) {
    const before = report.cuts
    const { cuts, faults, removed, stored } = await runLogCuts(
      keepingDisk(),
      Math.min(killsPerDirectory, kills - report.cuts),
      random,
      { ...options, onCut: (cut) => onCut?.(before + cut) }
    )
    report.cuts += cuts
    report.stored += stored
    report.removed += removed
    report.faults.push(...faults)
  }
  return report
}

const keepingDisk = (): CutDisk => {
  const directory = mkdtempSync(join(tmpdir(), "muniment-log-kill-"))
  return {
    directory,
    environment: {},
    cut: (end) => end(),
    remove: async () => rmSync(directory, { recursive: true, force: true })
  }
}
