/**
 * Many seeds in slices, several processes at once, going on after a fault. What is finished stands in a file of progress
 * if one is named, one line of JSON a slice; the same command resumes where an interrupted one ended, and the last one
 * tells what all of them found.
 *
 * Invariants: a finished slice is one whole line, and none of its seeds runs again; a line that an interruption cut off
 * counts as absent.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

/** What one seed did; a process with `--lines` prints it as one line of JSON. */
export interface SeedLine {
  readonly seed: number
  readonly world: "engine" | "whole"
  readonly crashes: number
  readonly acknowledged: number
  readonly step?: number
  readonly fault?: string
}

export interface LongRun {
  /** The file of progress. */
  readonly file: string | undefined
  readonly first: number
  readonly seeds: number
  /** Of one slice: what an interruption costs at most, in each process. */
  readonly sliceSeeds: number
  readonly processes: number
  /** Decides what a seed does; a file of progress holds one kind of run. */
  readonly options: ReadonlyArray<string>
}

interface Slice {
  readonly from: number
  readonly seeds: number
  /** Of the code that ran them, with "-dirty" for one that is not committed. */
  readonly commit: string
  readonly crashes: number
  readonly acknowledged: number
  readonly faults: ReadonlyArray<Found>
}

type Found = Partial<SeedLine> & { readonly seed: number; readonly fault: string }

const program = fileURLToPath(new URL("./simulate.ts", import.meta.url))

/** Runs the seeds that the file lacks and reports on all; the number of faults in all of them. */
export const runLong = async (run: LongRun, say: (line: string) => void): Promise<number> => {
  const done = readProgress(run)
  const commit = commitNow()
  const left = slicesLeft(run, done)
  say(`${left.length} slices to run, ${done.length} finished before, ${run.processes} processes, commit ${commit}`)
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const slice = { ...next, commit, ...(await runSlice(next, run.options)) }
      if (run.file !== undefined) appendFileSync(run.file, `${JSON.stringify(slice)}\n`)
      done.push(slice)
      say(told(slice))
    }
  }
  await Promise.all(Array.from({ length: run.processes }, work))
  for (const line of reportOf(done)) say(line)
  return done.flatMap(({ faults }) => faults).length
}

const slicesLeft = ({ first, seeds, sliceSeeds }: LongRun, done: ReadonlyArray<Slice>) => {
  const ran = new Set(done.flatMap((slice) => Array.from({ length: slice.seeds }, (_, index) => slice.from + index)))
  const slices: Array<{ readonly from: number; seeds: number }> = []
  for (let seed = first; seed < first + seeds; seed++) {
    const last = slices.at(-1)
    if (ran.has(seed)) continue
    if (last !== undefined && last.from + last.seeds === seed && last.seeds < sliceSeeds) last.seeds++
    else slices.push({ from: seed, seeds: 1 })
  }
  return slices
}

/** The finished slices; the file is made if it is absent. */
const readProgress = ({ file, options }: LongRun): Array<Slice> => {
  if (file === undefined) return []
  const head = JSON.stringify({ options })
  if (!existsSync(file)) writeFileSync(file, `${head}\n`)
  const text = readFileSync(file, "utf8")
  const whole = text.slice(0, text.lastIndexOf("\n") + 1)
  const [found, ...lines] = whole.split("\n").slice(0, -1)
  if (found !== head) throw new Error(`${file} holds another kind of run: ${found}, wanted ${head}`)
  if (whole !== text) writeFileSync(file, whole)
  return lines.map((line) => JSON.parse(line) as Slice)
}

/** A process that ends before its last seed is started again behind the seed at which it ended. */
const runSlice = async ({ from, seeds }: Pick<Slice, "from" | "seeds">, options: ReadonlyArray<string>) => {
  const lines: Array<SeedLine> = []
  const faults: Array<Found> = []
  for (let next = from; next < from + seeds;) {
    const rest = ["--lines", "--seed", String(next), "--seeds", String(from + seeds - next), ...options]
    const child = spawn(process.execPath, [...process.execArgv, program, ...rest])
    const { ended, errors } = outcomeOf(child)
    for await (const line of createInterface({ input: child.stdout })) {
      const told = JSON.parse(line) as SeedLine
      lines.push(told)
      next = told.seed + 1
      if (told.fault !== undefined) faults.push({ ...told, fault: told.fault })
    }
    const status = await ended
    if (next < from + seeds)
      faults.push({ seed: next++, fault: `the simulator ended with ${status}: ${errors().trim().slice(-2_000)}` })
  }
  const sum = (of: "crashes" | "acknowledged") => lines.reduce((total, line) => total + line[of], 0)
  return { crashes: sum("crashes"), acknowledged: sum("acknowledged"), faults }
}

const outcomeOf = (child: ChildProcess) => {
  let text = ""
  child.stderr?.on("data", (chunk) => (text += String(chunk)))
  const { promise: ended, reject, resolve } = Promise.withResolvers<number | string | null>()
  child.once("error", reject)
  child.once("close", (status, signal) => resolve(status ?? signal))
  return { ended, errors: () => text }
}

const commitNow = (): string => {
  const { status, stdout } = spawnSync("git", ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"], {
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    encoding: "utf8"
  })
  return status === 0 ? stdout.trim() : "unknown"
}

const told = ({ acknowledged, crashes, faults, from, seeds }: Slice): string =>
  `seeds ${from} to ${from + seeds - 1}: ${faults.length} faults; ${crashes} crashes, ${acknowledged} answers`

/** By commit, since a fault may be mended in a later one. */
const reportOf = (slices: ReadonlyArray<Slice>): ReadonlyArray<string> => {
  const commits = [...new Set(slices.map(({ commit }) => commit))]
  return commits.flatMap((commit) => {
    const own = slices.filter((slice) => slice.commit === commit).toSorted((one, other) => one.from - other.from)
    const faults = own.flatMap((slice) => slice.faults)
    const sum = (of: "seeds" | "crashes" | "acknowledged") => own.reduce((total, slice) => total + slice[of], 0)
    const passed = sum("seeds") - faults.length
    return [
      `commit ${commit}: ${passed} of ${sum("seeds")} seeds passed (${rangesOf(own)}); ${sum("crashes")} crashes, ${sum("acknowledged")} answers`,
      ...faults.map(faultLine)
    ]
  })
}

const faultLine = ({ fault, seed, step, world }: Found): string =>
  `  seed ${seed}${world === undefined ? "" : ` (${world}), step ${step}`}: ${fault}`

/** Slices next to each other as one range. */
const rangesOf = (slices: ReadonlyArray<Slice>): string => {
  const ranges: Array<{ from: number; to: number }> = []
  for (const { from, seeds } of slices) {
    const last = ranges.at(-1)
    if (last?.to === from - 1) last.to += seeds
    else ranges.push({ from, to: from + seeds - 1 })
  }
  return ranges.map(({ from, to }) => `${from} to ${to}`).join(", ")
}
