/** The figures as lines of text. */
import { cpus, totalmem } from "node:os"
import type { SearchFigures, Quality } from "./askQuestions.ts"
import type { ImportReport } from "./importTexts.ts"

export const machineFacts = (): string =>
  `Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model.trim() ?? "unknown processor"}, ` +
  `${(totalmem() / 1_073_741_824).toFixed(0)} GiB, ${process.platform} ${process.arch}`

/** `p50 1.2 p99 3.4 max 5.6 ms (n 100)` */
export const spread = (millis: ReadonlyArray<number>): string => {
  if (millis.length === 0) return "none"
  const sorted = millis.toSorted((left, right) => left - right)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!.toFixed(1)
  return `p50 ${at(0.5)} p99 ${at(0.99)} max ${at(1)} ms (n ${sorted.length})`
}

export const importLines = (label: string, count: number, report: ImportReport): ReadonlyArray<string> => [
  `${label}: ${count} memories acknowledged in ${report.acknowledgedSeconds.toFixed(1)} s, ${(count / report.acknowledgedSeconds).toFixed(0)}/s; all with their vectors after ${report.seconds.toFixed(1)} s, ${(count / report.seconds).toFixed(0)}/s`,
  `  processor a memory: main thread ${perMemory(report.processor.mainMillis, count)}, others ${perMemory(report.processor.otherMillis, count)}`,
  `  request of 100: ${spread(report.requestMillis)}`,
  `  /health/live meanwhile: ${spread(report.probe.health)}; longest wait of the server's loop ${report.loopDelayMaxMillis.toFixed(0)} ms, of the idle probe's ${report.probe.ownDelayMaxMillis.toFixed(0)} ms`,
  `  searches meanwhile: ${spread(report.probe.searches)}`,
  `  resident ${megabytes(report.residentBytes)}`
]

export const searchLines = (label: string, figures: SearchFigures): ReadonlyArray<string> => {
  const inside = [...figures.stages.values()].reduce((sum, { meanMillis }) => sum + (meanMillis || 0), 0)
  const mean = figures.latencies.reduce((sum, millis) => sum + millis, 0) / figures.latencies.length
  const { main, other } = figures.processorMillisPerRequest
  return [
    `${label}: ${spread(figures.latencies)}, mean ${mean.toFixed(2)} ms; processor main ${main.toFixed(2)}, others ${other.toFixed(2)} ms a request`,
    ...[...figures.stages].map(
      ([stage, span]) =>
        `  ${stage.padEnd(12)} mean ${span.meanMillis.toFixed(2)} p50 ~${span.p50Millis.toFixed(2)} p99 ~${span.p99Millis.toFixed(2)} ms`
    ),
    `  ${"http".padEnd(12)} mean ${(mean - inside).toFixed(2)} ms: ${(figures.http.meanMillis - inside).toFixed(2)} in the server outside the stages, ${(mean - figures.http.meanMillis).toFixed(2)} on the wire and in the client`
  ]
}

export const qualityLines = (
  label: string,
  { hitAt5, hitAt10, reciprocalRank, missed }: Quality
): ReadonlyArray<string> => [
  `${label}: hit@5 ${hitAt5.toFixed(2)}, hit@10 ${hitAt10.toFixed(2)}, MRR ${reciprocalRank.toFixed(2)}`,
  ...(missed.length > 0 ? [`  missed: ${missed.join("; ")}`] : [])
]

export const sampleLines = ({ samples }: Quality): ReadonlyArray<string> =>
  samples.flatMap(({ question, hits }) => [
    `? ${question}`,
    ...hits.map(
      ({ data, quality }) => `    ${quality.relevance.toFixed(2)} ${data.subject}: ${data.fact.slice(0, 100)}`
    )
  ])

export const sizeLines = (sizes: ReadonlyMap<string, number>, count: number): ReadonlyArray<string> =>
  [...sizes].map(
    ([kind, bytes]) => `  ${kind.padEnd(40)} ${megabytes(bytes)} (${(bytes / count).toFixed(0)} B a memory)`
  )

export const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`

const perMemory = (millis: number, count: number): string => `${((millis * 1_000) / count).toFixed(0)} us`
