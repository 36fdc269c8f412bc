/**
 * `bench/results/goals.md`: where each goal stands, from the stored runs of all suites. A goal is met when the median of
 * its runs meets it; the least and the most of them stand beside it.
 */
import type { Baseline, BaselineRun } from "./Baseline.ts"
import { median } from "./Measure.ts"
import { figure, verdictOf } from "./Report.ts"

export interface SuiteRuns {
  readonly suite: string
  readonly baseline: Baseline
}

export const goalsPage = (suites: ReadonlyArray<SuiteRuns>): string =>
  [
    "# Where the goals of speed stand",
    "By `npm run bench -- --update` from the stored runs (`<suite>.json`): medians, in brackets the least and the most.",
    ...suites.map(section)
  ].join("\n\n") + "\n"

const section = ({ baseline: { runs }, suite }: SuiteRuns): string => {
  const days = [...new Set(runs.map(({ when }) => when))].toSorted().join(", ")
  const heading = `## ${suite}\n\n[Report](${suite}.md), ${runs.length} ${runs.length === 1 ? "run" : "runs"} of ${days}.`
  const goals = goalsOf(runs)
  if (goals.length === 0) return `${heading} No goal was measured.`
  return `${heading}\n\n${goals.map((goal) => line(goal, runs.length)).join("\n")}`
}

type StoredGoal = BaselineRun["goals"][number]

interface GoalRuns {
  /** As the newest run has it. */
  readonly goal: StoredGoal
  readonly found: ReadonlyArray<number>
}

/** In the order of the newest run. */
const goalsOf = (runs: ReadonlyArray<BaselineRun>): ReadonlyArray<GoalRuns> => {
  const byName = new Map<string, { goal: StoredGoal; found: Array<number> }>()
  for (const goal of runs.flatMap(({ goals }) => goals)) {
    const known = byName.get(goal.name)
    if (known === undefined) byName.set(goal.name, { goal, found: [goal.found] })
    else known.found.push(goal.found)
  }
  return [...byName.values()]
}

const signs: Readonly<Record<StoredGoal["bound"], string>> = { "at least": "≥ ", "at most": "≤ " }

/** Says of a goal that not every run has measured how many did. */
const line = ({ found, goal }: GoalRuns, runs: number): string => {
  const middle = median(found)
  const measured = found.length === runs ? "" : `, ${found.length} of the runs`
  const range =
    found.length === 1 ? "once" : `${figure(Math.min(...found))} to ${figure(Math.max(...found))}${measured}`
  const wanted = `${signs[goal.bound]}${figure(goal.wanted)} ${goal.unit}`.trimEnd()
  return `- ${verdictOf({ ...goal, found: middle })}: ${goal.name}: ${figure(middle)} (${range}), wanted ${wanted}`
}
