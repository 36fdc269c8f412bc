/** Measurements of the attacked service, beside its answers. */
import type { BenchServer } from "../http/BenchServer.ts"
import type { Target } from "./Wire.ts"

export interface ServiceView {
  /** Processor time of the main thread since its start; NaN of a process that cannot be seen. */
  readonly mainThreadMillis: () => number
  /** Time in which the main thread was ready to run and had no processor, since its start; NaN likewise. */
  readonly starvedMillis: () => number
  /** Processor time of all its threads since its start; NaN likewise. */
  readonly processorMillis: () => number
  /** Resident memory; NaN likewise. */
  readonly residentBytes: () => number
  /** p99 of the event loop's delay since the last call; NaN where `/metrics` does not answer. */
  readonly loopDelayMillis: () => Promise<number>
}

export const viewOf = (target: Target, server: BenchServer | undefined): ServiceView => ({
  mainThreadMillis: () => server?.processorTime().mainMillis ?? Number.NaN,
  starvedMillis: () => server?.queuedMillis() ?? Number.NaN,
  processorMillis: () => server?.processorMillis() ?? Number.NaN,
  residentBytes: () => server?.residentBytes() ?? Number.NaN,
  loopDelayMillis: async () => {
    const metrics = await metricsOf(target)
    return metrics === undefined ? Number.NaN : sumOf(metrics, "event_loop_delay_p99_seconds") * 1_000
  }
})

/** The text of `/metrics`; undefined for a caller from elsewhere. */
const metricsOf = async ({ host, port }: Target): Promise<string | undefined> => {
  const response = await fetch(`http://${host}:${port}/metrics`)
  const text = await response.text()
  return response.ok ? text : undefined
}

/** Of all series of a metric whose labels match. */
export const sumOf = (metrics: string, name: string, labels: RegExp = /^/): number => {
  const series = new RegExp(`^muniment_${name}(?:\\{([^}]*)\\})? (\\S+)$`, "gm")
  return [...metrics.matchAll(series)]
    .filter(([, given = ""]) => labels.test(given))
    .reduce((sum, [, , value]) => sum + Number(value), 0)
}
