/** A long run of the simulator is interrupted, goes on where it was, and tells what all of it found. */
import { describe, expect, it } from "vitest"
import { spawn, spawnSync } from "node:child_process"
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("./simulate.ts", import.meta.url))
const node = ["--disable-warning=ExperimentalWarning", program]
const short = ["--world", "engine", "--steps", "20", "--slice", "2", "--processes", "1"]

const withFile = async (use: (file: string) => void | Promise<void>): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), "muniment-long-run-"))
  try {
    await use(join(directory, "progress"))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const run = (...options: ReadonlyArray<string>) =>
  spawnSync(process.execPath, [...node, ...short, ...options], { encoding: "utf8" })

const linesOf = (file: string): ReadonlyArray<string> => readFileSync(file, "utf8").trimEnd().split("\n")

const rangesIn = (lines: ReadonlyArray<string>) =>
  lines.slice(1).map((line) => {
    const { from, seeds } = JSON.parse(line) as { readonly from: number; readonly seeds: number }
    return [from, from + seeds - 1]
  })

/** Until it has told of one finished slice; then it is killed. */
const interrupted = async (...options: ReadonlyArray<string>): Promise<void> => {
  const child = spawn(process.execPath, [...node, ...short, ...options], { stdio: ["ignore", "pipe", "inherit"] })
  const ended = new Promise((resolve) => child.once("close", resolve))
  for await (const line of createInterface({ input: child.stdout }))
    if (line.startsWith("seeds ")) child.kill("SIGKILL")
  await ended
}

describe("a run in several processes", () => {
  it("reports once on what all of them did, without a file", () => {
    const { status, stderr, stdout } = run("--seeds", "5", "--seed", "5000", "--processes", "2")
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
    expect(stdout).toContain("3 slices to run")
    expect(stdout).toContain("5 of 5 seeds passed (5000 to 5004)")
  })
})

describe("a long run", () => {
  it("resumes behind what was finished, and reports on all of it", () =>
    withFile(async (file) => {
      const seeds = ["--seed", "5000", "--progress", file]
      await interrupted(...seeds, "--seeds", "400")
      const before = linesOf(file)
      const finished = rangesIn(before).length * 2
      expect(finished).toBeGreaterThan(0)
      expect(finished).toBeLessThan(400)
      appendFileSync(file, '{"from":5000,"see')

      const { status, stderr, stdout } = run(...seeds, "--seeds", String(finished + 3))

      expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
      expect(linesOf(file).slice(0, before.length)).toEqual(before)
      expect(rangesIn(linesOf(file)).slice(-2)).toEqual([
        [5000 + finished, 5001 + finished],
        [5002 + finished, 5002 + finished]
      ])
      expect(stdout).toContain(`2 slices to run, ${finished / 2} finished before`)
      expect(stdout).toContain(`${finished + 3} of ${finished + 3} seeds passed (5000 to ${5002 + finished})`)
    }))

  it("goes on after a fault, and names each at the end, also of those found before", () =>
    withFile((file) => {
      const faulty = ["--mutation", "idempotency result not in the commit", "--seed", "1", "--progress", file]
      run(...faulty, "--seeds", "4", "--slice", "4")
      const { status, stdout } = run(...faulty, "--seeds", "8", "--slice", "4")
      expect(status).toBe(1)
      const slices = linesOf(file).slice(1)
      const seeds = slices.flatMap((line) => (JSON.parse(line) as Faulty).faults.map(({ seed }) => seed))
      expect(seeds.length).toBeGreaterThan(1)
      expect(stdout).toContain(`${8 - seeds.length} of 8 seeds passed`)
      for (const seed of seeds) expect(stdout).toMatch(new RegExp(`^ {2}seed ${seed} \\(engine\\), step `, "m"))
    }))

  it("refuses a file of another kind of run", () =>
    withFile((file) => {
      run("--seeds", "0", "--progress", file)
      const { status, stderr } = run("--seeds", "0", "--world", "whole", "--progress", file)
      expect(status).toBe(1)
      expect(stderr).toContain("holds another kind of run")
    }))
})

interface Faulty {
  readonly faults: ReadonlyArray<{ readonly seed: number }>
}
