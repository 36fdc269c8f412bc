/** What the bench kit says about a run: verdicts, tables, and what counts as a regression. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import {
  changesTable,
  compareWithBaseline,
  lostGoals,
  readBaseline,
  writeBaseline
} from "../../../bench/kit/Baseline.ts"
import { machineFacts } from "../../../bench/kit/Machine.ts"
import { isMissing, loadPeer, peerNote } from "../../../bench/kit/Peers.ts"
import { figure, type Goal, reportText, type SuiteReport, verdictOf, writeReport } from "../../../bench/kit/Report.ts"

const goal = { name: "latency", wanted: 2, unit: "x" }

const report: SuiteReport = {
  title: "A suite",
  command: "npm run bench",
  machine: machineFacts(),
  notes: ["a peer was left out"],
  tables: [{ title: "Search", columns: ["engine", "p50"], rows: [["ours", 0.051234]] }],
  goals: [{ ...goal, bound: "at least", found: 2.5 }],
  pictures: [],
  ratios: { latency: 2.5 }
}

let directory = ""
beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), "muniment-kit-"))))
afterEach(() => rm(directory, { recursive: true }))

describe("a goal", () => {
  it.each([
    ["at least", 2, "met"],
    ["at least", 1.9, "missed"],
    ["at most", 2, "met"],
    ["at most", 2.1, "missed"],
    ["at most", undefined, "not measured"],
    ["at least", Number.NaN, "not measured"]
  ] as const)("of %s 2 that found %s is %s", (bound, found, verdict) => {
    expect(verdictOf({ ...goal, bound, found })).toBe(verdict)
  })
})

describe("a baseline", () => {
  const baseline = { when: "2026-11-21", ratios: { a: 10, b: 10, c: 10 } }

  it("fails a ratio that fell by more than 15 % and one that has gone missing, and no other", () => {
    const changes = compareWithBaseline(baseline, { a: 8.6, b: 8.4, added: 1 })
    expect(changes.map(({ name, isRegression }) => [name, isRegression])).toEqual([
      ["a", false],
      ["b", true],
      ["c", true]
    ])
    expect(changesTable(changes)[1]).toEqual(["b", "10", "8.4", "-16 %", "REGRESSION"])
  })

  it("does not fail a ratio that this machine cannot measure", () => {
    const unavailable = [{ part: "b", reason: "needs --data" }]
    const changes = compareWithBaseline(baseline, { a: 10 }, unavailable)
    expect(changesTable(changes).map(([name, , found, , verdict]) => [name, found, verdict])).toEqual([
      ["a", "10", "ok"],
      ["b", "not measured", "needs --data"],
      ["c", "missing", "REGRESSION"]
    ])
  })

  it("fails a ratio that fell, also if another machine could not measure it", () => {
    expect(compareWithBaseline(baseline, { b: 1 }, [{ part: "b", reason: "" }])[1]?.isRegression).toBe(true)
  })

  it("fails a ratio that is no number", () => {
    expect(compareWithBaseline(baseline, { a: Number.NaN, b: 10, c: 10 })[0]?.isRegression).toBe(true)
  })

  it("loses a goal that was met and is missed by more than ratios may fall, or is measured no longer", () => {
    const met = ["speed", "time"]
    const goals = (speed: number | undefined, time: number): ReadonlyArray<Goal> => [
      { name: "speed", bound: "at least", wanted: 10, found: speed, unit: "x" },
      { name: "time", bound: "at most", wanted: 3, found: time, unit: "ms" }
    ]
    expect(lostGoals({ ...baseline, met }, goals(8.6, 3.4))).toEqual([])
    expect(lostGoals({ ...baseline, met }, goals(8.4, 3.5))).toEqual(met)
    expect(lostGoals({ ...baseline, met }, goals(undefined, 3))).toEqual(["speed"])
    expect(lostGoals(baseline, [])).toEqual([])
    const recall = (found: number): Goal => ({ name: "recall", bound: "at least", wanted: 0.99, found, unit: "" })
    expect([0.99, 0.989].map((found) => lostGoals({ ...baseline, met: ["recall"] }, [recall(found)]))).toEqual([
      [],
      ["recall"]
    ])
  })

  it("reads back what was written, and is undefined before", async () => {
    expect(await readBaseline("index", directory)).toBeUndefined()
    await writeBaseline("index", { when: "2026-11-21", ratios: { a: 1.23456 } }, directory)
    expect(await readBaseline("index", directory)).toEqual({ when: "2026-11-21", ratios: { a: 1.235 } })
  })
})

describe("a report", () => {
  it("is one Markdown file with notes, goals and tables", async () => {
    await writeReport("suite", report, { directory, when: new Date(0) })
    expect(await readdir(directory)).toEqual(["suite.md"])
    const text = await readFile(join(directory, "suite.md"), "utf8")
    expect(text).toContain("1970-01-01")
    expect(text).toContain("- a peer was left out")
    expect(text).toContain("| latency | at least 2 x | 2.5 x | met |  |")
    expect(text).toContain("| ours | 0.0512 |")
    expect(text).toBe(reportText(report, new Date(0), []))
  })

  it.each([
    [0.051234, "0.0512"],
    [12.34, "12.3"],
    [48_210, "48,200"],
    [Number.NaN, "-"]
  ])("prints %d as %s", (value, text) => {
    expect(figure(value)).toBe(text)
  })
})

describe("a peer", () => {
  it("that is not installed is named with the reason, without a path of this machine", async () => {
    const peer = await loadPeer("no-such-peer", (loaded): loaded is object => typeof loaded === "object")
    expect(isMissing(peer)).toBe(true)
    expect(peerNote(peer)).toMatch(/^no-such-peer was left out: Cannot find/)
    expect(peerNote(peer)).not.toContain(import.meta.dirname.split("/test/")[0])
  })
})
