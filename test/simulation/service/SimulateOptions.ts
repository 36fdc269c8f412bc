/** Options of the simulator, checked before a seed runs. */
import { availableParallelism } from "node:os"
import { parseArgs } from "node:util"
import { answerHelp, wholeNumber } from "../../../bench/Usage.ts"
import { mutations } from "./mutations.ts"

const usage = `npm run simulate -- [options]

Runs the service on a simulated disk, clock and chains, with callers whose answers a model judges. One seed replays bit
for bit. Ends with 1 when a fault is found, or a mutation is not.

  --seeds N         so many seeds (200); 0 with --progress tells what was found
  --seed S          the first of them (1)
  --world NAME      engine, whole, or both: every 17th seed with the whole service (both)
  --steps N         of each seed (120)
  --replay          each seed twice, with equal traces
  --trace           each step
  --lines           a line of JSON for each seed, and all of them whatever is found
  --progress FILE   all seeds, in slices; a call with the same file goes on where it ended
  --processes N     that work at once, to the end of all seeds (1; with --progress one a processor)
  --slice N         seeds of a slice (500)
  --mutations       searches a seed that finds each fault which is put in on purpose
  --mutation NAME   this one alone
  --help            this text`

export interface SimulateOptions {
  readonly seeds: number
  readonly seed: number
  readonly world: "engine" | "whole" | "both"
  readonly steps: number
  readonly trace: boolean
  readonly replay: boolean
  readonly lines: boolean
  readonly progress: string | undefined
  readonly processes: number
  readonly slice: number
  readonly mutations: boolean
  readonly mutation: string | undefined
}

/** Throws with the option and what it takes. */
export const parseOptions = (args: ReadonlyArray<string>): SimulateOptions => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: "string" },
      seed: { type: "string" },
      world: { type: "string", default: "both" },
      steps: { type: "string" },
      trace: { type: "boolean", default: false },
      replay: { type: "boolean", default: false },
      lines: { type: "boolean", default: false },
      progress: { type: "string" },
      processes: { type: "string" },
      slice: { type: "string" },
      mutations: { type: "boolean", default: false },
      mutation: { type: "string" }
    }
  })
  return {
    seeds: countOf("seeds", values.seeds, 200, 0),
    seed: countOf("seed", values.seed, 1, 0),
    world: oneOf("world", values.world, ["engine", "whole", "both"]),
    steps: countOf("steps", values.steps, 120),
    trace: values.trace,
    replay: values.replay,
    lines: values.lines,
    progress: values.progress,
    processes: countOf("processes", values.processes, values.progress === undefined ? 1 : availableParallelism()),
    slice: countOf("slice", values.slice, 500),
    mutations: values.mutations,
    mutation:
      values.mutation === undefined
        ? undefined
        : oneOf(
            "mutation",
            values.mutation,
            mutations.map(({ name }) => name)
          )
  }
}

/** Of this process, which ends after `--help`, or with a sentence when an option is wrong. */
export const readOptions = (): SimulateOptions => {
  answerHelp(usage)
  try {
    return parseOptions(process.argv.slice(2))
  } catch (cause) {
    process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\nSee --help.\n`)
    return process.exit(2)
  }
}

const countOf = (name: string, text: string | undefined, otherwise: number, min = 1): number =>
  text === undefined ? otherwise : wholeNumber(name, text, min)

const oneOf = <Name extends string>(option: string, text: string, names: ReadonlyArray<Name>): Name => {
  const name = names.find((each) => each === text)
  if (name === undefined) throw new Error(`--${option} takes ${names.join(", ")}, not "${text}"`)
  return name
}
