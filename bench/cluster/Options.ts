/** Options of the cluster's benches: whole numbers and switches, checked before anything is started. */
import { parseArgs } from "node:util"
import { answerHelp, wholeNumber } from "../Usage.ts"

export interface NumberOption {
  readonly default: number
  readonly min: number
  readonly max: number
}

export interface BenchUsage<Numbers extends string, Switches extends string> {
  /** What `--help` prints. */
  readonly usage: string
  readonly numbers: Readonly<Record<Numbers, NumberOption>>
  readonly switches: ReadonlyArray<Switches>
}

export type BenchValues<Numbers extends string, Switches extends string> = Readonly<Record<Numbers, number>> &
  Readonly<Record<Switches, boolean>>

/** Throws with the option and what it takes. */
export const parseOptions = <Numbers extends string, Switches extends string = never>(
  { numbers, switches }: Omit<BenchUsage<Numbers, Switches>, "usage">,
  args: ReadonlyArray<string>
): BenchValues<Numbers, Switches> => {
  const names = Object.keys(numbers) as Array<Numbers>
  const { values }: { readonly values: Readonly<Record<string, unknown>> } = parseArgs({
    args: [...args],
    options: Object.fromEntries([
      ...names.map((name) => [name, { type: "string" } as const] as const),
      ...switches.map((name) => [name, { type: "boolean" } as const] as const)
    ])
  })
  const read: Record<string, number | boolean> = {}
  for (const name of names) {
    const { default: otherwise, max, min } = numbers[name]
    const given = values[name]
    read[name] = given === undefined ? otherwise : wholeNumber(name, String(given), min, max)
  }
  for (const name of switches) read[name] = values[name] === true
  return read as BenchValues<Numbers, Switches>
}

/** Of this process, which ends after `--help`, or with a sentence when an option is wrong. */
export const readOptions = <Numbers extends string, Switches extends string = never>(
  bench: BenchUsage<Numbers, Switches>
): BenchValues<Numbers, Switches> => {
  answerHelp(bench.usage)
  try {
    return parseOptions(bench, process.argv.slice(2))
  } catch (cause) {
    process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\nSee --help.\n`)
    return process.exit(1)
  }
}
