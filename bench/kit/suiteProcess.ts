/**
 * One suite in a process of its own: what it leaves behind (heap, threads, native memory, a crash)
 * touches no other suite. Forked by `bench/run.ts`, which gets the report as a message.
 */
import { pathToFileURL } from "node:url"
import { join } from "node:path"
import type { SuiteOptions, SuiteReport } from "./Report.ts"

interface Suite {
  readonly run: (options: SuiteOptions) => Promise<SuiteReport>
}

const isSuite = (loaded: unknown): loaded is Suite =>
  typeof loaded === "object" && loaded !== null && "run" in loaded && typeof loaded.run === "function"

const main = async ([name, short, data]: ReadonlyArray<string>): Promise<void> => {
  const path = join(import.meta.dirname, "..", name ?? "", "suite.ts")
  const loaded: unknown = await import(pathToFileURL(path).href)
  if (!isSuite(loaded)) throw new Error(`bench/${name}/suite.ts exports no run(options)`)
  const report = await loaded.run({ short: short === "short", data: data === "" ? undefined : data })
  process.send?.(report, () => process.exit(0))
}

if (import.meta.main) await main(process.argv.slice(2))
