/**
 * Baseline of a suite, its last runs, and the comparison of a new run with them. Only ratios are kept: they move far
 * less between machines than the times they are made of. They move between runs as well, so several are kept, and the
 * least of each is what a new run has to hold.
 */
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Schema } from "effect"
import { figure, type Goal, resultsDirectory, type SuiteReport, type Unavailable, verdictOf } from "./Report.ts"

const StoredGoal = Schema.Struct({
  name: Schema.String,
  bound: Schema.Literals(["at least", "at most"]),
  wanted: Schema.Number,
  found: Schema.Number,
  unit: Schema.String
})

const BaselineRun = Schema.Struct({
  /** Day of the run, ISO 8601. */
  when: Schema.String,
  ratios: Schema.Record(Schema.String, Schema.Number),
  /** Those that were measured. */
  goals: Schema.Array(StoredGoal)
})
export type BaselineRun = (typeof BaselineRun)["Type"]

const Baseline = Schema.Struct({ runs: Schema.NonEmptyArray(BaselineRun) })
/** Of the newest runs, the newest first. */
export type Baseline = (typeof Baseline)["Type"]

export interface RatioChange {
  readonly name: string
  /** The least of the stored runs. */
  readonly stored: number
  /** Undefined if the run did not measure it. */
  readonly found: number | undefined
  /** Why this machine cannot measure it. */
  readonly reason: string | undefined
  readonly isRegression: boolean
}

/** A ratio that falls by more than this share of the stored one fails `--check`. */
const regressionShareMax = 0.15

/** How many runs a baseline holds. */
export const baselineRunsMax = 5

export const baselineRun = ({ goals, ratios }: SuiteReport, when: Date): BaselineRun => ({
  when: when.toISOString().slice(0, 10),
  ratios,
  goals: goals.flatMap(({ bound, found, name, unit, wanted }) =>
    found === undefined || Number.isNaN(found) ? [] : [{ name, bound, wanted, found, unit }]
  )
})

export const withRun = (baseline: Baseline | undefined, run: BaselineRun): Baseline => ({
  runs: [run, ...(baseline?.runs ?? []).slice(0, baselineRunsMax - 1)]
})

export interface Comparison {
  readonly changes: ReadonlyArray<RatioChange>
  /** Names of the ratios and goals that fall short of the stored runs. */
  readonly regressions: ReadonlyArray<string>
}

export const compareWithBaseline = (
  baseline: Baseline,
  { goals, ratios, unavailable = [] }: Pick<SuiteReport, "goals" | "ratios" | "unavailable">
): Comparison => {
  const changes = ratioChanges(baseline, ratios, unavailable)
  const fallen = changes.filter(({ isRegression }) => isRegression).map(({ name }) => name)
  const lost = lostGoals(baseline, goals, unavailable).map((name) => `goal "${name}"`)
  return { changes, regressions: [...fallen, ...lost] }
}

/**
 * Every stored ratio beside the new one. A ratio that is missing counts as a regression, unless this machine cannot
 * measure it.
 */
const ratioChanges = (
  { runs }: Baseline,
  ratios: Readonly<Record<string, number>>,
  unavailable: ReadonlyArray<Unavailable>
): ReadonlyArray<RatioChange> =>
  [...new Set(runs.flatMap((run) => Object.keys(run.ratios)))].map((name) => {
    const stored = Math.min(...runs.flatMap((run) => run.ratios[name] ?? []))
    const found = ratios[name]
    const reason = found === undefined ? reasonFor(name, unavailable) : undefined
    const isReached = found !== undefined && found >= stored * (1 - regressionShareMax)
    return { name, stored, found, reason, isRegression: !isReached && reason === undefined }
  })

/**
 * The goals that all stored runs met and that are missed now by more than ratios may fall, or are measured no longer
 * though this machine could. A goal without a unit is a share, which does not swing with the machine, and may not be
 * missed at all.
 */
const lostGoals = (
  { runs }: Baseline,
  goals: ReadonlyArray<Goal>,
  unavailable: ReadonlyArray<Unavailable>
): ReadonlyArray<string> => {
  const stored = runs.flatMap((run) => run.goals)
  const missed = new Set(stored.filter((goal) => verdictOf(goal) === "missed").map(({ name }) => name))
  const held = [...new Set(stored.map(({ name }) => name))].filter((name) => !missed.has(name))
  return held.filter((name) => {
    const goal = goals.find((one) => one.name === name)
    if (goal === undefined || verdictOf(goal) === "not measured") return reasonFor(name, unavailable) === undefined
    const allowed = goal.unit === "" ? 0 : regressionShareMax
    const slack = goal.bound === "at least" ? 1 - allowed : 1 + allowed
    return verdictOf({ ...goal, wanted: goal.wanted * slack }) !== "met"
  })
}

const reasonFor = (name: string, unavailable: ReadonlyArray<Unavailable>): string | undefined =>
  unavailable.find(({ part }) => name.includes(part))?.reason

export const changesTable = (changes: ReadonlyArray<RatioChange>): ReadonlyArray<ReadonlyArray<string>> =>
  changes.map(({ name, stored, found, reason, isRegression }) => [
    name,
    figure(stored),
    found === undefined ? (reason === undefined ? "missing" : "not measured") : figure(found),
    found === undefined ? "" : `${found >= stored ? "+" : ""}${((found / stored - 1) * 100).toFixed(0)} %`,
    isRegression ? "REGRESSION" : (reason ?? "ok")
  ])

/** Undefined when no baseline of that name was ever taken. */
export const readBaseline = async (name: string, directory = resultsDirectory): Promise<Baseline | undefined> => {
  const path = join(directory, `${name}.json`)
  let text: string
  try {
    text = await readFile(path, "utf8")
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined
    throw cause
  }
  return Schema.decodeUnknownSync(Baseline)(JSON.parse(text))
}

export const writeBaseline = async (
  name: string,
  baseline: Baseline,
  directory = resultsDirectory
): Promise<string> => {
  const path = join(directory, `${name}.json`)
  const rounded = (value: number) => Number(value.toPrecision(storedDigits))
  const runs = baseline.runs.map(({ goals, ratios, when }) => ({
    when,
    ratios: Object.fromEntries(Object.entries(ratios).map(([ratio, value]) => [ratio, rounded(value)])),
    goals: goals.map((goal) => ({ ...goal, found: rounded(goal.found) }))
  }))
  await writeFile(path, `${JSON.stringify({ runs }, undefined, 2)}\n`)
  return path
}

const storedDigits = 4
