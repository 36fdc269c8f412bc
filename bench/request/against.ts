/**
 * Requests a second of many callers, this source against another checkout of the service that is set up, for instance
 * of an earlier commit. Both serve the same 1,000 memories without an encoder; they take turns, and a ratio is taken
 * within a round.
 *
 *   node bench/request/against.ts --other DIR [--callers 32] [--rounds 12] [--requests 2000]
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { BenchServer } from "../http/BenchServer.ts"
import { machineFacts, machineText } from "../kit/Machine.ts"
import { median } from "../kit/Measure.ts"
import { answerHelp, wholeNumber } from "../Usage.ts"
import { type Kind, Measured } from "./Measured.ts"

const usage = "node bench/request/against.ts --other DIR [--callers 32] [--rounds 12] [--requests 2000]"

interface Turns {
  readonly other: string
  readonly callers: number
  readonly rounds: number
  readonly requests: number
}

const compared = async ({ callers, other, requests, rounds }: Turns): Promise<void> => {
  const root = mkdtempSync(join(tmpdir(), "muniment-bench-against-"))
  const running: Array<Measured> = []
  const start = async (name: string, checkout?: string): Promise<Measured> => {
    const server = new Measured(
      await BenchServer.start({
        dataDirectory: join(root, name),
        checkout,
        environment: { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_RATE_LIMITS: "off" }
      })
    )
    running.push(server)
    await server.fill()
    return server
  }
  try {
    const [ours, theirs] = [await start("ours"), await start("theirs", other)]
    process.stdout.write(
      `${machineText(machineFacts())}\n${callers} callers, ${rounds} rounds of ${requests} requests\n`
    )
    for (const kind of ["search", "write"] as const) {
      const figures = async (server: Measured): Promise<Figures> => {
        const startedMillis = performance.now()
        const { micros } = await server.burst(kind, requests, callers)
        return { rate: (requests * 1_000) / (performance.now() - startedMillis), micros }
      }
      const found: Array<Round> = []
      for (const server of [ours, theirs]) await server.burst(kind, requests, callers)
      for (let round = 0; round < rounds; round++)
        found.push({ ours: await figures(ours), theirs: await figures(theirs) })
      process.stdout.write(`${lineOf(kind, found)}\n`)
    }
  } finally {
    for (const server of running) await server.stop()
    rmSync(root, { recursive: true, force: true })
  }
}

interface Figures {
  /** Requests a second. */
  readonly rate: number
  /** Processor time of a request, all threads. */
  readonly micros: number
}

interface Round {
  readonly ours: Figures
  readonly theirs: Figures
}

const lineOf = (kind: Kind, rounds: ReadonlyArray<Round>): string => {
  const compared = (what: keyof Figures): string => {
    const times = rounds.map(({ ours, theirs }) => ours[what] / theirs[what]).toSorted((one, other) => one - other)
    const [ours, theirs] = [median(rounds.map((one) => one.ours[what])), median(rounds.map((one) => one.theirs[what]))]
    const range = `${times[0]!.toFixed(2)} to ${times.at(-1)!.toFixed(2)}`
    return `${ours.toFixed(0)}, there ${theirs.toFixed(0)}: ${median(times).toFixed(2)} times (${range})`
  }
  return `${kind}: requests a second ${compared("rate")}; microseconds of processor time ${compared("micros")}`
}

answerHelp(usage)
const { values } = parseArgs({
  options: {
    other: { type: "string" },
    callers: { type: "string", default: "32" },
    rounds: { type: "string", default: "12" },
    requests: { type: "string", default: "2000" }
  }
})
if (values.other === undefined) throw new Error(`--other is missing: ${usage}`)
await compared({
  other: values.other,
  callers: wholeNumber("callers", values.callers),
  rounds: wholeNumber("rounds", values.rounds),
  requests: wholeNumber("requests", values.requests)
})
