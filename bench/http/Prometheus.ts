/**
 * The server's own figures, read from `/metrics`: gauges, and what a histogram gained between two
 * readings. Quantiles are interpolated within a bucket, as Prometheus does, so they are estimates.
 */
import type { HttpClient } from "./HttpClient.ts"

interface Histogram {
  readonly count: number
  readonly sum: number
  /** Upper bound and cumulated count, ascending. */
  readonly buckets: ReadonlyArray<readonly [number, number]>
}

export interface Span {
  readonly count: number
  readonly meanMillis: number
  readonly p50Millis: number
  readonly p99Millis: number
}

export class Reading {
  readonly #samples = new Map<string, number>()

  static async take(client: HttpClient): Promise<Reading> {
    return new Reading((await client.text("GET", "/metrics")).text)
  }

  constructor(text: string) {
    for (const line of text.split("\n")) {
      const space = line.lastIndexOf(" ")
      if (!line.startsWith("#") && space > 0) this.#samples.set(line.slice(0, space), Number(line.slice(space + 1)))
    }
  }

  gauge(name: string): number {
    return this.#samples.get(name) ?? Number.NaN
  }

  /** What the series of a histogram with this label gained since `before`. */
  since(before: Reading, name: string, label: string): Span {
    const [now, then] = [this.#histogram(name, label), before.#histogram(name, label)]
    const count = now.count - then.count
    const buckets = now.buckets.map(([bound, total], at) => [bound, total - (then.buckets[at]?.[1] ?? 0)] as const)
    return {
      count,
      meanMillis: count === 0 ? Number.NaN : ((now.sum - then.sum) / count) * 1_000,
      p50Millis: quantile(buckets, count, 0.5) * 1_000,
      p99Millis: quantile(buckets, count, 0.99) * 1_000
    }
  }

  #histogram(name: string, label: string): Histogram {
    const buckets: Array<readonly [number, number]> = []
    for (const [series, value] of this.#samples) {
      if (!series.startsWith(`${name}_bucket{`) || !series.includes(label)) continue
      const bound = /le="([^"]+)"/.exec(series)?.[1] ?? "+Inf"
      buckets.push([bound === "+Inf" ? Infinity : Number(bound), value])
    }
    const one = (suffix: string) =>
      [...this.#samples].find(([series]) => series.startsWith(`${name}_${suffix}{`) && series.includes(label))?.[1] ?? 0
    return { count: one("count"), sum: one("sum"), buckets: buckets.sort(([left], [right]) => left - right) }
  }
}

const quantile = (buckets: ReadonlyArray<readonly [number, number]>, count: number, share: number): number => {
  const rank = share * count
  let [lower, below] = [0, 0]
  for (const [bound, total] of buckets) {
    if (total >= rank && total > below) {
      return bound === Infinity ? lower : lower + ((bound - lower) * (rank - below)) / (total - below)
    }
    ;[lower, below] = [bound, total]
  }
  return Number.NaN
}
