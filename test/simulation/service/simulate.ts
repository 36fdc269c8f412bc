/**
 * `npm run simulate -- --seeds N --seed S [--store log|file] [--world engine|whole] [--steps N] [--mutations |
 * --mutation NAME]`: runs seeds `S` to `S + N - 1`, each one twice if `--replay`; `--trace` prints each step. Exit code
 * 1 when a fault is found.
 */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { type Mutation, mutations } from "./mutations.ts"
import type { SimulationResult } from "./Simulation.ts"
import { tellSteps } from "./Trace.ts"
import { wire } from "./wiring.ts"

const seedsOfMutation = 1_000

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    store: { type: "string", default: "both" },
    world: { type: "string", default: "both" },
    steps: { type: "string", default: "120" },
    trace: { type: "boolean", default: false },
    replay: { type: "boolean", default: false },
    mutations: { type: "boolean", default: false },
    mutation: { type: "string" }
  }
})

const say = (line: string): void => void process.stdout.write(`${line}\n`)

const runSeeds = async (mutation: Mutation | undefined): Promise<SimulationResult | undefined> => {
  wire(mutation)
  const { simulate } = await import("./Simulation.ts")
  const { simulateWhole } = await import("./whole/WholeSimulation.ts")
  if (values.trace) tellSteps()
  const first = Number(values.seed)
  let crashes = 0
  let acknowledged = 0
  for (let seed = first; seed < first + Number(values.seeds); seed++) {
    const chosen = seed % 4 === 0 ? "file" : "log"
    const variant = values.store === "log" || values.store === "file" ? values.store : chosen
    const isWhole = values.world === "whole" || (values.world === "both" && seed % 17 === 2)
    const run = isWhole ? simulateWhole : simulate
    const result = await run(seed, variant, Number(values.steps))
    if (result.finding !== undefined) {
      say(`seed ${seed} (${isWhole ? "whole, " : ""}${variant}), step ${result.finding.step}: ${result.finding.fault}`)
      return result
    }
    if (values.replay) {
      const again = await run(seed, variant, Number(values.steps))
      if (again.digest !== result.digest) {
        say(
          `seed ${seed} (${isWhole ? "whole, " : ""}${variant}) does not replay: ${result.digest}, then ${again.digest}`
        )
        return again
      }
    }
    crashes += result.crashes
    acknowledged += result.acknowledged
  }
  say(`${values.seeds} seeds from ${first}: no fault; ${crashes} crashes, ${acknowledged} answers`)
  return undefined
}

/** Each in a process of its own, since a module is loaded once. */
const runMutations = (): boolean => {
  let isFound = true
  for (const { isWhole = false, name } of mutations) {
    const rest = [
      "--mutation",
      name,
      "--world",
      isWhole ? "whole" : values.world,
      "--seeds",
      String(seedsOfMutation),
      "--seed",
      values.seed
    ]
    const { status, stdout } = spawnSync(
      process.execPath,
      [...process.execArgv, fileURLToPath(import.meta.url), ...rest],
      {
        encoding: "utf8"
      }
    )
    const line = stdout.trim().split("\n").at(-1)
    // A run that could not begin ends with 1 too, and names no seed.
    const wasFound = status === 1 && line?.startsWith("seed ") === true
    say(`${name} | ${wasFound ? line : "NOT FOUND"}`)
    isFound &&= wasFound
  }
  return isFound
}

const chosenMutation = mutations.find(({ name }) => name === values.mutation)
if (values.mutation !== undefined && chosenMutation === undefined) throw new Error(`no mutation ${values.mutation}`)
if (values.mutations) process.exitCode = runMutations() ? 0 : 1
else process.exitCode = (await runSeeds(chosenMutation)) === undefined ? 0 : 1
