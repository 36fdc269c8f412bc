/** What the bench kit says about a run: verdicts, tables, and what counts as a regression. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import {
  baselineRun,
  baselineRunsMax,
  type BaselineRun,
  changesTable,
  compareWithBaseline,
  readBaseline,
  withRun,
  writeBaseline
} from "../../../bench/kit/Baseline.ts"
import { machineFacts } from "../../../bench/kit/Machine.ts"
import { isMissing, loadPeer, peerNote } from "../../../bench/kit/Peers.ts"
import { goalsPage } from "../../../bench/kit/GoalsPage.ts"
import { figure, type Goal, reportText, type SuiteReport, verdictOf, writeReport } from "../../../bench/kit/Report.ts"

const goal = { name: "latency", wanted: 2, unit: "x" }

const report: SuiteReport = {
  title: "A suite",
  command: "npm run bench",
  machine: machineFacts(),
  notes: ["a peer was left out"],
  tables: [
    { title: "Search", columns: ["engine", "p50", "p99"], rows: [["ours", 0.051234, 1]] },
    { title: "Memory", columns: ["", ""], rows: [["bytes", 48_210]] }
  ],
  goals: [{ ...goal, bound: "at least", found: 2.5, note: "in memory" }],
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
  const run: BaselineRun = { when: "2026-11-21", ratios: { a: 10, b: 10, c: 10 }, goals: [] }
  const stored = (name: string, found: number, unit = "x"): BaselineRun["goals"][number] => {
    return { name, bound: "at least", wanted: 10, found, unit }
  }
  const baseline = withRun(undefined, run)
  const measured = (ratios: Readonly<Record<string, number>>, goals: ReadonlyArray<Goal> = []) => ({ ratios, goals })

  it("fails a ratio that fell by more than 15 % and one that has gone missing, and no other", () => {
    const { changes, regressions } = compareWithBaseline(baseline, measured({ a: 8.6, b: 8.4, added: 1 }))
    expect(regressions).toEqual(["b", "c"])
    expect(changesTable(changes)[1]).toEqual(["b", "10", "8.4", "-16 %", "REGRESSION"])
  })

  it("of several runs wants the least of each ratio", () => {
    const several = withRun(baseline, { ...run, ratios: { a: 8, b: 12 } })
    const { changes, regressions } = compareWithBaseline(several, measured({ a: 7, b: 8.4, c: 9 }))
    expect(changes.map(({ name, stored }) => [name, stored])).toEqual([
      ["a", 8],
      ["b", 10],
      ["c", 10]
    ])
    expect(regressions).toEqual(["b"])
  })

  it("does not fail what this machine cannot measure", () => {
    const held = withRun(undefined, { ...run, goals: [stored("goal of b", 11), stored("goal of c", 11)] })
    const unavailable = [{ part: "b", reason: "needs --data" }]
    const { changes, regressions } = compareWithBaseline(held, { ...measured({ a: 10 }), unavailable })
    expect(changesTable(changes).map(([name, , found, , verdict]) => [name, found, verdict])).toEqual([
      ["a", "10", "ok"],
      ["b", "not measured", "needs --data"],
      ["c", "missing", "REGRESSION"]
    ])
    expect(regressions).toEqual(["c", 'goal "goal of c"'])
  })

  it("fails a ratio that fell, also if another machine could not measure it, and one that is no number", () => {
    const unavailable = [{ part: "b", reason: "" }]
    const found = { ...measured({ a: Number.NaN, b: 1, c: 10 }), unavailable }
    expect(compareWithBaseline(baseline, found).regressions).toEqual(["a", "b"])
  })

  it("loses a goal that all runs met and that is missed by more than ratios may fall, or is measured no longer", () => {
    const lost = (goals: ReadonlyArray<Goal>, met: ReadonlyArray<string>, missed: ReadonlyArray<string> = []) => {
      const runOf = (names: ReadonlyArray<string>, found: number): BaselineRun => {
        return { when: "", ratios: {}, goals: names.map((name) => stored(name, found)) }
      }
      const runs = withRun(withRun(undefined, runOf(missed, 9)), runOf(met, 11))
      return compareWithBaseline(runs, { ratios: {}, goals }).regressions
    }
    const goals = (speed: number | undefined, time: number): ReadonlyArray<Goal> => [
      { name: "speed", bound: "at least", wanted: 10, found: speed, unit: "x" },
      { name: "time", bound: "at most", wanted: 3, found: time, unit: "ms" }
    ]
    const both = ["speed", "time"]
    expect(lost(goals(8.6, 3.4), both)).toEqual([])
    expect(lost(goals(8.4, 3.5), both)).toEqual(['goal "speed"', 'goal "time"'])
    expect(lost(goals(8.4, 3.5), both, ["speed"])).toEqual(['goal "time"'])
    expect(lost(goals(undefined, 3), both)).toEqual(['goal "speed"'])
    const recall = (found: number): Goal => ({ name: "recall", bound: "at least", wanted: 0.99, found, unit: "" })
    expect([0.99, 0.989].map((found) => lost([recall(found)], ["recall"]))).toEqual([[], ['goal "recall"']])
  })

  it("takes from a report its ratios, and the goals that were measured", () => {
    const goals = [2.5, 1.5, undefined].map((found, at): Goal => {
      return { ...goal, name: `goal ${at}`, bound: "at least", found }
    })
    expect(baselineRun({ ...report, goals }, new Date(0))).toEqual({
      when: "1970-01-01",
      ratios: { latency: 2.5 },
      goals: [2.5, 1.5].map((found, at) => {
        return { name: `goal ${at}`, bound: "at least", wanted: goal.wanted, found, unit: goal.unit }
      })
    })
  })

  it("holds the newest runs, the newest first", () => {
    const days = Array.from({ length: baselineRunsMax + 2 }, (_, day) => `2026-11-0${day}`)
    const kept = days.reduce((before, when) => withRun(before, { ...run, when }), baseline)
    expect(kept.runs.map(({ when }) => when)).toEqual(days.toReversed().slice(0, baselineRunsMax))
  })

  it("reads back what was written, and is undefined before", async () => {
    expect(await readBaseline("index", directory)).toBeUndefined()
    const exact = { ...run, ratios: { a: 1.23456 }, goals: [stored("speed", 9.87654)] }
    await writeBaseline("index", withRun(undefined, exact), directory)
    const kept = { ...run, ratios: { a: 1.235 }, goals: [stored("speed", 9.877)] }
    expect(await readBaseline("index", directory)).toEqual({ runs: [kept] })
  })
})

describe("the page of goals", () => {
  const runOf = (...found: ReadonlyArray<number>): BaselineRun => {
    return {
      when: "2026-11-28",
      ratios: {},
      goals: found.map((value, at) => {
        return {
          name: ["speed", "time"][at]!,
          bound: at === 0 ? "at least" : "at most",
          wanted: 10,
          found: value,
          unit: "x"
        }
      })
    }
  }

  it("has the median of the runs, their least and most, and whether the median meets the goal", () => {
    const text = goalsPage([{ suite: "index", baseline: { runs: [runOf(9, 8), runOf(14, 11), runOf(12, 12)] } }])
    expect(text).toContain("- met: speed: 12 (9 to 14), wanted ≥ 10 x\n")
    expect(text).toContain("- missed: time: 11 (8 to 12), wanted ≤ 10 x\n")
  })

  it("has goals that only some runs measured, and says where there are none", () => {
    const text = goalsPage([
      { suite: "index", baseline: { runs: [runOf(9), runOf(11, 5)] } },
      { suite: "none", baseline: { runs: [runOf()] } }
    ])
    expect(text).toContain("- met: time: 5 (once), wanted ≤ 10 x\n")
    expect(text).toContain("## none\n\n[Report](none.md), 1 run of 2026-11-28. No goal was measured.")
  })
})

describe("a report", () => {
  it("is one Markdown file with notes, goals, tables, and as lists those of two columns", async () => {
    await writeReport("suite", report, { directory, when: new Date(0) })
    expect(await readdir(directory)).toEqual(["suite.md"])
    const text = await readFile(join(directory, "suite.md"), "utf8")
    expect(text).toContain("1970-01-01")
    expect(text).toContain("- a peer was left out")
    expect(text).toContain("- met: latency: 2.5 x, wanted at least 2 x (in memory)\n")
    expect(text).toContain("|ours|0.0512|1|")
    expect(text).toContain("## Memory\n\n- bytes: 48,200\n")
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

it("a peer that is not installed is named with the reason, without a path of this machine", async () => {
  const peer = await loadPeer("no-such-peer", (loaded): loaded is object => typeof loaded === "object")
  expect(isMissing(peer)).toBe(true)
  expect(peerNote(peer)).toMatch(/^no-such-peer was left out: Cannot find/)
  expect(peerNote(peer)).not.toContain(import.meta.dirname.split("/test/")[0])
})
