/** The real embedding thread, except that a text ending in "crash" kills it, as a bug in native code would. */
import { parentPort } from "node:worker_threads"

parentPort?.on("message", (request: { readonly type: string; readonly texts?: ReadonlyArray<string> }) => {
  if (request.texts?.some((text) => text.endsWith("crash"))) process.exit(9)
})
await import("../../../packages/models/src/EmbeddingWorker.ts")
