/**
 * What an attacker or a crowd does to a running service. This part is overload: arrivals at multiples of the capacity
 * that do not wait for answers.
 *
 * `npm run bench -- --suite abuse`, or this file itself (`--help`), also against a service that runs already.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { BenchServer } from "../http/BenchServer.ts"
import { machineFacts } from "../kit/Machine.ts"
import { type Goal, goalsText, type SuiteOptions, type SuiteReport, tableText, verdictOf } from "../kit/Report.ts"
import { answerHelp } from "../Usage.ts"
import { bodiesAtOnce, type BodiesResult, largeBodies } from "./Bodies.ts"
import { p50, p99 } from "./Load.ts"
import { overload, type OverloadOptions, type OverloadResult } from "./Overload.ts"
import { type ServiceView, viewOf } from "./ServiceView.ts"
import { type Target, Wire } from "./Wire.ts"
import { kindsOfWork, type KindOfWork, seeds } from "./Work.ts"

const usage = `node bench/abuse/suite.ts [options]
  --work NAME     only this one of ${kindsOfWork.join(", ")}; may be repeated
  --factors LIST  arrivals by capacity (1,2,5)
  --seconds N     of each flood (30)
  --model NAME    embedding model of the service that is started (auto; none searches by words)
  --url URL       a running service, with --key and --second-key of two accounts on plan owner
  --check         exit code 1 if a goal is missed`

const goalFactor = 5
const wanted = {
  goodput: 0.9,
  p99Millis: 2_000,
  refusalMillis: 50,
  neighbour: 3,
  recoverySeconds: 2,
  bodiesMegabytes: 150
}

type LoadOptions = Omit<OverloadOptions, "target" | "view" | "noisyKey" | "quietKey">

export const run = ({ short }: SuiteOptions): Promise<SuiteReport> =>
  onOwnService("auto", (service) =>
    measured(service, kindsOfWork, { factors: [1, 2, 5], seconds: short ? 10 : 30, calmSeconds: short ? 4 : 10 }, [
      "npm run bench -- --suite abuse",
      ...(short ? [] : ["--long"])
    ])
  )

interface Service {
  readonly target: Target
  readonly noisyKey: string
  readonly quietKey: string
  readonly view: ServiceView
}

/** A service of its own with two accounts without limits, ended afterwards. */
const onOwnService = async <Result>(model: string, use: (service: Service) => Promise<Result>): Promise<Result> => {
  const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-bench-abuse-"))
  const server = await BenchServer.start({ dataDirectory, environment: { MUNIMENT_EMBEDDING_MODEL: model } })
  try {
    const token = readFileSync(join(dataDirectory, "operator-token"), "utf8").trim()
    const target = { host: "127.0.0.1", port: server.port }
    return await use({
      target,
      noisyKey: await newKey(target, token, "noisy"),
      quietKey: await newKey(target, token, "quiet"),
      view: viewOf(target, server)
    })
  } finally {
    await server.stop()
    rmSync(dataDirectory, { recursive: true, force: true })
  }
}

const newKey = async ({ host, port }: Target, token: string, account: string): Promise<string> => {
  const response = await fetch(`http://${host}:${port}/admin/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ account, plan: "owner" })
  })
  if (!response.ok) throw new Error(`no account: ${response.status}`)
  return ((await response.json()) as { readonly secret: string }).secret
}

const measured = async (
  { noisyKey, quietKey, target, view }: Service,
  kinds: ReadonlyArray<KindOfWork>,
  load: LoadOptions,
  command: ReadonlyArray<string>
): Promise<SuiteReport> => {
  const machine = machineFacts()
  const wire = new Wire(target, 1)
  for (const key of [noisyKey, quietKey]) {
    for (const seed of seeds(target, key)) {
      const { status } = await wire.send(seed)
      if (status !== 200) throw new Error(`seeding answered ${status}`)
    }
  }
  wire.close()
  // First, while the heap is small.
  const bodies = Number.isNaN(view.residentBytes())
    ? undefined
    : await largeBodies(target, noisyKey, view.residentBytes)
  const results: Array<OverloadResult> = []
  for (const kind of kinds) {
    process.stderr.write(`${kind} ...\n`)
    results.push(await overload(kind, { ...load, target, view, noisyKey, quietKey }))
  }
  return reportOf({ bodies, results }, load, command.join(" "), machine)
}

interface Measured {
  /** Undefined of a service whose memory cannot be seen. */
  readonly bodies: BodiesResult | undefined
  readonly results: ReadonlyArray<OverloadResult>
}

const reportOf = (
  { bodies, results }: Measured,
  { factors, seconds }: LoadOptions,
  command: string,
  machine: SuiteReport["machine"]
): SuiteReport => ({
  title: "Abuse: overload",
  command,
  machine,
  notes: [
    "The load generator is a process of its own on the same machine: at high factors it takes processor time from the service, so goodput is a lower bound. Times are those that it sees: where others use the machine they contain its own delay.",
    `Capacity is that of a closed loop. Floods of one account arrive evenly for ${seconds} s and wait for no answer. Beside them a second account sends a tenth of its half; its idle p99 was measured alone at the same rate. Times in milliseconds.`
  ],
  tables: [overloadTable(results)],
  goals: [...bodyGoals(bodies), ...results.flatMap((result) => goalsOf(result, Math.max(...factors)))],
  pictures: [],
  ratios: Object.fromEntries(
    results.flatMap(({ capacity, kind, rounds }) =>
      rounds.map(({ factor, noisy }) => [`${kind}: goodput at ${factor} by capacity`, noisy.goodput / capacity])
    )
  )
})

const bodyGoals = (bodies: BodiesResult | undefined): ReadonlyArray<Goal> =>
  bodies === undefined
    ? []
    : [
        {
          name: `${bodiesAtOnce} bodies of 1 MiB at once: growth of resident memory`,
          bound: "at most",
          wanted: wanted.bodiesMegabytes,
          found: bodies.grownBytes / 1e6,
          unit: "MB",
          note: `${bodies.served} served, ${bodies.refused} refused`
        }
      ]

const overloadTable = (results: ReadonlyArray<OverloadResult>): SuiteReport["tables"][number] => ({
  title: "Arrivals by capacity",
  columns: [
    "work",
    "capacity /s",
    "factor",
    "goodput by capacity",
    "admitted p50",
    "p99",
    "refused",
    "without Retry-After",
    "refusal p50",
    "second account p99 by idle",
    "its idle p99",
    "its refused",
    "health p99",
    "generator's lag p99",
    "event loop delay p99",
    "CPU of one served, us",
    "of a refusal, us",
    "normal after, s",
    "other answers"
  ],
  rows: results.flatMap(({ capacity, idleP99, kind, rounds, servedMicros }) =>
    rounds.map(({ factor, healthP99, loopDelayMillis, noisy, quiet, recoverySeconds, refusalMicros }) => [
      kind,
      capacity,
      factor,
      noisy.goodput / capacity,
      p50(noisy.servedMillis),
      p99(noisy.servedMillis),
      noisy.refusedMillis.length / noisy.sent,
      noisy.refusedWithoutRetryAfter,
      p50(noisy.refusedMillis),
      p99(quiet.servedMillis) / idleP99,
      idleP99,
      quiet.refusedMillis.length,
      healthP99,
      p99(noisy.lagMillis),
      loopDelayMillis,
      servedMicros,
      refusalMicros,
      recoverySeconds,
      [...noisy.others].map(([status, count]) => `${count} x ${status}`).join(", ")
    ])
  )
})

const goalsOf = ({ capacity, idleP99, kind, rounds }: OverloadResult, factorMax: number): ReadonlyArray<Goal> => {
  const round = rounds.find(({ factor }) => factor === factorMax)
  if (round === undefined) return []
  const { noisy, quiet, recoverySeconds } = round
  const at = `${kind} at ${factorMax} by capacity`
  const most = (name: string, limit: number, found: number, unit: string): Goal => ({
    name: `${at}: ${name}`,
    bound: "at most",
    wanted: limit,
    found,
    unit
  })
  return [
    {
      name: `${at}: goodput`,
      bound: "at least",
      wanted: wanted.goodput,
      found: noisy.goodput / capacity,
      unit: "x capacity",
      ...(factorMax === goalFactor ? {} : { note: `the goal is set for ${goalFactor}` })
    },
    most("p99 of admitted", wanted.p99Millis, p99(noisy.servedMillis), "ms"),
    most("refusals without Retry-After", 0, noisy.refusedWithoutRetryAfter, ""),
    most("median refusal", wanted.refusalMillis, p50(noisy.refusedMillis), "ms"),
    most("second account's p99", wanted.neighbour, p99(quiet.servedMillis) / idleP99, "x idle"),
    most("normal again", wanted.recoverySeconds, recoverySeconds, "s")
  ]
}

const main = async (): Promise<void> => {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      work: { type: "string", multiple: true, default: [...kindsOfWork] },
      factors: { type: "string", default: "1,2,5" },
      seconds: { type: "string", default: "30" },
      model: { type: "string", default: "auto" },
      url: { type: "string" },
      key: { type: "string" },
      "second-key": { type: "string" },
      check: { type: "boolean", default: false }
    }
  })
  const kinds = kindsOfWork.filter((kind) => values.work.includes(kind))
  const seconds = Number(values.seconds)
  const load: LoadOptions = {
    factors: values.factors.split(",").map(Number),
    seconds,
    calmSeconds: Math.min(10, Math.max(3, seconds / 3))
  }
  const measure = (service: Service) => measured(service, kinds, load, ["node bench/abuse/suite.ts"])
  const report =
    values.url === undefined
      ? await onOwnService(values.model, measure)
      : await measure(givenService(values.url, values.key, values["second-key"]))
  for (const { columns, rows } of report.tables) process.stdout.write(`${tableText(columns, rows)}\n\n`)
  process.stdout.write(`${goalsText(report.goals)}\n`)
  if (values.check && report.goals.some((goal) => verdictOf(goal) === "missed")) process.exitCode = 1
}

const givenService = (url: string, noisyKey: string | undefined, quietKey: string | undefined): Service => {
  if (noisyKey === undefined || quietKey === undefined) throw new Error("--url needs --key and --second-key")
  const { hostname, port } = new URL(url)
  const target = { host: hostname, port: Number(port || 80) }
  return { target, noisyKey, quietKey, view: viewOf(target, undefined) }
}

if (import.meta.main) await main()
