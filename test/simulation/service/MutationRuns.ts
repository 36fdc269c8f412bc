/**
 * Runs that check whether seeds find a fault that was put in: a seed fails with the fault, and passes without it. Each
 * run is a process of its own, since a module is loaded once.
 */
import type { Mutation } from "./mutations.ts"

export interface SimulatorRun {
  readonly status: number | null
  readonly stdout: string
}

export interface MutationVerdict {
  readonly isFound: boolean
  readonly told: string
}

/** `run`: the simulator with these options. */
export const searchMutation = (
  { isWhole = false, name }: Mutation,
  { first, seeds, world }: { readonly first: string; readonly seeds: number; readonly world: string },
  run: (options: ReadonlyArray<string>) => SimulatorRun
): MutationVerdict => {
  const lives = ["--world", isWhole ? "whole" : world]
  const failure = failureIn(run(["--mutation", name, ...lives, "--seeds", String(seeds), "--seed", first]))
  const seed = failure?.match(/^seed (\d+) /)?.[1]
  if (seed === undefined) return { isFound: false, told: "NOT FOUND" }
  const without = run([...lives, "--seeds", "1", "--seed", seed])
  if (without.status === 0) return { isFound: true, told: `${failure} (passes without the mutation)` }
  const told = failureIn(without) ?? "it did not run"
  return { isFound: false, told: `NOT SHOWN: ${failure}; without the mutation, too: ${told}` }
}

/** A run that could not begin ends with 1 too, and names no seed. */
const failureIn = ({ status, stdout }: SimulatorRun): string | undefined => {
  const line = stdout.trim().split("\n").at(-1)
  return status === 1 && line?.startsWith("seed ") === true ? line : undefined
}
