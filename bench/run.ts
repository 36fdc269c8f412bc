/**
 * `npm run bench`: every suite in turn, each in a process of its own. Writes the reports into
 * `bench/results`; with `--check` compares their ratios with the stored ones instead, and writes
 * nothing. Ratios, too, differ between machines: `--beside` compares with those that another checkout reaches here.
 * A suite that fails is named and the others go on; the exit code is 1 then.
 */
import { fork } from "node:child_process"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import {
  type Baseline,
  changesTable,
  compareWithBaseline,
  lostGoals,
  readBaseline,
  writeBaseline
} from "./kit/Baseline.ts"
import { goalsText, type SuiteReport, tableText, verdictOf, writeReport } from "./kit/Report.ts"
import { answerHelp } from "./Usage.ts"

/** Compared with peers or a baseline; run unless others are named. */
const comparisons = ["index", "engine", "http", "retrieval", "request"] as const
const suites = [...comparisons, "abuse", "console"] as const
/** Ends a suite that hangs: on an idle machine all short suites take 15 minutes together. */
const suiteMillisMax = { short: 900_000, long: 4 * 3_600_000 }

const usage = `npm run bench -- [--suite NAME]... [--long] [--check] [--update] [--data DIR]
  --suite   only this one of ${suites.join(", ")}; may be repeated
  --long    all sizes and rounds (hours); results are called <suite>-long
  --check   compare with bench/results/<suite>.json: fail on a ratio 15 % below, or a goal no longer met
  --beside  compare with what this checkout of another commit, set up, reaches on this machine: twice the time
  --update  store the ratios of this run as the new baseline
  --data    folder with LoCoMo, for the retrieval suite`

interface RunOptions {
  readonly long: boolean
  readonly check: boolean
  /** A checkout; empty: the stored baseline. */
  readonly beside: string
  readonly update: boolean
  readonly data: string
}

const main = async (): Promise<void> => {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      suite: { type: "string", multiple: true, default: [...comparisons] },
      long: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      beside: { type: "string", default: "" },
      update: { type: "boolean", default: false },
      data: { type: "string", default: "" }
    }
  })
  const unknown = values.suite.filter((name) => !suites.some((suite) => suite === name))
  if (unknown.length > 0) throw new Error(`there is no suite ${unknown.join(", ")}; there are ${suites.join(", ")}`)
  const { beside, check, data, update } = values
  if (beside !== "" && update) throw new Error("--update stores the ratios of this checkout alone: leave --beside out")
  const pathOf = (path: string): string => (path === "" ? "" : resolve(path))
  const options = { ...values, check: check || beside !== "", beside: pathOf(beside), data: pathOf(data) }
  const failures: Array<string> = []
  for (const [index, suite] of values.suite.entries()) {
    const from = performance.now()
    say(`[${index + 1}/${values.suite.length}] ${suite} ...`)
    const failure = await runSuite(suite, options).catch((cause: unknown) => reasonOf(cause))
    say(`[${index + 1}/${values.suite.length}] ${suite}: ${seconds(from)}${failure === undefined ? "" : ", FAILED"}\n`)
    if (failure !== undefined) failures.push(`${suite}: ${failure}`)
  }
  if (failures.length > 0) {
    say(`failed:\n${failures.join("\n")}`)
    process.exitCode = 1
  }
}

/** The failure, or undefined. */
const runSuite = async (suite: string, options: RunOptions): Promise<string | undefined> => {
  const before = options.beside === "" ? undefined : baselineOf(await reportOf(suite, options, options.beside))
  const report = await reportOf(suite, options)
  const name = options.long ? `${suite}-long` : suite
  if (report.goals.length > 0) say(goalsText(report.goals))
  const regressions = options.check ? check(name, report, before ?? (await readBaseline(name))) : undefined
  if (!options.check)
    say(`written: ${(await writeReport(name, report, { when: new Date() })).length} files of bench/results`)
  if (options.update) {
    await writeBaseline(name, baselineOf(report))
    say(`baseline bench/results/${name}.json now holds this run`)
  }
  return regressions
}

const baselineOf = ({ goals, ratios }: SuiteReport): Baseline => ({
  when: new Date().toISOString().slice(0, 10),
  ratios,
  met: goals.filter((goal) => verdictOf(goal) === "met").map((goal) => goal.name)
})

const check = (name: string, report: SuiteReport, baseline: Baseline | undefined): string | undefined => {
  if (baseline === undefined) return `bench/results/${name}.json is missing; --update writes it`
  const changes = compareWithBaseline(baseline, report.ratios, report.unavailable)
  say(tableText(["ratio", `before (${baseline.when})`, "now", "change", ""], changesTable(changes)))
  if (changes.every(({ found }) => found === undefined)) return "none of the stored ratios was measured"
  const regressions = changes.filter(({ isRegression }) => isRegression).map(({ name }) => name)
  const lost = lostGoals(baseline, report.goals).map((goal) => `goal "${goal}"`)
  return [...regressions, ...lost].length === 0 ? undefined : `regressions: ${[...regressions, ...lost].join(", ")}`
}

const ownCheckout = join(import.meta.dirname, "..")

const reportOf = (suite: string, { long, data }: RunOptions, checkout = ownCheckout): Promise<SuiteReport> =>
  new Promise((settle, fail) => {
    const millisMax = long ? suiteMillisMax.long : suiteMillisMax.short
    const child = fork(join(checkout, "bench", "kit", "suiteProcess.ts"), [suite, long ? "long" : "short", data], {
      // Suites that measure memory collect garbage first.
      execArgv: ["--expose-gc", "--disable-warning=ExperimentalWarning"],
      serialization: "advanced",
      timeout: millisMax
    })
    let report: SuiteReport | undefined
    child.once("message", (message) => (report = message as SuiteReport))
    child.once("error", fail)
    child.once("exit", (code, signal) => {
      if (report !== undefined) settle(report)
      else if (signal !== null) fail(new Error(`ended by ${signal}; a suite may take ${millisMax / 1_000} s`))
      else fail(new Error(`ended with code ${code}; its own words stand above`))
    })
  })

const say = (line: string): void => void process.stdout.write(`${line}\n`)

const seconds = (from: number): string => `${((performance.now() - from) / 1_000).toFixed(0)} s`

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

await main()
