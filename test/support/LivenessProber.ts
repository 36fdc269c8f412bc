/**
 * The thread of `LivenessProbe`: asks for `/health/live` until it is told to stop, and posts every wait. A thread that
 * is ready but not given a processor is counted by Linux (`schedstat`: nanoseconds on a processor, nanoseconds waiting
 * for one); elsewhere nothing is subtracted. A request to a cluster passes two of its nodes, and which is not known, so
 * the times of all are subtracted; a connection that ends because another node takes over is not a wait.
 */
import { readFileSync } from "node:fs"
import { Agent, get } from "node:http"
import { parentPort, workerData } from "node:worker_threads"
import type { ServedProcess } from "./ServedProcess.ts"

/** Milliseconds since the epoch, and of waiting. */
export interface Wait {
  readonly atMillis: number
  readonly millis: number
}

const processes = workerData as ReadonlyArray<ServedProcess>
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const waits: Array<Wait> = []
let turn = 0
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
const queuedMillisNow = (): number =>
  processes.reduce((sum, { pid }) => sum + queuedMillis(`${pid}/task/${pid}`), queuedMillis("thread-self"))

const probe = (): void => {
  const startedMillis = performance.now()
  const queuedBefore = queuedMillisNow()
  const next = (): void => {
    if (!isOver) return probe()
    agent.destroy()
    parentPort?.postMessage(waits)
    parentPort?.close()
  }
  const { url } = processes[turn++ % processes.length]!
  get(`${url}/health/live`, { agent }, (response) => {
    response.resume()
    response.once("end", () => {
      const queued = queuedMillisNow() - queuedBefore
      const millis = Math.max(0, performance.now() - startedMillis - queued)
      waits.push({ atMillis: performance.timeOrigin + startedMillis, millis })
      next()
    })
  }).once("error", (error) => {
    if (processes.length === 1) throw error
    next()
  })
}

parentPort?.once("message", () => {
  isOver = true
})
parentPort?.postMessage("ready")
probe()
