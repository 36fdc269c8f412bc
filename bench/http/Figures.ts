/**
 * Samples of all rounds to the figures of a table, and to ratios against peers. A ratio is taken
 * within a round, where the machine was the same for both, and its median over the rounds is reported.
 */
import { median, quantile } from "../kit/Measure.ts"
import type { ReportTable } from "../kit/Report.ts"
import type { Job, Sample } from "./Jobs.ts"

export interface Figures {
  readonly p50Millis: number
  readonly p99Millis: number
  /** Memories or searches, median of the rounds. */
  readonly perSecond: number
  /** Of the server, for one memory or search. */
  readonly processorMillis: number
  readonly count: number
}

/** By job, by contestant, the samples of its rounds. */
export type Samples = ReadonlyMap<string, ReadonlyMap<string, ReadonlyArray<Sample>>>

export const figuresOf = (samples: ReadonlyArray<Sample>, perRequest: number): Figures => {
  const all = samples.flatMap(({ millis }) => millis)
  const processorMillis = samples.reduce((sum, sample) => sum + sample.processorMillis, 0)
  return {
    p50Millis: quantile(all, 0.5),
    p99Millis: quantile(all, 0.99),
    perSecond: median(samples.map(({ millis, seconds }) => (millis.length * perRequest) / seconds)),
    processorMillis: processorMillis / (all.length * perRequest),
    count: all.length
  }
}

export type Measure = "throughput" | "latency" | "tail" | "processor"

/** How many times better `ours` is: above 1 it is ahead. */
export const ratio = (ours: ReadonlyArray<Sample>, peer: ReadonlyArray<Sample>, measure: Measure): number => {
  // Ticks of 10 ms are too coarse for a round.
  if (measure === "processor") return figuresOf(peer, 1).processorMillis / figuresOf(ours, 1).processorMillis
  return median(
    ours.map((sample, round) => {
      const other = peer[round]
      if (other === undefined) return Number.NaN
      if (measure === "throughput") return rate(sample) / rate(other)
      const share = measure === "latency" ? 0.5 : 0.99
      return quantile(other.millis, share) / quantile(sample.millis, share)
    })
  )
}

/** A row for each job: our figures, and how many times faster we are than each peer, at p50 and in throughput. */
export const jobsTable = (
  jobs: ReadonlyArray<Job>,
  samples: Samples,
  ours: string
): Pick<ReportTable, "columns" | "rows"> => {
  const peers = [...new Set(jobs.flatMap(({ id }) => [...(samples.get(id)?.keys() ?? [])]))].filter(
    (name) => name !== ours
  )
  return {
    columns: ["", "p50 ms", "p99 ms", "a second", "processor ms", ...peers.map((name) => `against ${name}`)],
    rows: jobs.map(({ id, perRequest, title }) => {
      const rounds = samples.get(id)
      const own = rounds?.get(ours) ?? []
      const { p50Millis, p99Millis, perSecond, processorMillis, count } = figuresOf(own, perRequest)
      const ratios = peers.map((name) => {
        const peer = rounds?.get(name)
        return peer === undefined ? "" : `${times(own, peer, "latency")}, ${times(own, peer, "throughput")}`
      })
      return [title, p50Millis, count < p99CountMin ? "" : p99Millis, perSecond, processorMillis, ...ratios]
    })
  }
}

/** Where a peer is better: job, peer, and how many times in each measure; empty where it is not. */
export const peerLeads = (
  jobs: ReadonlyArray<Job>,
  samples: Samples,
  ours: string
): ReadonlyArray<ReadonlyArray<string>> =>
  jobs.flatMap((job) => {
    const rounds = samples.get(job.id)
    const own = rounds?.get(ours)
    if (rounds === undefined || own === undefined) return []
    return [...rounds].flatMap(([name, peer]) => {
      const leads = leadMeasures.map((measure) => {
        const found = name === ours ? Infinity : ratio(own, peer, measure)
        return found < 1 ? `${(1 / found).toFixed(2)} x` : ""
      })
      return leads.every((lead) => lead === "") ? [] : [[job.title, name, ...leads]]
    })
  })

const leadMeasures = ["latency", "tail", "throughput", "processor"] as const satisfies ReadonlyArray<Measure>
export const leadColumns = ["", "ahead of us", "p50", "p99", "throughput", "processor time"]

/** Fewer samples have no such quantile. */
const p99CountMin = 100

const rate = ({ millis, seconds }: Sample): number => millis.length / seconds
const times = (ours: ReadonlyArray<Sample>, peer: ReadonlyArray<Sample>, measure: Measure): string =>
  String(Number(ratio(ours, peer, measure).toPrecision(3)))
