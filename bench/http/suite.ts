/**
 * The whole service beside peers: every contestant in a process of its own stores the same memories,
 * keeps the same filter and answers the same questions over HTTP. First with vectors given, since the
 * encoder's share is the same for all and hides the rest, then a smaller run with the real model.
 * Answers are checked before anything is timed and again at the end; contestants take turns.
 *
 * `npm run bench -- --suite http`, or this file itself (`--help`).
 */
import { mkdtempSync, mkdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { machineFacts } from "../kit/Machine.ts"
import { writeReport, type SuiteOptions, type SuiteReport } from "../kit/Report.ts"
import { answerHelp } from "../Usage.ts"
import { checkAnswers } from "./Checks.ts"
import type { Contestant, Encoder, Running } from "./Contestant.ts"
import { chroma } from "./contestants/Chroma.ts"
import { lanceDb, sqliteVec } from "./contestants/Libraries.ts"
import { muniment } from "./contestants/Muniment.ts"
import { batchSize, loadCorpus, type Corpus, type Passage } from "./Corpus.ts"
import { importCallers, jobsOf, together, type Job, type Sample } from "./Jobs.ts"
import type { Outcome } from "./Outcome.ts"
import { passagesOf, planOf, type RoundPlan, type Sizes } from "./Plan.ts"
import { reportOf } from "./SuiteReport.ts"
import { writeTable } from "./VectorTable.ts"

const contestants: ReadonlyArray<Contestant> = [muniment, sqliteVec, lanceDb, chroma]

const shortSizes: Sizes = {
  rounds: 3,
  importBatches: 12,
  singles: [
    [1, 100],
    [8, 240],
    [32, 320]
  ],
  searches: [
    [1, 100],
    [8, 200],
    [32, 200]
  ],
  filtered: [
    [1, 100],
    [8, 200]
  ],
  mixedBatches: 4
}

const longSizes: Sizes = {
  rounds: 5,
  importBatches: 100,
  singles: [
    [1, 100],
    [8, 160],
    [32, 320]
  ],
  searches: [
    [1, 400],
    [8, 800],
    [32, 800]
  ],
  filtered: [
    [1, 400],
    [8, 800]
  ],
  mixedBatches: 10
}

/** The encoder takes most of the time, the same for all, so a short run is enough. */
const modelSizes: Sizes = {
  rounds: 2,
  importBatches: 2,
  singles: [[1, 15]],
  searches: [[1, 25]],
  filtered: [],
  mixedBatches: 0
}

export const run = ({ short }: SuiteOptions): Promise<SuiteReport> =>
  measured(short ? shortSizes : longSizes, undefined, `npm run bench -- --suite http${short ? "" : " --long"}`)

const measured = async (sizes: Sizes, texts: string | undefined, command: string): Promise<SuiteReport> => {
  const machine = machineFacts()
  const corpus = await loadCorpus(passagesOf(sizes), texts)
  const root = mkdtempSync(join(tmpdir(), "muniment-bench-http-"))
  try {
    writeTable(join(root, "vectors"), corpus.table)
    const given = await compete(corpus, sizes, "given", root)
    const model = await compete(corpus, modelSizes, "model", root)
    return reportOf({ command, corpus, contestants, given, machine, model, sizes })
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

const compete = async (corpus: Corpus, sizes: Sizes, encoder: Encoder, root: string): Promise<Outcome> => {
  const plan = planOf(sizes, corpus.passages)
  const { imports, rounds } = jobsOf(sizes, plan, corpus.questions)
  const { missing, names, running } = await startAll(corpus, encoder, root)
  const samples = new Map<string, Map<string, Array<Sample>>>()
  const take = async (job: Job, round: number): Promise<void> => {
    const byName = samples.get(job.id) ?? new Map(running.map(({ name }) => [name, []]))
    samples.set(job.id, byName)
    for (const contestant of rotated(running, round))
      byName.get(contestant.name)!.push(await job.run(contestant, round))
  }
  try {
    if (encoder === "given") for (const contestant of running) await warmUp(contestant, corpus.warming)
    for (let round = 0; round < sizes.rounds; round++) await take(imports, round)
    const imported = storedNames(plan.map((part) => ({ ...part, singles: [], mixed: [] })))
    for (const contestant of running) {
      await checkAnswers(contestant, corpus, imported)
      // Once each untimed: code gets warm, and with vectors given no search waits for a lookup any more.
      if (encoder === "given") for (const question of corpus.questions) await contestant.search(question)
    }
    for (let round = 0; round < sizes.rounds; round++) {
      say(`vectors ${encoder === "given" ? "given" : "computed"}: round ${round + 1} of ${sizes.rounds}`)
      for (const job of rounds) if (job.id !== "mixed" || sizes.mixedBatches > 0) await take(job, round)
    }
    const found = new Map<string, number>()
    for (const contestant of running) {
      found.set(contestant.name, await checkAnswers(contestant, corpus, storedNames(plan)))
    }
    const residentBytes = new Map(running.map(({ name, server }) => [name, server.residentBytes()]))
    const jobs = [imports, ...rounds].filter(({ id }) => samples.has(id))
    return { jobs, samples, names, missing, found, residentBytes }
  } finally {
    for (const contestant of running) await contestant.stop()
  }
}

/** Untimed writes, until the code of a server is compiled. */
const warmUp = async (contestant: Running, passages: ReadonlyArray<Passage>): Promise<void> => {
  const half = passages.length / 2
  const batches = Array.from({ length: half / batchSize }, (_, at) =>
    passages.slice(at * batchSize, (at + 1) * batchSize)
  )
  await together(batches, importCallers, contestant.store)
  await together(passages.slice(half), warmingCallers, (passage) => contestant.store([passage]))
}

const warmingCallers = 8

/** One that does not run here is named and left out; the service itself must. */
const startAll = async (corpus: Corpus, encoder: Encoder, root: string) => {
  const running: Array<Running> = []
  const names = new Map<Contestant, string>()
  const missing: Array<Outcome["missing"][number]> = []
  for (const [at, contestant] of contestants.entries()) {
    const directory = join(root, `${encoder}-${at}`)
    mkdirSync(directory)
    try {
      const started = await contestant.start({ corpus, encoder, table: join(root, "vectors"), directory })
      running.push(started)
      names.set(contestant, started.name)
    } catch (cause) {
      if (contestant === muniment) throw cause
      missing.push({ name: contestant.name, reason: cause instanceof Error ? cause.message : String(cause) })
    }
  }
  return { running, names, missing }
}

const storedNames = (plan: ReadonlyArray<RoundPlan>): ReadonlySet<string> =>
  new Set(
    plan.flatMap(({ imports, mixed, singles }) => [...imports, ...mixed, ...singles].flat()).map(({ name }) => name)
  )

/** Every round another one begins. */
const rotated = <Item>(items: ReadonlyArray<Item>, round: number): ReadonlyArray<Item> =>
  items.map((_, at) => items[(at + round) % items.length]!)

const say = (text: string): void => void process.stderr.write(`${text}\n`)

const main = async (): Promise<void> => {
  answerHelp(
    "node bench/http/suite.ts [--long] [--texts FILE of {name, text} lines]; writes bench/results/http[-long].md"
  )
  const { values } = parseArgs({ options: { long: { type: "boolean", default: false }, texts: { type: "string" } } })
  const command = `node bench/http/suite.ts${values.long ? " --long" : ""}${values.texts === undefined ? "" : " --texts FILE"}`
  const report = await measured(values.long ? longSizes : shortSizes, values.texts, command)
  await writeReport(values.long ? "http-long" : "http", report, { when: new Date() })
}

if (import.meta.main) await main()
