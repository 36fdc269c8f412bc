/** The index suite: which vectors, how many, how long; `run.ts` calls it with other choices. */
import { machineFacts } from "../kit/Machine.ts"
import type { SuiteOptions, SuiteReport, Unavailable } from "../kit/Report.ts"
import { contenderKinds } from "./contenders.ts"
import { distributions } from "./distributions.ts"
import { goalsOf, ratiosOf } from "./goals.ts"
import { type DistributionEffort, type DistributionFigures, measureDistribution } from "./measureDistribution.ts"
import { measureSet, type SetFigures, type Settings } from "./measureSet.ts"
import { readTexts, realVectors } from "./realVectors.ts"
import { strictGoals, strictRatioNames, strictRatios, strictTables } from "./strictTables.ts"
import { hardVectors, isotropicVectors } from "./syntheticVectors.ts"
import { goalsPicture, picturesOf, tablesOf } from "./tables.ts"
import type { VectorSet } from "./VectorSet.ts"

export type SetName = "hard" | "real" | "isotropic"

/** Sets on which strict recall is measured, each of so many vectors; none where `count` is 0. */
export interface StrictRun extends DistributionEffort {
  readonly count: number
}

export interface IndexRun extends Omit<Settings, "measuresMemory"> {
  readonly command: string
  readonly sets: ReadonlyArray<{ readonly name: SetName; readonly counts: ReadonlyArray<number> }>
  readonly queries: number
  readonly strict: StrictRun
  /** Of sets of these sizes memory is measured, on the hard vectors alone: contents do not matter. */
  readonly memoryCounts: ReadonlyArray<number>
  readonly model: string
  readonly textsFile: string | undefined
  /** Names begin with one of these; all when empty. */
  readonly only: ReadonlyArray<string>
}

const seed = 7
export const defaultModel = "all-minilm-l6-v2-q8"
/** Of the real texts among the sets of strict recall: the default of the service. */
const strictModel = "e5-small-v2-q8"

const shared = {
  model: defaultModel,
  textsFile: undefined,
  only: [],
  say: (line: string): void => void process.stderr.write(`${line}\n`)
}

export const shortRun: IndexRun = {
  ...shared,
  command: "npm run bench -- --suite index",
  sets: [
    { name: "hard", counts: [1_000, 10_000] },
    { name: "real", counts: [10_000] }
  ],
  queries: 100,
  strict: { count: 10_000, rounds: 9, operations: 30 },
  effort: { k: 10, rounds: 9, roundMillis: 20 },
  writes: 1_800,
  churnShare: 0.05,
  memoryCounts: [10_000]
}

export const longRun: IndexRun = {
  ...shared,
  command: "npm run bench -- --suite index --long",
  sets: [
    { name: "hard", counts: [1_000, 10_000, 100_000] },
    { name: "real", counts: [10_000, 100_000] }
  ],
  queries: 200,
  strict: { count: 20_000, rounds: 9, operations: 200 },
  effort: { k: 10, rounds: 9, roundMillis: 500 },
  writes: 1_800,
  churnShare: 0.5,
  memoryCounts: [10_000, 100_000]
}

export const run = ({ short }: SuiteOptions): Promise<SuiteReport> => runIndex(short ? shortRun : longRun)

export const runIndex = async (options: IndexRun): Promise<SuiteReport> => {
  const machine = machineFacts()
  const kinds = contenderKinds.filter(
    ({ name }) => options.only.length === 0 || options.only.some((start) => name.startsWith(start))
  )
  const notes: Array<string> = []
  const unavailable: Array<Unavailable> = []
  const all: Array<SetFigures> = []
  for (const { set, name, count } of vectorSets(options)) {
    const note = `${name} ${count.toLocaleString("en-US")}`
    const loaded = await set()
    if ("reason" in loaded) {
      notes.push(`${note} was left out: ${loaded.reason}`)
      unavailable.push({ part: `${name} ${count},`, reason: loaded.reason })
      continue
    }
    if (loaded.count < count) {
      unavailable.push({ part: `${name} ${count},`, reason: `only ${loaded.count} vectors on this machine` })
    }
    const measuresMemory = loaded.name === "hard" && options.memoryCounts.includes(loaded.count)
    const figures = await measureSet(loaded, kinds, { ...options, measuresMemory })
    all.push(figures)
    notes.push(...figures.notes.map((line) => `${note}: ${line}`))
  }
  const strict = await strictFigures(options, notes, unavailable)
  const goals = [...goalsOf(all), ...strictGoals(strict)]
  return {
    title: "The vector index beside its peers",
    command: options.command,
    machine,
    notes: [
      `${options.queries} queries, k ${options.effort.k}, medians of ${options.effort.rounds} interleaved rounds`,
      ...(all.some(({ set }) => set.name === "real") ? [`real: texts by ${options.model}`] : []),
      ...(strict.some(({ set }) => set.name === "real") ? [`strict recall, real: texts by ${strictModel}`] : []),
      ...notes
    ],
    tables: [...strictTables(strict), ...all.flatMap(tablesOf)],
    goals,
    pictures: [...goalsPicture(goals), ...all.flatMap(picturesOf)],
    ratios: { ...ratiosOf(all), ...strictRatios(strict) },
    unavailable
  }
}

const strictFigures = async (
  { queries, say, strict, textsFile }: IndexRun,
  notes: Array<string>,
  unavailable: Array<Unavailable>
): Promise<ReadonlyArray<DistributionFigures>> => {
  if (strict.count === 0) return []
  const all: Array<DistributionFigures> = []
  const options = { model: strictModel, textsFile }
  const texts = readTexts(options)
  const makers = [
    ...[hardVectors, ...distributions].map((make) => () => make(strict.count, queries, seed)),
    ...("reason" in texts ? [] : [() => realVectors(texts, options, strict.count, queries)])
  ]
  const leaveOut = (name: string, reason: string): void => {
    notes.push(`strict recall of ${name} vectors was left out: ${reason}`)
    for (const measured of strictRatioNames(name, strict.count)) unavailable.push({ part: measured, reason })
  }
  if ("reason" in texts) leaveOut("real", texts.reason)
  for (const make of makers) {
    const set = await make()
    if (set.count < strict.count) {
      leaveOut(set.name, `only ${set.count} vectors on this machine`)
      continue
    }
    say(`  strict recall: ${set.name} ${set.count.toLocaleString("en-US")}`)
    const figures = await measureDistribution(set, strict)
    if ("reason" in figures) leaveOut(set.name, figures.reason)
    else all.push(figures)
  }
  return all
}

/** Made one after another, so that only one is in memory. */
const vectorSets = ({ sets, queries, model, textsFile, say }: IndexRun) =>
  sets.flatMap(({ name, counts }) =>
    counts.map((count) => ({
      name,
      count,
      set: async (): Promise<VectorSet | { readonly reason: string }> => {
        say(`  ${name} ${count.toLocaleString("en-US")}: vectors`)
        if (name === "hard") return hardVectors(count, queries, seed)
        if (name === "isotropic") return isotropicVectors(count, queries, seed)
        const texts = readTexts({ model, textsFile })
        return "reason" in texts ? texts : realVectors(texts, { model, textsFile }, count, queries)
      }
    }))
  )
