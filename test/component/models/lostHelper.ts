/** The real embedding thread, except that one which gives way to others (a further one) ends with its first large batch. */
import { workerData } from "node:worker_threads"

workerData.port.on("message", ({ request }: { readonly request?: { readonly texts?: ReadonlyArray<string> } }) => {
  if (workerData.niceness > 0 && (request?.texts?.length ?? 0) > 4) process.exit(9)
})
await import("../../../packages/models/src/EmbeddingWorker.ts")
