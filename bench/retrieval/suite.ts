/**
 * Quality of recall: whether a search finds the turns that answer a question, and the newest state of
 * a fact. Sets of our own always; LoCoMo and the cases of attestor from the folder `data`, when given.
 * Quality is exact on every machine; nothing here is timed.
 */
import { join } from "node:path"
import { barChart } from "../kit/Chart.ts"
import { machineFacts } from "../kit/Machine.ts"
import type { Goal, ReportTable, SuiteOptions, SuiteReport } from "../kit/Report.ts"
import { readLocomo } from "./Locomo.ts"
import type { Corpus } from "./Locomo.ts"
import type { Metrics } from "./Metrics.ts"
import { readOwnTurns } from "./OwnTurns.ts"
import { measureSupersession } from "./supersession.ts"
import type { Outcome } from "./supersession.ts"
import { readAttestorSupersession, readOwnSupersession } from "./SupersessionSet.ts"
import { measureTurns } from "./TurnQuality.ts"
import type { RankingQuality, TurnQuality } from "./TurnQuality.ts"

export interface RetrievalOptions {
  readonly data: string | undefined
  readonly modelsDir: string
  /** The first one is the service's default. */
  readonly modelIds: ReadonlyArray<string>
  readonly command: string
}

interface TurnSet {
  readonly name: string
  readonly corpora: ReadonlyArray<Corpus>
  readonly quality: TurnQuality
}

const defaultModel = "e5-small-v2-q8"
const otherModels = ["all-minilm-l6-v2-q8", "bge-small-en-v15-q8"]
export const defaultModels: ReadonlyArray<string> = [defaultModel, ...otherModels]
const defaultModelsDir = join(import.meta.dirname, "..", "..", "models")
/** LoCoMo, fused: of all questions, and without those that ask about the wrong person or event. */
const locomoGoal = { all: 0.82, withoutAdversarial: 0.79 }

export const run = ({ short, data }: SuiteOptions): Promise<SuiteReport> =>
  measure({
    data,
    modelsDir: process.env["MUNIMENT_MODELS_DIR"] ?? defaultModelsDir,
    modelIds: short ? [defaultModel] : defaultModels,
    command: `npm run bench -- --suite retrieval${short ? "" : " --long"}${data === undefined ? "" : " --data DIR"}`
  })

export const measure = async (options: RetrievalOptions): Promise<SuiteReport> => {
  const machine = machineFacts()
  const { data, modelsDir, modelIds } = options
  const own = await turnSet("our own turns", [readOwnTurns()], modelsDir, modelIds)
  const locomo = data === undefined ? undefined : await turnSet("LoCoMo", readLocomo(data), modelsDir, modelIds)
  const attestor = data === undefined ? undefined : readAttestorSupersession(data)
  const sets = [readOwnSupersession(), ...(attestor === undefined ? [] : [attestor])]
  const outcomes = await measureSupersession(sets, modelsDir)
  const turnSets = locomo === undefined ? [own] : [locomo, own]
  return {
    title: "Retrieval: evidence found, and facts that change",
    command: options.command,
    machine,
    notes: [
      ...turnSets.map(noteOf),
      "Words, meaning and fusion are the service's own; min-max and reciprocal rank fusion stand beside them.",
      ...own.quality.missing.map(({ modelId, reason }) => `${modelId} was left out: ${reason}`)
    ],
    tables: [turnTable(turnSets), supersessionTable([...outcomes])],
    goals: [...locomoGoals(locomo), ...[...outcomes].flatMap(([name, rows]) => supersessionGoals(name, rows))],
    pictures: [pictureOf(turnSets)],
    ratios: Object.fromEntries(turnSets.flatMap(ratiosOf)),
    unavailable: data === undefined ? ["LoCoMo", "attestor"].map((part) => ({ part, reason: "needs --data" })) : []
  }
}

const turnSet = async (
  name: string,
  corpora: ReadonlyArray<Corpus>,
  modelsDir: string,
  modelIds: ReadonlyArray<string>
): Promise<TurnSet> => ({ name, corpora, quality: await measureTurns(corpora, modelsDir, modelIds) })

const noteOf = ({ name, corpora }: TurnSet): string => {
  const count = (of: (corpus: Corpus) => number): number => corpora.reduce((sum, corpus) => sum + of(corpus), 0)
  const memories = count((corpus) => corpus.memories.length).toLocaleString("en-US")
  const questions = count((corpus) => corpus.questions.length).toLocaleString("en-US")
  const namespaces = corpora.length === 1 ? "one namespace" : `${corpora.length} namespaces`
  return `${name}: ${memories} turns as memories in ${namespaces}, ${questions} questions.`
}

const turnTable = (sets: ReadonlyArray<TurnSet>): ReportTable => {
  const labels = [...new Set(sets.flatMap(({ quality }) => quality.rows.map(labelOf)))]
  return {
    title: "Evidence found: R@10, nDCG@10, MRR; R@10 without adversarial",
    columns: ["", ...sets.map(({ name }) => name)],
    rows: labels.map((label) => [label, ...sets.map(({ quality }) => qualityText(quality.rows, label))])
  }
}

const qualityText = (rows: ReadonlyArray<RankingQuality>, label: string): string => {
  const row = rows.find((one) => labelOf(one) === label)
  if (row === undefined) return ""
  const { recall10, ndcg10, reciprocalRank } = row.all
  const [found, order, place, plain] = [recall10, ndcg10, reciprocalRank, row.withoutAdversarial.recall10].map(
    (value) => value.toFixed(3)
  )
  return `${found}, ${order}, ${place}; ${plain}`
}

const labelOf = ({ modelId, ranking }: RankingQuality): string =>
  modelId === undefined ? ranking : `${modelId}, ${ranking}`

const supersessionTable = (all: ReadonlyArray<readonly [name: string, ReadonlyArray<Outcome>]>): ReportTable => {
  const columns = all.flatMap(([name, rows]) =>
    [false, true].map((together) => ({
      together,
      name,
      rows: rows.filter(({ isTogether }) => isTogether === together)
    }))
  )
  return {
    title: "Facts that change: newest first, stale gone, both, of all cases",
    columns: [
      "stored as",
      ...columns.map(({ name, together }) => `${name}, ${together ? "in one namespace" : "apart"}`)
    ],
    rows: [...new Set(all.flatMap(([, rows]) => rows.map(({ way }) => way)))].map((way) => [
      way,
      ...columns.map(({ rows }) => {
        const one = rows.find((row) => row.way === way)
        return one === undefined ? "" : `${one.newestFirst}, ${one.staleGone}, ${one.both} of ${one.cases}`
      })
    ]),
    note: "Of most of these sentences rules make no memory."
  }
}

const fusedRow = (quality: TurnQuality | undefined, modelId: string): RankingQuality | undefined =>
  quality?.rows.find((row) => row.modelId === modelId && row.ranking === "fused")

const locomoGoals = (locomo: TurnSet | undefined): ReadonlyArray<Goal> => {
  const row = fusedRow(locomo?.quality, defaultModel)
  const goal = (name: string, wanted: number, found: Metrics | undefined): Goal => ({
    name,
    bound: "at least",
    wanted,
    found: found?.recall10,
    unit: "",
    note: found === undefined ? "needs --data and the model" : defaultModel
  })
  return [
    goal("LoCoMo turns, fused R@10", locomoGoal.all, row?.all),
    goal("LoCoMo turns, fused R@10 without adversarial", locomoGoal.withoutAdversarial, row?.withoutAdversarial)
  ]
}

const supersessionGoals = (name: string, outcomes: ReadonlyArray<Outcome>): ReadonlyArray<Goal> =>
  outcomes
    .filter(({ way, isTogether }) => way === "schema with a unique key" && !isTogether)
    .map(({ both, cases }) => ({
      name: `facts that change with a declared key, ${name}: newest first and stale gone`,
      bound: "at least",
      wanted: cases,
      found: both,
      unit: `of ${cases}`
    }))

const pictureOf = (sets: ReadonlyArray<TurnSet>) =>
  barChart({
    name: "recall",
    title: "Evidence among the first ten hits",
    value: { title: "R@10", domain: [0, 1] },
    bars: sets.flatMap(({ name, quality }) =>
      quality.rows.map((row) => ({ name: labelOf(row), value: row.all.recall10, group: name }))
    )
  })

/** Fused against words alone, and against the best fusion that is not ours: what `--check` watches. */
const ratiosOf = ({ name, quality }: TurnSet): ReadonlyArray<readonly [string, number]> => {
  const found = (ranking: string, modelId?: string): number | undefined =>
    quality.rows.find((row) => row.ranking === ranking && row.modelId === modelId)?.all.recall10
  const fused = found("fused", defaultModel)
  const words = found("words alone")
  const minMax = found("min-max .6/.4", defaultModel)
  if (fused === undefined || words === undefined || minMax === undefined) return []
  return [
    [`${name}: R@10 fused against words alone`, fused / words],
    [`${name}: R@10 fused against min-max fusion`, fused / minMax]
  ]
}
