/**
 * The import: batches of 100 over HTTP, some under way at once, watched by a probe in a thread of its own until every
 * memory has its vector.
 */
import { setTimeout } from "node:timers/promises"
import type { BenchServer } from "./BenchServer.ts"
import type { ProcessorTime } from "./ChildServer.ts"
import type { NamedText } from "./debianTexts.ts"
import { HttpClient } from "./HttpClient.ts"
import type { ProbeReport } from "./probe.ts"
import { Reading } from "./Prometheus.ts"
import { startProbe } from "./startProbe.ts"

const batchMax = 100
const healthEveryMillis = 10
const progressEvery = 1_000
const vectorsPollMillis = 50

export interface ImportOptions {
  readonly agents: number
  readonly inFlight: number
  /** Every request with an `Idempotency-Key`: its answer is kept in control.db. */
  readonly isIdempotent: boolean
  readonly questions: ReadonlyArray<string>
  /** 0: no searches meanwhile. */
  readonly askEveryMillis: number
}

export interface ImportReport {
  /** Until the last request was answered. */
  readonly acknowledgedSeconds: number
  /** Until the last memory had its vector. */
  readonly seconds: number
  readonly requestMillis: ReadonlyArray<number>
  readonly probe: ProbeReport
  readonly processor: ProcessorTime
  readonly residentBytes: number
  readonly loopDelayMaxMillis: number
}

interface Created {
  readonly created: ReadonlyArray<{ readonly id: string }>
}

/** Imports all, then checks that the service holds exactly as many. */
export const importTexts = async (
  server: BenchServer,
  texts: ReadonlyArray<NamedText>,
  options: ImportOptions
): Promise<ImportReport> => {
  const client = new HttpClient(server.port)
  const batches = Array.from({ length: Math.ceil(texts.length / batchMax) }, (_, at) =>
    texts.slice(at * batchMax, (at + 1) * batchMax)
  )
  const requestMillis: Array<number> = []
  let imported = 0
  let next = 0
  const probe = await startProbe({
    port: server.port,
    questions: options.questions,
    healthEveryMillis,
    askEveryMillis: options.askEveryMillis
  })
  // Reading starts a new interval of the loop delay.
  await Reading.take(client)
  const before = server.processorTime()
  const startedMillis = performance.now()
  const sender = async () => {
    for (let at = next++; at < batches.length; at = next++) {
      const batch = {
        agentId: `agent-${at % options.agents}`,
        memories: batches[at]!.map(({ name, text }) => ({
          kind: "factual_memory",
          data: { subject: name, fact: text }
        }))
      }
      const key = options.isIdempotent ? `batch-${at}` : undefined
      const { body, millis } = await client.json<Created>("POST", "/v1/memories/batch/create", batch, key)
      requestMillis.push(millis)
      imported += body.created.length
      if (imported % progressEvery < body.created.length) showProgress(imported, texts.length, startedMillis)
    }
  }
  await Promise.all(Array.from({ length: options.inFlight }, sender))
  const acknowledgedSeconds = (performance.now() - startedMillis) / 1_000
  let reading = await Reading.take(client)
  let loopDelayMaxSeconds = reading.gauge("muniment_event_loop_delay_max_seconds")
  while (reading.gauge("muniment_vectors_pending") > 0) {
    await setTimeout(vectorsPollMillis)
    reading = await Reading.take(client)
    loopDelayMaxSeconds = Math.max(loopDelayMaxSeconds, reading.gauge("muniment_event_loop_delay_max_seconds"))
  }
  const seconds = (performance.now() - startedMillis) / 1_000
  const after = server.processorTime()
  const report = await probe.stop()
  const { body } = await client.json<{ readonly total: number }>("GET", "/v1/memories?limit=1")
  client.close()
  if (body.total !== texts.length) throw new Error(`imported ${texts.length} texts, the service lists ${body.total}`)
  if (report.failures > 0) throw new Error(`${report.failures} requests failed during the import`)
  return {
    acknowledgedSeconds,
    seconds,
    requestMillis,
    probe: report,
    processor: {
      mainMillis: after.mainMillis - before.mainMillis,
      otherMillis: after.otherMillis - before.otherMillis
    },
    residentBytes: reading.gauge("muniment_process_resident_bytes"),
    loopDelayMaxMillis: loopDelayMaxSeconds * 1_000
  }
}

const showProgress = (done: number, total: number, startedMillis: number): void => {
  const seconds = (performance.now() - startedMillis) / 1_000
  const left = (seconds / done) * (total - done)
  process.stderr.write(`\r${done}/${total} memories, ${(done / seconds).toFixed(0)}/s, ${left.toFixed(0)} s left   `)
  if (done === total) process.stderr.write("\n")
}
