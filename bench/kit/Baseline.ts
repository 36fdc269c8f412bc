/**
 * The ratios a suite reached when its baseline was taken, and the comparison of a new run with them.
 * Only ratios are kept: they move far less between machines than the times they are made of.
 */
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { figure, type Goal, resultsDirectory, type Unavailable, verdictOf } from "./Report.ts"

export interface Baseline {
  /** Day it was taken, ISO 8601. */
  readonly when: string
  readonly ratios: Readonly<Record<string, number>>
  /** Names of the goals that were met. */
  readonly met?: ReadonlyArray<string>
}

export interface RatioChange {
  readonly name: string
  readonly stored: number
  /** Undefined if the run did not measure it. */
  readonly found: number | undefined
  /** Why this machine cannot measure it. */
  readonly reason: string | undefined
  readonly isRegression: boolean
}

/** A ratio that falls by more than this share of the stored one fails `--check`. */
export const regressionShareMax = 0.15

/**
 * Every stored ratio beside the new one. A ratio that is missing counts as a regression, unless this machine cannot
 * measure it.
 */
export const compareWithBaseline = (
  baseline: Baseline,
  ratios: Readonly<Record<string, number>>,
  unavailable: ReadonlyArray<Unavailable> = []
): ReadonlyArray<RatioChange> =>
  Object.entries(baseline.ratios).map(([name, stored]) => {
    const found = ratios[name]
    const reason = found === undefined ? unavailable.find(({ part }) => name.includes(part))?.reason : undefined
    const isReached = found !== undefined && found >= stored * (1 - regressionShareMax)
    return { name, stored, found, reason, isRegression: !isReached && reason === undefined }
  })

/**
 * The goals that were met and are missed now by more than ratios may fall, or are measured no longer. A goal without a
 * unit is a share, which does not swing with the machine, and may not be missed at all.
 */
export const lostGoals = ({ met = [] }: Baseline, goals: ReadonlyArray<Goal>): ReadonlyArray<string> =>
  met.filter((name) => {
    const goal = goals.find((one) => one.name === name)
    if (goal === undefined) return true
    const allowed = goal.unit === "" ? 0 : regressionShareMax
    const slack = goal.bound === "at least" ? 1 - allowed : 1 + allowed
    return verdictOf({ ...goal, wanted: goal.wanted * slack }) !== "met"
  })

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
  const parsed: unknown = JSON.parse(text)
  if (!isBaseline(parsed)) throw new Error(`${path} is no baseline: { when, ratios } was expected`)
  return parsed
}

export const writeBaseline = async (
  name: string,
  baseline: Baseline,
  directory = resultsDirectory
): Promise<string> => {
  const path = join(directory, `${name}.json`)
  const ratios = Object.fromEntries(
    Object.entries(baseline.ratios).map(([key, ratio]) => [key, Number(ratio.toPrecision(storedDigits))])
  )
  const met = baseline.met === undefined ? {} : { met: baseline.met }
  await writeFile(path, `${JSON.stringify({ when: baseline.when, ratios, ...met }, undefined, 2)}\n`)
  return path
}

const storedDigits = 4

const isBaseline = (value: unknown): value is Baseline =>
  typeof value === "object" &&
  value !== null &&
  "when" in value &&
  typeof value.when === "string" &&
  "ratios" in value &&
  typeof value.ratios === "object" &&
  value.ratios !== null &&
  Object.values(value.ratios).every((ratio) => typeof ratio === "number") &&
  (!("met" in value) || (Array.isArray(value.met) && value.met.every((name) => typeof name === "string")))
