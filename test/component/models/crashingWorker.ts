/** The real embedding thread, except that a text ending in "crash" ends it, as a bug in native code would. */
import { workerData } from "node:worker_threads"

workerData.port.on("message", ({ request }: { readonly request?: { readonly texts?: ReadonlyArray<string> } }) => {
  if (request?.texts?.some((text) => text.endsWith("crash"))) process.exit(9)
})
await import("../../../packages/models/src/EmbeddingWorker.ts")
