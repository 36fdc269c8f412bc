/**
 * `npm run bench`: every suite in turn, each in a process of its own. Writes the reports into
 * `bench/results`; with `--check` compares their ratios with the stored ones instead, and writes
 * nothing; a suite that falls short runs once more, and only what falls short in both counts. Ratios, too, differ
 * between machines: `--beside` compares with those that another checkout reaches here.
 * A suite that fails is named and the others go on; the exit code is 1 then.
 */
import { fork } from "node:child_process"
import { readdir, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import {
  type Baseline,
  baselineRun,
  changesTable,
  compareWithBaseline,
  readBaseline,
  withRun,
  writeBaseline
} from "./kit/Baseline.ts"
import { goalsPage } from "./kit/GoalsPage.ts"
import { goalsText, resultsDirectory, type SuiteReport, tableText, writeReport } from "./kit/Report.ts"
import { answerHelp, wholeNumber } from "./Usage.ts"

/** Compared with peers or a baseline; run unless others are named. */
const comparisons = ["index", "engine", "http", "retrieval", "request", "cases"] as const
const suites = [...comparisons, "abuse", "console"] as const
/** Ends a suite that hangs: on an idle machine all short suites take 15 minutes together. */
const suiteMillisMax = { short: 900_000, long: 4 * 3_600_000 }

const usage = `npm run bench -- [--suite NAME]... [--long] [--check] [--update] [--data DIR]
  --suite   only this one of ${suites.join(", ")}; may be repeated
  --long    all sizes and rounds (hours); results are called <suite>-long
  --check   compare with the runs in bench/results/<suite>.json: fail on a ratio 15 % below the least of them, or a
            goal that all of them met, if a second run of the suite says so too
  --beside  compare with what this checkout of another commit, set up, reaches on this machine: twice the time
  --update  add this run to the baseline, which holds the last five, and write bench/results/goals.md from all of them
  --runs N  so many runs of each suite, one after the other (1)
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
      runs: { type: "string", default: "1" },
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
  const runs = values.suite.flatMap((suite) => Array.from({ length: wholeNumber("runs", values.runs) }, () => suite))
  for (const [index, suite] of runs.entries()) {
    const from = performance.now()
    say(`[${index + 1}/${runs.length}] ${suite} ...`)
    const failure = await runSuite(suite, options).catch((cause: unknown) => reasonOf(cause))
    say(`[${index + 1}/${runs.length}] ${suite}: ${seconds(from)}${failure === undefined ? "" : ", FAILED"}\n`)
    if (failure !== undefined) failures.push(`${suite}: ${failure}`)
  }
  if (update) say(`written: ${await writeGoals()}`)
  if (failures.length > 0) {
    say(`failed:\n${failures.join("\n")}`)
    process.exitCode = 1
  }
}

/** The page of all suites that have stored runs; its path. */
const writeGoals = async (): Promise<string> => {
  const names = (await readdir(resultsDirectory)).filter((name) => name.endsWith(".json")).toSorted()
  const suites = await Promise.all(
    names.map(async (name) => {
      const suite = name.slice(0, -".json".length)
      const baseline = await readBaseline(suite)
      return baseline === undefined ? [] : [{ suite, baseline }]
    })
  )
  const path = join(resultsDirectory, "goals.md")
  await writeFile(path, goalsPage(suites.flat()))
  return path
}

/** The failure, or undefined. */
const runSuite = async (suite: string, options: RunOptions): Promise<string | undefined> => {
  const name = options.long ? `${suite}-long` : suite
  const baseline =
    options.beside === ""
      ? await readBaseline(name)
      : withRun(undefined, baselineRun(await reportOf(suite, options, options.beside), new Date()))
  const first = await ownReport(suite, options)
  if (!options.check)
    say(`written: ${(await writeReport(name, first, { when: new Date() })).length} files of bench/results`)
  if (options.update) {
    await writeBaseline(name, withRun(baseline, baselineRun(first, new Date())))
    say(`baseline bench/results/${name}.json now holds this run too`)
  }
  if (!options.check) return undefined
  if (baseline === undefined) return `bench/results/${name}.json is missing; --update writes it`
  const once = regressionsOf(first, baseline)
  if (once.length === 0) return undefined
  say(`${suite} once more, since a run can be disturbed: ${once.join(", ")}`)
  const again = regressionsOf(await ownReport(suite, options), baseline)
  const both = once.filter((one) => again.includes(one))
  return both.length === 0 ? undefined : `regressions: ${both.join(", ")}`
}

const regressionsOf = (report: SuiteReport, baseline: Baseline): ReadonlyArray<string> => {
  const { changes, regressions } = compareWithBaseline(baseline, report)
  say(tableText(["ratio", "least before", "now", "change", ""], changesTable(changes)))
  if (changes.every(({ found }) => found === undefined)) return ["none of the stored ratios was measured"]
  return regressions
}

const ownCheckout = join(import.meta.dirname, "..")

const ownReport = async (suite: string, options: RunOptions): Promise<SuiteReport> => {
  const report = await reportOf(suite, options, ownCheckout)
  if (report.goals.length > 0) say(goalsText(report.goals))
  return report
}

const reportOf = (suite: string, { long, data }: RunOptions, checkout: string): Promise<SuiteReport> =>
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
