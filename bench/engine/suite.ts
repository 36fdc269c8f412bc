/**
 * The engine's own bench: durable writes beside peers, searches by filter and as a namespace grows,
 * searches during an import, thousands of namespaces. No encoder and no HTTP: vectors are given.
 *
 *   node bench/engine/suite.ts [--long] [--only writes,searches,mixed,namespaces] [--sizes 10000,1000000]
 *     [--cases "64 agents"]: of the writes, those whose names contain it
 */
import { parseArgs } from "node:util"
import { barChart, lineChart } from "../kit/Chart.ts"
import { machineFacts } from "../kit/Machine.ts"
import { figure, reportText, type Goal, type ReportTable, type SuiteOptions, type SuiteReport } from "../kit/Report.ts"
import { answerHelp } from "../Usage.ts"
import { measureMixed, type MixedResult } from "./mixed.ts"
import { measureNamespaces, type NamespacesResult } from "./namespaces.ts"
import { measureSearches, type SearchResult } from "./searches.ts"
import { manyAgents, measureWrites, type WriteResult } from "./writes.ts"

const partNames = ["writes", "searches", "mixed", "namespaces"] as const

interface EngineOptions {
  readonly short: boolean
  readonly only?: ReadonlyArray<string>
  readonly sizes?: ReadonlyArray<number>
  readonly cases?: string
}

/** Where the goal for the whole search is set, and where growth is counted from. */
const goalSize = 10_000
const largestSize = 1_000_000
const growthGoal = 12
const shortSizes = [1_000, goalSize, 30_000]
const longSizes = [1_000, goalSize, 100_000, 300_000, largestSize]

export const run = ({ short }: SuiteOptions): Promise<SuiteReport> => measure({ short })

const measure = async ({ cases = "", only = partNames, short, sizes }: EngineOptions): Promise<SuiteReport> => {
  const machine = machineFacts()
  const runs = (part: (typeof partNames)[number]) => {
    const isAsked = only.includes(part)
    if (isAsked) process.stderr.write(`engine: ${part} ...\n`)
    return isAsked
  }
  const written = runs("writes")
    ? await measureWrites({ rounds: short ? 3 : 5, scale: short ? 1 : 4, named: cases })
    : undefined
  const searches = runs("searches")
    ? await measureSearches(sizes ?? (short ? shortSizes : longSizes), { questions: 500, rounds: short ? 3 : 5 })
    : []
  const mixed = runs("mixed") ? await measureMixed({ memories: goalSize, imported: short ? 5_000 : 20_000 }) : undefined
  const namespaces = runs("namespaces") ? await measureNamespaces(short ? 1_000 : 10_000) : undefined
  const writes = written?.results ?? []
  return {
    title: "The engine: durable writes, searches, both at once, many namespaces",
    command: short ? "npm run bench -- --suite engine" : "npm run bench -- --suite engine --long",
    machine,
    notes: [
      "memories of 25 made-up words with a subject, a tag, an event time and a 384-d vector; no encoder, no HTTP",
      ...(written?.notes ?? [])
    ],
    tables: [
      ...(writes.length === 0 ? [] : [writesTable(writes)]),
      ...(searches.length === 0 ? [] : [searchesTable(searches)]),
      ...(mixed === undefined ? [] : [mixedTable(mixed), profileTable(mixed)]),
      ...(namespaces === undefined ? [] : [namespacesTable(namespaces)])
    ],
    goals: goalsOf(writes, searches, mixed),
    pictures: picturesOf(writes, searches),
    ratios: ratiosOf(writes, mixed)
  }
}

const goalsOf = (
  writes: ReadonlyArray<WriteResult>,
  searches: ReadonlyArray<SearchResult>,
  mixed: MixedResult | undefined
): ReadonlyArray<Goal> => {
  const unfiltered = searches.filter(({ name }) => name === "none")
  const at = (size: number) => unfiltered.find(({ memories }) => memories === size)
  const base = at(goalSize)?.cpuMillis
  const largest = unfiltered.at(-1)
  const growth = base === undefined || largest === undefined ? undefined : largest.cpuMillis / base
  const againstPeer = caseNames(writes).map((name): Goal => ({
    name: `durable writes against the best peer: ${name}`,
    bound: "at least",
    wanted: writeGoals.get(name) ?? 1,
    found: ratioToBest(writes, name),
    unit: "x"
  }))
  return [
    ...againstPeer,
    {
      name: `syncs a write: ${manyAgents}`,
      bound: "at most",
      wanted: 0.15,
      found: writes.find(({ name, syncs }) => name === manyAgents && syncs !== undefined)?.syncs,
      unit: ""
    },
    {
      name: "whole search at 10,000 memories, p50",
      bound: "at most",
      wanted: 0.6,
      found: at(goalSize)?.p50Millis,
      unit: "ms"
    },
    {
      name: "search p99 during an import, against idle",
      bound: "at most",
      wanted: 3,
      found: mixed === undefined ? undefined : mixed.importing.p99Millis / mixed.idle.p99Millis,
      unit: "x"
    },
    {
      name: "search CPU at 1,000,000 memories, against 10,000",
      bound: "at most",
      wanted: growthGoal,
      found: largest?.memories === largestSize ? growth : undefined,
      unit: "x",
      ...(growth !== undefined && { note: `at ${largest?.memories.toLocaleString("en-US")}: ${growth.toFixed(1)} x` })
    }
  ]
}

/** Rates until all is in the files too, by that of the best peer. */
const writeGoals: ReadonlyMap<string, number> = new Map([
  ["one writer", 1.1],
  ["one writer, batches of 100", 0.7],
  ["8 agents, a writer each", 1.5],
  [manyAgents, 5],
  ["one agent, 8 writers", 2.5],
  ["one agent, 64 writers", 4],
  ["500 agents in turn, 8 writers", 0.5]
])

const caseNames = (writes: ReadonlyArray<WriteResult>) => [...new Set(writes.map(({ name }) => name))]

/** Our rate, until all is in the files, by that of the best peer that does the whole job; undefined without one. */
const ratioToBest = (writes: ReadonlyArray<WriteResult>, name: string): number | undefined => {
  const [ours, ...peers] = writes.filter((write) => write.name === name && write.doesSameJob)
  if (ours === undefined || peers.length === 0) return undefined
  return ours.sustainedPerSecond / Math.max(...peers.map(({ sustainedPerSecond }) => sustainedPerSecond))
}

const ratiosOf = (writes: ReadonlyArray<WriteResult>, mixed: MixedResult | undefined): Record<string, number> => {
  const ratios: Record<string, number> = {}
  for (const name of caseNames(writes)) {
    const ratio = ratioToBest(writes, name)
    if (ratio !== undefined) ratios[`durable writes, ${name}: against the best peer`] = ratio
  }
  if (mixed !== undefined) ratios["search p99: idle by importing"] = mixed.idle.p99Millis / mixed.importing.p99Millis
  return ratios
}

const writesTable = (writes: ReadonlyArray<WriteResult>): ReportTable => {
  const others = [...new Set(writes.map(({ store }) => store))].filter((store) => store !== writes[0]?.store)
  return {
    title: "Durable writes: memories a second",
    columns: [writes[0]?.store ?? "", "acknowledged", "until in the files", "syncs a write", "p50, p99 ms", ...others],
    rows: [...Map.groupBy(writes, ({ name }) => name)].map(([name, [own, ...rest]]) => [
      name,
      own!.memoriesPerSecond,
      own!.sustainedPerSecond,
      own!.syncs ?? "",
      `${figure(own!.p50Millis)}, ${figure(own!.p99Millis)}`,
      ...others.map((store) => rest.find((write) => write.store === store)?.sustainedPerSecond ?? "")
    ])
  }
}

const searchesTable = (searches: ReadonlyArray<SearchResult>): ReportTable => {
  const filters = [...new Set(searches.map(({ name }) => name))]
  return {
    title: "Searches, the encoder left out: p50, p99 and CPU ms",
    columns: ["memories", ...filters.map((name) => `filter: ${name}`)],
    rows: [...Map.groupBy(searches, ({ memories }) => memories)].map(([memories, rows]) => [
      memories,
      ...filters.map((filter) => {
        const row = rows.find(({ name }) => name === filter)
        return row === undefined ? "" : [row.p50Millis, row.p99Millis, row.cpuMillis].map(figure).join(", ")
      })
    ])
  }
}

const mixedTable = ({ idle, importedPerSecond, importing, memories }: MixedResult): ReportTable => ({
  title: `Searches in ${memories.toLocaleString("en-US")} memories during an import into the same namespace`,
  columns: ["", "p50 ms", "p99 ms", "searches", "p99 of the loop's delay, ms"],
  rows: [
    ["idle", idle.p50Millis, idle.p99Millis, idle.searches, idle.loopDelayP99Millis],
    ["importing", importing.p50Millis, importing.p99Millis, importing.searches, importing.loopDelayP99Millis]
  ],
  note: `Imported ${Math.round(importedPerSecond).toLocaleString("en-US")} memories a second meanwhile, in batches of 100.`
})

const profileTable = ({ profile }: MixedResult): ReportTable => ({
  title: "Where the event loop's time goes during the import, in percent",
  columns: ["part", "share, %"],
  rows: profile.map(({ part, share }) => [part, share * 100])
})

const namespacesTable = (result: NamespacesResult): ReportTable => ({
  title: `${result.namespaces.toLocaleString("en-US")} namespaces of 3 memories`,
  columns: ["", ""],
  rows: [
    ["written a second, 8 at once", result.createdPerSecond],
    ["search that opens one: p50 ms", result.coldP50Millis],
    ["search that opens one: p99 ms", result.coldP99Millis],
    ["search in an open one: p50 ms", result.openP50Millis],
    ["search in an open one: p99 ms", result.openP99Millis],
    ["closing all, ms", result.closeMillis],
    ["memory, MiB", result.mebibytes],
    ["descriptors", result.descriptors ?? "not reported here"]
  ]
})

const picturesOf = (writes: ReadonlyArray<WriteResult>, searches: ReadonlyArray<SearchResult>) => [
  ...(writes.length === 0
    ? []
    : [
        barChart({
          name: "writes",
          title: "Durable memories a second",
          value: { title: "memories a second", log: true, domain: [10, 20_000] },
          bars: writes.map(({ memoriesPerSecond, name, store }) => ({ name, value: memoriesPerSecond, group: store }))
        })
      ]),
  ...(searches.length === 0
    ? []
    : [
        lineChart({
          name: "growth",
          title: "CPU of a search as a namespace grows",
          x: { title: "memories", log: true },
          y: { title: "ms", log: true },
          series: [...Map.groupBy(searches, ({ name }) => name)].map(([name, results]) => ({
            name: `filter: ${name}`,
            points: results.map(({ cpuMillis, memories }) => ({ x: memories, y: cpuMillis }))
          }))
        })
      ])
]

const usage = `node bench/engine/suite.ts [--long] [--only PARTS] [--sizes SIZES]
  --long    1,000 to 1,000,000 memories, 10,000 namespaces (an hour)
  --only    of writes,searches,mixed,namespaces
  --sizes   memories of the searched namespace, ascending, instead of ${shortSizes.join(",")}
Prints its report; npm run bench -- --suite engine also writes it to bench/results.`

if (import.meta.main) {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      long: { type: "boolean", default: false },
      only: { type: "string" },
      sizes: { type: "string" },
      cases: { type: "string" }
    }
  })
  const report = await measure({
    short: !values.long,
    ...(values.only !== undefined && { only: values.only.split(",") }),
    ...(values.cases !== undefined && { cases: values.cases }),
    ...(values.sizes !== undefined && { sizes: values.sizes.split(",").map(Number) })
  })
  process.stdout.write(reportText(report, new Date(), []))
}
