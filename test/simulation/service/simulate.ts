/**
 * `npm run simulate`: runs seeds of the simulator, or searches a seed that finds each mutation. `SimulateOptions.ts` says
 * how it is called.
 */
import { spawnSync } from "node:child_process"
import { enableCompileCache } from "node:module"
import { fileURLToPath } from "node:url"
import { runLong, type SeedLine } from "./LongRun.ts"
import { searchMutation } from "./MutationRuns.ts"
import { type Mutation, mutations } from "./mutations.ts"
import { readOptions } from "./SimulateOptions.ts"
import type { SimulationResult } from "./Simulation.ts"
import { tellSteps } from "./Trace.ts"
import { wire } from "./wiring.ts"

// To load the whole service takes as long as three seeds of it.
enableCompileCache(fileURLToPath(new URL("../../../node_modules/.cache/compiled", import.meta.url)))

const seedsOfMutation = 1_000

const values = readOptions()

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** True if none has a fault. Ends at the first that has, unless each is told in a line of its own. */
const runSeeds = async (mutation: Mutation | undefined): Promise<boolean> => {
  wire(mutation)
  const { simulate } = await import("./Simulation.ts")
  if (values.trace) tellSteps()
  const first = values.seed
  let crashes = 0
  let acknowledged = 0
  let isSound = true
  for (let seed = first; seed < first + values.seeds; seed++) {
    const isWhole = values.world === "whole" || (values.world === "both" && seed % 17 === 2)
    // It loads the whole service, which few runs need.
    const run = isWhole ? (await import("./whole/WholeSimulation.ts")).simulateWhole : simulate
    const result = await run(seed, values.steps)
    const again = values.replay ? await run(seed, values.steps) : result
    const finding = result.finding ?? replayFinding(result, again)
    const { acknowledged: answers, crashes: ends } = result
    const world = isWhole ? "whole" : "engine"
    const line: SeedLine = { seed, world, crashes: ends, acknowledged: answers, ...finding }
    if (values.lines) say(JSON.stringify(line))
    isSound &&= finding === undefined
    if (finding !== undefined && !values.lines) {
      say(`seed ${seed} (${world}), step ${finding.step}: ${finding.fault}`)
      return false
    }
    crashes += ends
    acknowledged += answers
  }
  if (!values.lines) say(`${values.seeds} seeds from ${first}: no fault; ${crashes} crashes, ${acknowledged} answers`)
  return isSound
}

const replayFinding = (result: SimulationResult, again: SimulationResult): SimulationResult["finding"] =>
  again.digest === result.digest
    ? undefined
    : { step: values.steps, fault: `does not replay: ${result.digest}, then ${again.digest}` }

const runMutations = (chosen: ReadonlyArray<Mutation>): boolean => {
  const search = { first: String(values.seed), seeds: seedsOfMutation, world: values.world }
  const verdicts = chosen.map((mutation) => {
    const verdict = searchMutation(mutation, search, runAlone)
    say(`${mutation.name} | ${verdict.told}`)
    return verdict
  })
  return verdicts.every(({ isFound }) => isFound)
}

const runAlone = (options: ReadonlyArray<string>) =>
  spawnSync(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), ...options], { encoding: "utf8" })

/** What decides the life of a seed. */
const seedOptions = (): ReadonlyArray<string> => [
  "--world",
  values.world,
  "--steps",
  String(values.steps),
  ...(values.replay ? ["--replay"] : []),
  ...(values.mutation === undefined ? [] : ["--mutation", values.mutation])
]

const runInProcesses = async (): Promise<boolean> => {
  const { processes, progress, seed, seeds, slice } = values
  const run = {
    file: progress,
    first: seed,
    seeds,
    sliceSeeds: Math.min(slice, Math.max(1, Math.ceil(seeds / processes))),
    processes,
    options: seedOptions()
  }
  return (await runLong(run, say)) === 0
}

const chosenMutation = mutations.find(({ name }) => name === values.mutation)
const isSound = values.mutations
  ? runMutations(chosenMutation === undefined ? mutations : [chosenMutation])
  : values.progress === undefined && values.processes === 1
    ? await runSeeds(chosenMutation)
    : await runInProcesses()
process.exitCode = isSound ? 0 : 1
