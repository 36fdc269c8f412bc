/**
 * `npm test`: runs vitest over all folders of tests and prints
 * `N passed, N failed` as its last line, counted from vitest's JSON report. `--long` runs the tests
 * named `*.long.test.ts` too; `--record` notes how long each file took, by which the next runs order them; other arguments
 * go to vitest (`npm test -- test/unit/client`).
 *
 * Files that fail run once more, alone, because a busy machine must not fail a test. What passes only then is named at
 * the end: it is a fault to mend, of the test or of the service.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { fetchModel } from "@muniment/models/ModelFiles"
import { fileSecondsFile, nameOfFile } from "../test/support/fileSeconds.ts"

interface FileResult {
  readonly name: string
  readonly status: string
  readonly assertionResults: ReadonlyArray<{ readonly status: string; readonly fullName: string }>
  /** Milliseconds since the epoch. */
  readonly startTime: number
  readonly endTime: number
}

interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly testResults: ReadonlyArray<FileResult>
}

export interface Tally {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** A file that could not be loaded counts as one failure, and so does an error outside every test. */
export const tallyOf = (report: Report, exitCode: number | null): Tally => {
  const unloaded = report.testResults.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0
  )
  const failed = report.numFailedTests + unloaded.length
  const isUnexplained = exitCode !== 0 && failed === 0
  return { passed: report.numPassedTests, failed: isUnexplained ? 1 : failed, skipped: report.numPendingTests }
}

/** Beside the default model: the tests of re-embedding change from the one to the other. */
const secondModel = "all-minilm-l6-v2-q8"

/** More than this is no accident of a busy machine. */
const retriedFilesMax = 5

/**
 * The failed files of a run that may run once more: none if there are too many, or if an error lies outside all files.
 */
export const retriedFiles = (report: Report, exitCode: number | null): ReadonlyArray<string> => {
  const failed = report.testResults.filter(({ status }) => status === "failed").map(({ name }) => name)
  return exitCode !== 0 && failed.length <= retriedFilesMax ? failed : []
}

/** The report after the files `retried` ran again: their second results instead of their first. */
export const mergeReports = (first: Report, second: Report, retried: ReadonlyArray<string>): Report => {
  const testResults = [...first.testResults.filter(({ name }) => !retried.includes(name)), ...second.testResults]
  const count = (status: string): number =>
    testResults.flatMap(({ assertionResults }) => assertionResults.filter((test) => test.status === status)).length
  return {
    testResults,
    numPassedTests: count("passed"),
    numFailedTests: count("failed"),
    numPendingTests: first.numPendingTests
  }
}

/** Whole seconds of each file, by name; those of less than one are all alike. */
export const secondsOf = ({ testResults }: Pick<Report, "testResults">): Readonly<Record<string, number>> => {
  const seconds = testResults.map(({ endTime, name, startTime }) => [
    nameOfFile(name),
    Math.round((endTime - startTime) / 1_000)
  ])
  return Object.fromEntries(seconds.sort())
}

const root = resolve(import.meta.dirname, "..")

const main = async (): Promise<number> => {
  await bringSecondModel(process.env["MUNIMENT_MODELS_DIR"] ?? join(root, "models"))
  const args = process.argv.slice(2)
  const isLong = args.includes("--long")
  const wanted = args.filter((argument) => argument !== "--long" && argument !== "--record")
  const first = runVitest(wanted, isLong)
  if (args.includes("--record")) writeFileSync(fileSecondsFile, `${JSON.stringify(secondsOf(first.report), null, 2)}\n`)
  const retried = retriedFiles(first.report, first.status)
  const { report, status } = retried.length === 0 ? first : retry(first.report, retried, isLong)
  const tally = tallyOf(report, status)
  if (tally.skipped > 0) process.stdout.write(`${tally.skipped} skipped\n`)
  process.stdout.write(`${tally.passed} passed, ${tally.failed} failed\n`)
  return status === 0 && tally.failed === 0 ? 0 : 1
}

interface Run {
  readonly report: Report
  readonly status: number | null
}

const runVitest = (args: ReadonlyArray<string>, isLong: boolean): Run => {
  const reports = mkdtempSync(join(tmpdir(), "muniment-test-"))
  const reportFile = join(reports, "report.json")
  try {
    const vitest = [join(root, "node_modules", "vitest", "vitest.mjs"), "run", "--reporter=default", "--reporter=json"]
    const { status } = spawnSync(process.execPath, [...vitest, `--outputFile.json=${reportFile}`, ...args], {
      cwd: root,
      stdio: "inherit",
      env: { ...process.env, MUNIMENT_LONG_TESTS: isLong ? "1" : "0" }
    })
    return { report: readReport(reportFile), status }
  } finally {
    rmSync(reports, { recursive: true, force: true })
  }
}

const retry = (first: Report, retried: ReadonlyArray<string>, isLong: boolean): Run => {
  process.stdout.write(`\nOnce more, alone: ${retried.join(", ")}\n`)
  const again = runVitest([...retried, "--maxWorkers=1"], isLong)
  const failedFirst = first.testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === "failed").map(({ fullName }) => fullName)
  )
  process.stdout.write(`Failed beside the others (a fault to mend even where it passed alone):\n`)
  for (const name of failedFirst) process.stdout.write(`  ${name}\n`)
  return { report: mergeReports(first, again.report, retried), status: again.status }
}

/** Quick when it is there. Without it the tests that need it fail and say so; the others run. */
const bringSecondModel = async (modelsDir: string): Promise<void> => {
  try {
    const { modelId } = await fetchModel(secondModel, modelsDir)
    process.stdout.write(`Second embedding model for the tests: ${modelId}.\n`)
  } catch (cause) {
    process.stderr.write(`No second embedding model for the tests of re-embedding: ${String(cause)}\n`)
  }
}

/** No report means that vitest itself did not start: nothing passed; its exit code says why. */
const readReport = (file: string): Report => {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Report
  } catch (cause) {
    process.stderr.write(`vitest left no report: ${String(cause)}\n`)
    return { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0, testResults: [] }
  }
}

if (import.meta.main) process.exitCode = await main()
