/**
 * What `/metrics` tells beside the stages of a search (engine): requests by route and status, their
 * time, and the state of the process. No label holds anything that a caller sent.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Effect, Metric } from "effect"
import { NamespaceHost } from "@muniment/engine/NamespaceHost"
import { PaymentJournal } from "@muniment/ledger/PaymentJournal"
import { refreshCharges } from "../credits/CreditMetrics.ts"

/** Seconds, 0.1 ms to about 13 s. */
const latencyBoundaries = Metric.exponentialBoundaries({ start: 0.0001, factor: 2, count: 18 })

const requestCount = Metric.counter("http_requests_total", {
  description: "Requests by route and status.",
  incremental: true
})
const requestTime = Metric.histogram("http_request_seconds", {
  description: "Time from the first byte of a request to its answer, by route.",
  boundaries: latencyBoundaries
})
const residentBytes = Metric.gauge("process_resident_bytes", { description: "Resident memory of the process." })
const openNamespaces = Metric.gauge("namespaces_open", { description: "Namespaces whose file is open." })
const quarantinedFiles = Metric.gauge("namespaces_quarantined", { description: "Damaged namespace files set aside." })
const paymentsInState = Metric.gauge("payments_in_state", { description: "Payments in the journal, by state." })
const loopDelay = Metric.gauge("event_loop_delay_p99_seconds", {
  description: "99th percentile since the last reading."
})
const loopDelayMax = Metric.gauge("event_loop_delay_max_seconds", { description: "Longest since the last reading." })

const delayResolutionMillis = 10

/** `route` is the pattern of the route, never the path of the request. */
export const countRequest = (route: string, status: number, millis: number): Effect.Effect<void> =>
  Effect.andThen(
    Metric.update(Metric.withAttributes(requestCount, { route, status: String(status) }), 1),
    Metric.update(Metric.withAttributes(requestTime, { route }), millis / 1_000)
  )

/** Brings the gauges up to date; called before each reading of `/metrics`. */
export class ProcessGauges {
  readonly #delay = monitorEventLoopDelay({ resolution: delayResolutionMillis })

  constructor() {
    this.#delay.enable()
  }

  get refresh(): Effect.Effect<void, never, NamespaceHost | PaymentJournal> {
    return Effect.gen({ self: this }, function* () {
      const { open, quarantined } = yield* (yield* NamespaceHost).status
      yield* Metric.update(residentBytes, process.memoryUsage.rss())
      yield* Metric.update(openNamespaces, open)
      yield* Metric.update(quarantinedFiles, quarantined.length)
      yield* refreshCharges
      for (const [state, count] of Object.entries(yield* (yield* PaymentJournal).countByState)) {
        yield* Metric.update(Metric.withAttributes(paymentsInState, { state }), count)
      }
      yield* Metric.update(loopDelay, secondsLate(this.#delay.percentile(99)))
      yield* Metric.update(loopDelayMax, secondsLate(this.#delay.max))
      this.#delay.reset()
    })
  }

  close(): void {
    this.#delay.disable()
  }
}

/** Node measures from tick to tick; on an idle loop that is the resolution, of which nobody waits. */
const secondsLate = (tickNanos: number): number => Math.max(0, tickNanos / 1e9 - delayResolutionMillis / 1e3)
