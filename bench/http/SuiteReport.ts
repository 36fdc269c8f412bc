/** The suite's samples as a report: who competed and what each promises, a table a job, stages, goals, picture. */
import { barChart, type Bar } from "../kit/Chart.ts"
import type { MachineFacts } from "../kit/Machine.ts"
import { figure, type Goal, type ReportTable, type SuiteReport } from "../kit/Report.ts"
import type { Contestant } from "./Contestant.ts"
import { muniment } from "./contestants/Muniment.ts"
import { batchSize, subjectCount, type Corpus } from "./Corpus.ts"
import { figuresOf, jobsTable, leadColumns, peerLeads, ratio, type Measure } from "./Figures.ts"
import type { Outcome } from "./Outcome.ts"
import { passagesOf, type Sizes } from "./Plan.ts"
import { requestStage, stageMeans } from "./Stages.ts"

export interface SuiteFindings {
  readonly command: string
  readonly corpus: Corpus
  readonly contestants: ReadonlyArray<Contestant>
  readonly given: Outcome
  readonly model: Outcome
  readonly machine: MachineFacts
  readonly sizes: Sizes
}

const ours = muniment.name

/** The ratios that a change of the service should move, and that `--check` watches. */
const watched: ReadonlyArray<readonly [job: string, measure: Measure]> = [
  ["batch", "throughput"],
  ["single-1", "latency"],
  ["single-8", "throughput"],
  ["single-32", "throughput"],
  ["search-1", "latency"],
  ["search-8", "throughput"],
  ["filter-1", "latency"],
  ["mixed", "latency"]
]

export const reportOf = (findings: SuiteFindings): SuiteReport => {
  const { command, given, machine, model } = findings
  return {
    title: "The whole service over HTTP beside peers",
    command,
    machine,
    notes: notesOf(findings),
    goals: goalsOf(given),
    pictures: [pictureOf(given)],
    tables: [
      traitsTable(findings),
      { title: "Vectors given", ...jobsTable(given.jobs, given.samples, ours), note: ratiosNote },
      { title: "With the model", ...jobsTable(model.jobs, model.samples, ours) },
      leadsTable(given),
      stagesTable(given)
    ],
    ratios: Object.fromEntries(watchedRatios(given)),
    unavailable: given.missing.map(({ name, reason }) => ({ part: `against ${name}`, reason }))
  }
}

const ratiosNote =
  "Figures are Muniment's. Against a peer: how many times faster Muniment is at p50, and how many times more it does a second."

const notesOf = ({ corpus, given, sizes }: SuiteFindings): ReadonlyArray<string> => [
  `${passagesOf(sizes)} ${corpus.source} of ${meanLength(corpus)} characters on average, ${sizes.importBatches * batchSize} of them stored before the rounds; ${subjectCount} subjects; ${corpus.questions.length} questions; ${corpus.model.id}, ${corpus.model.dims} dimensions; ${sizes.rounds} rounds.`,
  ...given.missing.map(({ name, reason }) => `${name} does not run here: ${reason}`)
]

const meanLength = ({ passages }: Corpus): number =>
  Math.round(passages.reduce((sum, { text }) => sum + text.length, 0) / passages.length)

const traitsTable = ({ contestants, given }: SuiteFindings): ReportTable => ({
  title: "Contestants",
  columns: [
    "",
    "a write that was acknowledged",
    "a search looks at",
    "found again by its own words",
    "resident MB at the end"
  ],
  rows: contestants.flatMap((contestant) => {
    const name = given.names.get(contestant)
    if (name === undefined) return []
    const { durability, search } = contestant.traits
    const found = `${((given.found.get(name) ?? Number.NaN) * 100).toFixed(1)} %`
    return [[name, durability, search, found, (given.residentBytes.get(name) ?? Number.NaN) / 1e6]]
  })
})

const stagesTable = ({ jobs, samples }: Outcome): ReportTable => {
  const searches = jobs.filter(({ id }) => /^(?:search|filter|mixed)/.test(id))
  const means = searches.map(({ id, title }) => {
    const own = samples.get(id)?.get(ours) ?? []
    return { title, means: stageMeans(own.map(({ stages }) => stages)) }
  })
  const stages = [...(means[0]?.means.keys() ?? [])].filter((stage) => stage !== requestStage)
  return {
    title: "Where a search's time goes in Muniment (mean ms)",
    columns: ["", ...stages, "rest of the request", "whole request"],
    rows: means.map(({ means, title }) => {
      const request = means.get(requestStage) ?? Number.NaN
      const inside = stages.map((stage) => means.get(stage) ?? Number.NaN)
      return [title, ...inside, request - inside.reduce((sum, millis) => sum + millis, 0), request]
    }),
    note: "From the service's own `/metrics`. `embedding` is the way to the vector's thread and back."
  }
}

const leadsTable = ({ jobs, samples }: Outcome): ReportTable => {
  const leads = peerLeads(jobs, samples, ours)
  return {
    title: "Where a peer is ahead of us",
    columns: leadColumns,
    rows: leads.length === 0 ? [["nowhere in this run", "", "", "", "", ""]] : leads,
    note: "Vectors given."
  }
}

/** Memories a second, by job, against the best peer that syncs as the service does. */
const writeGoals: ReadonlyMap<string, number> = new Map([
  ["batch", 1],
  ["single-1", 0.9],
  ["single-8", 1],
  ["single-32", 1]
])

const goalsOf = ({ jobs, names, samples }: Outcome): ReadonlyArray<Goal> => {
  const own = (job: string) => samples.get(job)?.get(ours) ?? []
  const againstDurable = (job: string): number | undefined => {
    const ratios = [...names].flatMap(([{ traits }, name]) => {
      const rounds = samples.get(job)?.get(name)
      return traits.isDurable && name !== ours && rounds !== undefined ? [ratio(own(job), rounds, "throughput")] : []
    })
    return ratios.length === 0 ? undefined : Math.min(...ratios)
  }
  const idle = figuresOf(own("search-1"), 1)
  const mixed = figuresOf(own("mixed"), 1)
  const stages = stageMeans(own("search-1").map((sample) => sample.stages))
  const inside = [...stages]
    .filter(([stage]) => stage !== requestStage && stage !== "embedding")
    .reduce((sum, [, millis]) => sum + millis, 0)
  return [
    ...jobs.flatMap(({ id, title }): ReadonlyArray<Goal> => {
      const wanted = writeGoals.get(id)
      const name = `${title}, against the best durable peer`
      return wanted === undefined ? [] : [{ name, bound: "at least", wanted, found: againstDurable(id), unit: "x" }]
    }),
    {
      name: "p99 of searches while memories arrive, against the idle p99",
      bound: "at most",
      wanted: 3,
      found: mixed.p99Millis / idle.p99Millis,
      unit: "x",
      note: `${figure(mixed.p99Millis)} ms, idle ${figure(idle.p99Millis)} ms`
    },
    {
      name: "search without the encoder: stages of the service but `embedding` (mean)",
      bound: "at most",
      wanted: 0.6,
      found: inside,
      unit: "ms",
      note: `whole request ${figure(stages.get(requestStage) ?? Number.NaN)} ms in the server, p50 of the caller ${figure(idle.p50Millis)} ms`
    }
  ]
}

const watchedRatios = ({ samples }: Outcome): ReadonlyArray<readonly [string, number]> =>
  watched.flatMap(([job, measure]) => {
    const rounds = samples.get(job)
    const own = rounds?.get(ours)
    if (rounds === undefined || own === undefined) return []
    return [...rounds]
      .filter(([name]) => name !== ours)
      .map(([name, peer]) => [`${job} ${measure} against ${name}`, ratio(own, peer, measure)] as const)
  })

const pictureOf = (outcome: Outcome): SuiteReport["pictures"][number] => {
  const bars = watchedRatios(outcome).map(([name, value]): Bar => {
    const [job = "", peer = ""] = name.split(" against ")
    return { name: job, group: peer, value }
  })
  return barChart({
    name: "ratios",
    title: "Muniment against peers, same run (1 = equal, more is better)",
    value: { title: "times better", log: true, domain: [lowest(bars), highest(bars)] },
    bars
  })
}

const lowest = (bars: ReadonlyArray<Bar>): number => Math.min(0.5, ...bars.map(({ value }) => value * 0.8))
const highest = (bars: ReadonlyArray<Bar>): number => Math.max(2, ...bars.map(({ value }) => value * 1.5))
