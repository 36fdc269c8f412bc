/**
 * The thread of `LivenessProbe`: from "start" to "stop" it asks for `/health/live`, and posts every wait then. A thread that
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

/** Between two questions. A block that counts is many times as long. */
const pauseMillis = 5

const processes = workerData as ReadonlyArray<ServedProcess>
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
let waits: Array<Wait> = []
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
    if (!isOver) return void setTimeout(probe, pauseMillis)
    agent.destroy()
    parentPort?.postMessage(waits)
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

parentPort?.on("message", (order: "start" | "stop") => {
  isOver = order === "stop"
  if (isOver) return
  waits = []
  parentPort?.postMessage("ready")
  probe()
})
