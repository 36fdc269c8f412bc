/**
 * The thread of `LivenessProbe`: asks for `/health/live` until it is told to stop, and posts every wait. A thread that
 * is ready but not given a processor is counted by Linux (`schedstat`: nanoseconds on a processor, nanoseconds waiting
 * for one); elsewhere nothing is subtracted.
 */
import { readFileSync } from "node:fs"
import { Agent, get } from "node:http"
import { parentPort, workerData } from "node:worker_threads"

/** Milliseconds since the epoch, and of waiting. */
export interface Wait {
  readonly atMillis: number
  readonly millis: number
}

const { pid, url } = workerData as { readonly pid: number; readonly url: string }
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const waits: Array<Wait> = []
let isOver = false

/** Milliseconds that a thread has waited for a processor so far. */
const queuedMillis = (thread: string): number => {
  try {
    return Number(readFileSync(`/proc/${thread}/schedstat`, "utf8").split(" ")[1]) / 1e6
  } catch {
    // Not Linux, or the server has ended.
    return 0
  }
}
const queuedMillisNow = (): number => queuedMillis(`${pid}/task/${pid}`) + queuedMillis("thread-self")

const probe = (): void => {
  const startedMillis = performance.now()
  const queuedBefore = queuedMillisNow()
  const finish = (): void => {
    const queued = queuedMillisNow() - queuedBefore
    const millis = Math.max(0, performance.now() - startedMillis - queued)
    waits.push({ atMillis: performance.timeOrigin + startedMillis, millis })
    if (!isOver) return probe()
    agent.destroy()
    parentPort?.postMessage(waits)
    parentPort?.close()
  }
  get(`${url}/health/live`, { agent }, (response) => {
    response.resume()
    response.once("end", finish)
  }).once("error", (error) => {
    throw error
  })
}

parentPort?.once("message", () => {
  isOver = true
})
parentPort?.postMessage("ready")
probe()
