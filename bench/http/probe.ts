/**
 * A thread that watches the server while others load it, so that the load's own work in the bench
 * process delays no measurement: `/health/live` every few milliseconds, and a question now and then.
 * Gives both lists of latencies when it is asked to end.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { parentPort, workerData } from "node:worker_threads"
import { HttpClient } from "./HttpClient.ts"

export interface ProbeSettings {
  readonly port: number
  readonly questions: ReadonlyArray<string>
  readonly healthEveryMillis: number
  /** 0: ask nothing. */
  readonly askEveryMillis: number
}

export interface ProbeReport {
  readonly health: ReadonlyArray<number>
  readonly searches: ReadonlyArray<number>
  readonly failures: number
  /** Longest wait of this thread, which has nearly nothing to do: what the machine itself adds. */
  readonly ownDelayMaxMillis: number
}

const delayResolutionMillis = 10

const main = (port: NonNullable<typeof parentPort>, settings: ProbeSettings): void => {
  const client = new HttpClient(settings.port)
  const delay = monitorEventLoopDelay({ resolution: delayResolutionMillis })
  delay.enable()
  const health: Array<number> = []
  const searches: Array<number> = []
  let failures = 0
  const over = new AbortController()
  let asked = 0

  const every = async (millis: number, call: () => Promise<void>) => {
    while (!over.signal.aborted) {
      await call().catch(() => failures++)
      await new Promise((wake) => setTimeout(wake, millis))
    }
  }
  const watch = every(settings.healthEveryMillis, async () => {
    health.push((await client.text("GET", "/health/live")).millis)
  })
  const ask = async () => {
    // Never the same text twice: a query vector from the cache would hide the embedding's wait.
    const text = `${settings.questions[asked % settings.questions.length]} ${Math.floor(asked / settings.questions.length)}`
    asked++
    searches.push((await client.text("GET", `/v1/memories/search?query=${encodeURIComponent(text)}`)).millis)
  }
  const questions = settings.askEveryMillis === 0 ? Promise.resolve() : every(settings.askEveryMillis, ask)
  port.once("message", async () => {
    over.abort()
    await Promise.all([watch, questions])
    client.close()
    const ownDelayMaxMillis = Math.max(0, delay.max / 1e6 - delayResolutionMillis)
    port.postMessage({ health, searches, failures, ownDelayMaxMillis } satisfies ProbeReport)
    port.close()
  })
}

if (parentPort !== null) main(parentPort, workerData as ProbeSettings)
