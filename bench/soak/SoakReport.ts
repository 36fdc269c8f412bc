/** The samples of a soak as lines while it runs, and as a report with a verdict at its end. */
import { lineChart } from "../kit/Chart.ts"
import type { MachineFacts } from "../kit/Machine.ts"
import { figure, type SuiteReport } from "../kit/Report.ts"
import { slopeOf, verdictOf, type Slope, type Verdict } from "./Slope.ts"

export interface SoakSample {
  readonly minutes: number
  readonly recall: number
  /** Speed of the machine (`DenseRecall`). */
  readonly bruteMillis: number
  readonly searchP50Millis: number
  readonly searchP99Millis: number
  readonly filteredP50Millis: number
  readonly writeP50Millis: number
  readonly searches: number
  readonly writes: number
  readonly residentMegabytes: number
  readonly heapMegabytes: number
  /** External memory of V8, such as array buffers: vectors are there. */
  readonly externalMegabytes: number
  readonly fileMegabytes: number
  readonly walMegabytes: number
  readonly errors: number
}

interface Series {
  readonly title: string
  readonly of: (sample: SoakSample) => number
  readonly worse: "up" | "down"
  /** Tolerated change over the run: a share of the mean, or of 1 where stated. */
  readonly tolerance: number
  readonly isAbsolute?: true
  /** Reported, but not part of the verdict. */
  readonly isTold?: true
  /** Running maximum, for figures that rise and fall repeatedly. */
  readonly isPeak?: true
}

/** Times are judged against the machine's own pace of the same minute: other work may slow it down. */
const series: ReadonlyArray<Series> = [
  { title: "recall@10", of: ({ recall }) => recall, worse: "down", tolerance: 0.01, isAbsolute: true },
  ...(
    [
      ["search p50", ({ searchP50Millis }) => searchP50Millis],
      ["filtered search p50", ({ filteredP50Millis }) => filteredP50Millis],
      ["write p50", ({ writeP50Millis }) => writeP50Millis]
    ] satisfies ReadonlyArray<readonly [string, Series["of"]]>
  ).flatMap(([title, of]): ReadonlyArray<Series> => [
    { title: `${title}, by the machine's pace`, of: (at) => of(at) / at.bruteMillis, worse: "up", tolerance: 0.25 },
    { title: `${title} (ms)`, of, worse: "up", tolerance: 0.25, isTold: true }
  ]),
  { title: "search p99 (ms)", of: ({ searchP99Millis }) => searchP99Millis, worse: "up", tolerance: 0.5, isTold: true },
  { title: "brute force (ms)", of: ({ bruteMillis }) => bruteMillis, worse: "up", tolerance: 0.25, isTold: true },
  { title: "resident (MB)", of: ({ residentMegabytes }) => residentMegabytes, worse: "up", tolerance: 0.1 },
  { title: "heap used (MB)", of: ({ heapMegabytes }) => heapMegabytes, worse: "up", tolerance: 0.25 },
  { title: "outside the heap (MB)", of: ({ externalMegabytes }) => externalMegabytes, worse: "up", tolerance: 0.1 },
  { title: "files (MB)", of: ({ fileMegabytes }) => fileMegabytes, worse: "up", tolerance: 0.1 },
  {
    title: "write-ahead logs, the most so far (MB)",
    of: ({ walMegabytes }) => walMegabytes,
    worse: "up",
    tolerance: 0.25,
    isPeak: true
  }
]

/** The first part of a run fills caches and is left out. */
const warmupShare = 0.15

export const headLine =
  "min    recall  brute p50ms  p99ms  filt50  writ50  searches writes  rss   heap  ext   files wal   errors"

export const sampleLine = (sample: SoakSample): string =>
  [
    sample.minutes.toFixed(1).padEnd(6),
    sample.recall.toFixed(4).padEnd(7),
    sample.bruteMillis.toFixed(0).padEnd(5),
    ...[sample.searchP50Millis, sample.searchP99Millis].map((millis) => millis.toFixed(1).padEnd(6)),
    ...[sample.filteredP50Millis, sample.writeP50Millis].map((millis) => millis.toFixed(1).padEnd(7)),
    String(sample.searches).padEnd(8),
    String(sample.writes).padEnd(7),
    ...[sample.residentMegabytes, sample.heapMegabytes, sample.externalMegabytes, sample.fileMegabytes].map((size) =>
      size.toFixed(0).padEnd(5)
    ),
    sample.walMegabytes.toFixed(1).padEnd(5),
    String(sample.errors)
  ].join(" ")

export interface Finding {
  readonly title: string
  readonly slope: Slope
  readonly verdict: Verdict
  readonly isTold: boolean
}

export const findingsOf = (samples: ReadonlyArray<SoakSample>): ReadonlyArray<Finding> => {
  const warmup = Math.floor(samples.length * warmupShare)
  return series.map(({ isAbsolute, isTold, title, tolerance, worse, ...one }) => {
    const values = valuesOf(one, samples)
    const slope = slopeOf(samples.map(({ minutes }, at) => ({ x: minutes, y: values[at]! })).slice(warmup))
    const bound = isAbsolute === true ? tolerance : tolerance * Math.abs(slope.mean)
    return { title, slope, verdict: verdictOf(slope, bound, worse), isTold: isTold === true }
  })
}

const valuesOf = (
  { isPeak, of }: Pick<Series, "isPeak" | "of">,
  samples: ReadonlyArray<SoakSample>
): ReadonlyArray<number> => {
  let peak = -Infinity
  return samples.map((sample) => (isPeak === true ? (peak = Math.max(peak, of(sample))) : of(sample)))
}

/** One word for the run: a single drift or error decides, then any that is undecided. */
export const runVerdict = (samples: ReadonlyArray<SoakSample>, findings: ReadonlyArray<Finding>): string => {
  const errors = samples.reduce((sum, sample) => sum + sample.errors, 0)
  if (errors > 0) return `FAILED: ${errors} errors`
  const deciding = findings.filter(({ isTold }) => !isTold)
  const named = (verdict: Verdict) =>
    deciding.filter((finding) => finding.verdict === verdict).map(({ title }) => title)
  if (named("drifts").length > 0) return `NOT FLAT: ${named("drifts").join(", ")}`
  return named("undecided").length > 0 ? `UNDECIDED: ${named("undecided").join(", ")}` : "FLAT"
}

export const findingRows = (findings: ReadonlyArray<Finding>): ReadonlyArray<ReadonlyArray<string>> =>
  findings.map(({ slope, title, verdict }) => [
    title,
    figure(slope.mean),
    `${slope.change >= 0 ? "+" : ""}${figure(slope.change)} ± ${figure(slope.margin)}`,
    verdict
  ])

export const findingColumns = ["", "mean", "change over the run, 95 %", "verdict"]

export const soakReport = (options: {
  readonly command: string
  readonly machine: MachineFacts
  readonly notes: ReadonlyArray<string>
  readonly samples: ReadonlyArray<SoakSample>
}): SuiteReport => {
  const { command, machine, notes, samples } = options
  const findings = findingsOf(samples)
  const relative = series
    .filter(({ isTold }) => isTold !== true)
    .map(({ title, ...one }) => {
      const { mean } = findings.find((finding) => finding.title === title)!.slope
      const values = valuesOf(one, samples)
      return { name: title, points: samples.map(({ minutes }, at) => ({ x: minutes, y: values[at]! / mean })) }
    })
  return {
    title: "Soak: the service under steady churn",
    command,
    machine,
    notes: [`Verdict: ${runVerdict(samples, findings)}.`, ...notes],
    tables: [{ title: "What changed over the run", columns: findingColumns, rows: findingRows(findings) }],
    goals: [],
    pictures: [
      lineChart({
        name: "course",
        title: "Each series by its mean: flat is 1",
        x: { title: "minutes" },
        y: { title: "value by its mean" },
        series: relative
      })
    ],
    ratios: {}
  }
}
