/** Stands in for `node:worker_threads` where the embedding thread is opened: the same thread with another entry. */
import { Worker as NodeWorker, type WorkerOptions } from "node:worker_threads"

export class Worker extends NodeWorker {
  constructor(_entry: URL, options: WorkerOptions) {
    const table = process.env["MUNIMENT_BENCH_VECTORS"]
    super(new URL("./tableWorker.ts", import.meta.url), { ...options, workerData: { table } })
  }
}
