/**
 * Loaded before a server (`node --import`), this gives its `Embedder` a thread that looks vectors up
 * in a table instead of computing them: the whole service without the encoder's share, which is the
 * same for every contestant and hides the rest. Nothing else of the server is touched.
 *
 * `MUNIMENT_BENCH_VECTORS` names the table (`VectorTable.ts`).
 */
import { registerHooks } from "node:module"

const thread = "/packages/worker/src/WorkerThread.ts"

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "node:worker_threads" && context.parentURL?.endsWith(thread) === true
      ? next(new URL("./TableThread.ts", import.meta.url).href, context)
      : next(specifier, context)
})
