/**
 * Cost of a request: processor time of the whole process, all threads, for each request, beside a health check of the
 * same process and beside the least HttpApi server with the same schemas and answers (`constantServer.ts`). Searches
 * are by words: the encoder is another matter. Servers take turns; a ratio is taken within a round.
 *
 *   node bench/request/suite.ts [--long] [--profile DIR]
 *
 * Where the time goes: `flames.ts`.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { BenchServer } from "../http/BenchServer.ts"
import { ChildServer } from "../http/ChildServer.ts"
import { machineFacts } from "../kit/Machine.ts"
import { median, quantile } from "../kit/Measure.ts"
import { reportText, type Goal, type SuiteOptions, type SuiteReport } from "../kit/Report.ts"
import { answerHelp } from "../Usage.ts"
import type { ConstantAnswers } from "./ConstantAnswers.ts"
import { type Kind, Measured, memories } from "./Measured.ts"

const callers = 8
const callersOfTails = [1, 8, 32] as const
/** Until the code of both servers is compiled: after 400, what was measured fell from round to round. */
const warmup = 4_000

interface Sizes {
  readonly rounds: number
  readonly requests: number
}

const shortSizes: Sizes = { rounds: 9, requests: 1_000 }
const longSizes: Sizes = { rounds: 15, requests: 3_000 }

const goals: Readonly<Record<Exclude<Kind, "health">, number>> = { account: 3, search: 5, write: 6 }
const kinds = Object.keys(goals) as ReadonlyArray<Exclude<Kind, "health">>
/** p99 against p50. */
const tailGoal = 3

/** Ten hits, one memory, the agent: else the figures would be of something else. */
const demandRight = ({ account, search, write }: ConstantAnswers): void => {
  const found = search as { readonly memories: ReadonlyArray<unknown> }
  const made = write as { readonly created: ReadonlyArray<unknown> }
  const known = account as { readonly agents: ReadonlyArray<{ readonly agentId: string }> }
  if (
    found.memories.length !== 10 ||
    made.created.length !== 1 ||
    !known.agents.some(({ agentId }) => agentId === "bench")
  )
    throw new Error("the service did not answer as expected")
}

interface Figures {
  /** By kind and round, microseconds. */
  readonly service: Readonly<Record<Kind, ReadonlyArray<number>>>
  readonly least: Readonly<Record<Exclude<Kind, "health">, ReadonlyArray<number>>>
  readonly tails: ReadonlyArray<{
    readonly kind: Kind
    readonly atOnce: number
    readonly service: Tail
    /** What the caller, its sockets and the machine take part in. */
    readonly least: Tail
  }>
}

interface Tail {
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
}

const measure = async (sizes: Sizes, profileDirectory: string | undefined): Promise<Figures> => {
  const root = mkdtempSync(join(tmpdir(), "muniment-bench-request-"))
  const stops: Array<() => Promise<void>> = []
  try {
    const service = new Measured(
      await BenchServer.start({
        dataDirectory: join(root, "data"),
        environment: { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_RATE_LIMITS: "off" },
        profileDirectory
      })
    )
    stops.push(() => service.stop())
    await service.fill()
    const answers: ConstantAnswers = {
      account: await service.answerTo("account"),
      search: await service.answerTo("search"),
      write: await service.answerTo("write")
    }
    demandRight(answers)
    const answersPath = join(root, "answers.json")
    writeFileSync(answersPath, JSON.stringify(answers))
    const least = new Measured(await constantServer(answersPath))
    stops.push(() => least.stop())
    return await compared(service, least, sizes)
  } finally {
    for (const stop of stops) await stop()
    rmSync(root, { recursive: true, force: true })
  }
}

const constantServer = (answersPath: string): Promise<ChildServer> =>
  ChildServer.spawn({
    arguments: [join(import.meta.dirname, "constantServer.ts")],
    environment: (port) => ({ PORT: String(port), ANSWERS: answersPath }),
    isReady: async (port) => (await fetch(`http://127.0.0.1:${port}/v1/account`)).ok
  })

const compared = async (service: Measured, least: Measured, { requests, rounds }: Sizes): Promise<Figures> => {
  const none = () => ({ account: [], search: [], write: [] }) as Record<Exclude<Kind, "health">, Array<number>>
  const ours = { ...none(), health: [] as Array<number> }
  const theirs = none()
  for (const kind of kinds) for (const server of [service, least]) await server.burst(kind, warmup, callers)
  for (let round = 0; round < rounds; round++) {
    ours.health.push((await service.burst("health", requests, callers)).micros)
    for (const kind of kinds) {
      ours[kind].push((await service.burst(kind, requests, callers)).micros)
      theirs[kind].push((await least.burst(kind, requests, callers)).micros)
    }
  }
  const tails: Array<Figures["tails"][number]> = []
  for (const kind of kinds)
    for (const atOnce of callersOfTails) {
      const mine = await tailOf(service, kind, requests, atOnce)
      tails.push({ kind, atOnce, service: mine, least: await tailOf(least, kind, requests, atOnce) })
    }
  return { service: ours, least: theirs, tails }
}

const tailOf = async (server: Measured, kind: Kind, requests: number, atOnce: number): Promise<Tail> => {
  const { millis } = await server.burst(kind, requests, atOnce)
  return { p50: quantile(millis, 0.5), p99: quantile(millis, 0.99) }
}

const timesMedian = ({ p50, p99 }: Tail): number => p99 / p50

export const run = ({ short }: SuiteOptions): Promise<SuiteReport> => report(short, undefined)

const report = async (short: boolean, profileDirectory: string | undefined): Promise<SuiteReport> => {
  const machine = machineFacts()
  const figures = await measure(short ? shortSizes : longSizes, profileDirectory)
  const timesLeast = (kind: Exclude<Kind, "health">): ReadonlyArray<number> =>
    figures.service[kind].map((micros, round) => micros / figures.least[kind][round]!)
  return {
    title: "What a request costs",
    command: `npm run bench -- --suite request${short ? "" : " --long"}`,
    machine,
    notes: [
      `${memories.toLocaleString("en-US")} memories of one agent, ${callers} callers, no encoder, owner's plan; processor time of all threads`,
      "the least server: HttpApi with the same schemas and the same answers, constant"
    ],
    tables: [
      {
        title: "Processor time of a request, microseconds",
        columns: ["request", "service", "least server", "times", "lowest", "highest", "times a health check"],
        rows: kinds.map((kind) => [
          kind,
          median(figures.service[kind]),
          median(figures.least[kind]),
          median(timesLeast(kind)),
          Math.min(...timesLeast(kind)),
          Math.max(...timesLeast(kind)),
          median(figures.service[kind].map((micros, round) => micros / figures.service.health[round]!))
        ])
      },
      {
        title: "Milliseconds at the caller",
        columns: ["request", "callers", "p50", "p99", "least server: p50", "p99"],
        rows: figures.tails.map(({ atOnce, kind, least, service }) => [
          kind,
          atOnce,
          service.p50,
          service.p99,
          least.p50,
          least.p99
        ])
      }
    ],
    goals: [
      ...kinds.map((kind): Goal => ({
        name: `${kind} against the least server`,
        bound: "at most",
        wanted: goals[kind],
        found: median(timesLeast(kind)),
        unit: "x"
      })),
      ...figures.tails.map(({ atOnce, kind, service }): Goal => ({
        name: `${kind}, ${atOnce} callers: p99 against p50`,
        bound: "at most",
        wanted: tailGoal,
        found: timesMedian(service),
        unit: "x"
      }))
    ],
    pictures: [],
    ratios: Object.fromEntries(
      kinds.map((kind) => [`least server against ours, ${kind}`, 1 / median(timesLeast(kind))])
    )
  }
}

if (import.meta.main) {
  answerHelp("node bench/request/suite.ts [--long] [--profile DIR]")
  const { values } = parseArgs({
    options: { long: { type: "boolean", default: false }, profile: { type: "string" } }
  })
  process.stdout.write(`${reportText(await report(!values.long, values.profile), new Date(), [])}\n`)
}
