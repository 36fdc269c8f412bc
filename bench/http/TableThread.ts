/** Stands in for `node:worker_threads` where threads are opened: the embedding thread gets another entry. */
import { Worker as NodeWorker, type WorkerOptions } from "node:worker_threads"

export { MessageChannel, receiveMessageOnPort } from "node:worker_threads"

export class Worker extends NodeWorker {
  constructor(entry: URL, options: WorkerOptions) {
    const isEmbedding = entry.pathname.endsWith("/EmbeddingWorker.ts")
    const settings = { table: process.env["MUNIMENT_BENCH_VECTORS"] }
    super(
      isEmbedding ? new URL("./tableWorker.ts", import.meta.url) : entry,
      isEmbedding ? { ...options, workerData: { ...options.workerData, settings } } : options
    )
  }
}
