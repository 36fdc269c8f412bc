/** Power cuts of a service's store over its commit log, while agents write and remove. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { scanLog } from "@muniment/engine/log/LogScan"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import { bundledProgram } from "../support/BundledService.ts"
import type { CutDisk } from "../support/PowerCuts.ts"
import type { SeededRandom } from "../support/SeededRandom.ts"
import { logAgents } from "./LogAgents.ts"
import { type AgentState, faultsOf, noFaults, nothingTold, type Told, toldBy } from "./LogStates.ts"

/** After the first answer, milliseconds. */
const runMillis = { least: 1, most: 900 }
/** Numbers of one run of the writer. */
const numbersPerRun = 100_000

export interface CutReport {
  readonly cuts: number
  readonly stored: number
  readonly removed: number
  /** Losses, doubles and disorder, damaged logs, and logs or files that were refused. */
  readonly faults: ReadonlyArray<unknown>
}

export interface CutOptions {
  /** After each cut whose start found nothing wrong. */
  readonly onCut?: (cut: number) => void
}

export const runLogCuts = async (
  disk: CutDisk,
  cuts: number,
  random: SeededRandom,
  { onCut }: CutOptions = {}
): Promise<CutReport> => {
  const writer = await bundledProgram("test/crash/LogWriter.ts")
  const told = nothingTold()
  const faults: Array<unknown> = []
  let done = 0
  try {
    for (; done <= cuts && faults.length === 0; done++) {
      const found = await cutRun(disk, writer, done * numbersPerRun, random, told)
      faults.push(...found.map((fault) => ({ cuts: done, fault })))
      // Its start looks at what the cut before has left.
      if (done > 0 && found.length === 0) onCut?.(done)
    }
  } finally {
    await disk.remove()
  }
  return { cuts: done - 1, stored: told.stored.size, removed: told.removed.size, faults }
}

/** Starts a writer, compares what it finds with what was told before, and cuts the power; returns the faults. */
const cutRun = async (
  disk: CutDisk,
  writer: string,
  first: number,
  random: SeededRandom,
  told: Told
): Promise<ReadonlyArray<unknown>> => {
  mkdirSync(join(disk.directory, logFolder), { recursive: true })
  const { damage } = scanLog(join(disk.directory, logFolder))
  const faults: Array<unknown> = damage.map((hole) => ({ damage: hole }))
  const words = [writer, disk.directory, String(first), "states"]
  const environment = { ...process.env, ...disk.environment }
  const child = spawn(process.execPath, words, { env: environment, stdio: ["ignore", "pipe", "pipe"] })
  const closed = once(child, "close")
  let complaint = ""
  child.stderr.on("data", (chunk: Buffer) => (complaint += chunk.toString()))
  const lines = createInterface({ input: child.stdout })
  const states = new Map<string, AgentState>()
  const isReady = new Promise<boolean>((ready) => {
    lines.on("line", (line) => {
      if (line.startsWith("=")) {
        const [, agent = "", state = ""] = /^=(\S+) (.*)$/.exec(line) ?? []
        states.set(agent, JSON.parse(state) as AgentState)
      } else if (states.size === logAgents.length) ready(true)
    })
    void closed.then(() => ready(false))
  })
  const before = structuredClone(told)
  lines.on("line", toldBy(told))
  if (!(await isReady)) faults.push({ refused: shortened(complaint) })
  await new Promise((wake) => setTimeout(wake, random.between(runMillis.least, runMillis.most)))
  if (child.exitCode !== null) faults.push({ ended: shortened(complaint) })
  await disk.cut(async () => {
    child.kill("SIGKILL")
    await closed
  })
  for (const [agent, state] of states) {
    const found = faultsOf(agent, state, before)
    if (JSON.stringify(found) !== JSON.stringify(noFaults)) faults.push({ agent, ...found })
  }
  return faults
}

/** A bundled program is one line, which Node shows whole with an error in it. */
const shortened = (complaint: string): string => complaint.replace(/(.{200}).+/g, "$1...").slice(-2_000)
