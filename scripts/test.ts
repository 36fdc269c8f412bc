/**
 * `npm test`: runs vitest over unit, component, integration, property, simulation and crash tests and prints
 * `N passed, N failed` as its last line, counted from vitest's JSON report. `--long` runs the tests
 * named `*.long.test.ts` too; other arguments go to vitest (`npm test -- test/unit/client`).
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { fetchModel } from "@muniment/models/ModelFiles"

interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly testResults: ReadonlyArray<{ readonly status: string; readonly assertionResults: ReadonlyArray<unknown> }>
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

const main = async (): Promise<number> => {
  const root = resolve(import.meta.dirname, "..")
  await bringSecondModel(process.env["MUNIMENT_MODELS_DIR"] ?? join(root, "models"))
  const args = process.argv.slice(2)
  const reports = mkdtempSync(join(tmpdir(), "muniment-test-"))
  const reportFile = join(reports, "report.json")
  try {
    const vitest = [join(root, "node_modules", "vitest", "vitest.mjs"), "run", "--reporter=default", "--reporter=json"]
    const { status } = spawnSync(
      process.execPath,
      [...vitest, `--outputFile.json=${reportFile}`, ...args.filter((argument) => argument !== "--long")],
      {
        cwd: root,
        stdio: "inherit",
        env: { ...process.env, MUNIMENT_LONG_TESTS: args.includes("--long") ? "1" : "0" }
      }
    )
    const tally = tallyOf(readReport(reportFile), status)
    if (tally.skipped > 0) process.stdout.write(`${tally.skipped} skipped\n`)
    process.stdout.write(`${tally.passed} passed, ${tally.failed} failed\n`)
    return status === 0 && tally.failed === 0 ? 0 : 1
  } finally {
    rmSync(reports, { recursive: true, force: true })
  }
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
