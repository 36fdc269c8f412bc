/** The thread of `LivenessProbe`: asks for `/health/live` until it is told to stop, and posts every wait. */
import { Agent, get } from "node:http"
import { parentPort, workerData } from "node:worker_threads"

/** Milliseconds since the epoch, and of waiting. */
export interface Wait {
  readonly atMillis: number
  readonly millis: number
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const waits: Array<Wait> = []
let isOver = false

const probe = (): void => {
  const startedMillis = performance.now()
  const finish = (): void => {
    waits.push({ atMillis: performance.timeOrigin + startedMillis, millis: performance.now() - startedMillis })
    if (!isOver) return probe()
    agent.destroy()
    parentPort?.postMessage(waits)
    parentPort?.close()
  }
  get(`${String(workerData)}/health/live`, { agent }, (response) => {
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
