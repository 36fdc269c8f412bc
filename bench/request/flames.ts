/**
 * Profiles of requests: a flame graph of the main thread for each kind of request of `suite.ts`.
 *
 *   node bench/request/flames.ts [--into DIR]
 *
 * Writes `request-flames-<kind>.svg`, by default into `bench/results`.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { BenchServer } from "../http/BenchServer.ts"
import { answerHelp } from "../Usage.ts"
import { type CpuProfile, flameGraph, flamesOf } from "./FlameGraph.ts"
import { type Kind, Measured } from "./Measured.ts"

const kinds = ["account", "search", "write"] as const satisfies ReadonlyArray<Kind>
const callers = 8
const warmup = 2_000
const requests = 4_000
/** The service measures its own searches 5 seconds after its start. */
const settledMillis = 8_000

/** Microseconds of the clock of profiles. */
const clock = (): number => Number(process.hrtime.bigint() / 1_000n)

const profiled = async (into: string): Promise<void> => {
  const root = mkdtempSync(join(tmpdir(), "muniment-bench-flames-"))
  const profiles = join(root, "profiles")
  try {
    const startedMicros = clock()
    const service = new Measured(
      await BenchServer.start({
        dataDirectory: join(root, "data"),
        environment: { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_RATE_LIMITS: "off" },
        profileDirectory: profiles
      })
    )
    await service.fill()
    const leftMillis = settledMillis - (clock() - startedMicros) / 1_000
    await new Promise((wake) => setTimeout(wake, Math.max(0, leftMillis)))
    const windows: Array<readonly [Kind, number, number]> = []
    for (const kind of kinds) {
      await service.burst(kind, warmup, callers)
      const from = clock()
      await service.burst(kind, requests, callers)
      windows.push([kind, from, clock()])
    }
    await service.stop()
    const profile = profileIn(profiles)
    for (const [kind, from, until] of windows) {
      const title = `${kind}: processor time of the main thread, ${requests.toLocaleString("en-US")} requests of ${callers} callers`
      writeFileSync(join(into, `request-flames-${kind}.svg`), flameGraph(flamesOf(profile, from, until), title))
    }
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** Of the main thread: the largest. */
const profileIn = (directory: string): CpuProfile => {
  const paths = readdirSync(directory).map((name) => join(directory, name))
  const [largest] = paths.toSorted((one, other) => statSync(other).size - statSync(one).size)
  if (largest === undefined) throw new Error("the service left no profile")
  return JSON.parse(readFileSync(largest, "utf8")) as CpuProfile
}

if (import.meta.main) {
  answerHelp("node bench/request/flames.ts [--into DIR]")
  const { values } = parseArgs({
    options: { into: { type: "string", default: join(import.meta.dirname, "../results") } }
  })
  mkdirSync(values.into, { recursive: true })
  await profiled(values.into)
}
