/**
 * The embedding thread. It starts with its first request and again with the first one after it was lost; the models
 * of a lost thread are lost with it, and `ModelLoader` loads them again.
 */
import { openWorkerThread, type WorkerFailure, type WorkerThread } from "@muniment/worker/WorkerThread"
import type { Effect, Scope } from "effect"
import type { ThreadReply, ThreadRequest, ThreadSettings } from "./EmbeddingProtocol.ts"

export type EmbeddingThread = WorkerThread<ThreadRequest, ThreadReply>

/** The slowest model loads in a tenth of this on an idle machine. */
const closeMillisMax = 10_000

export const openEmbeddingThread = (
  entry: URL,
  settings: ThreadSettings,
  /** Called once, before the requests under way fail. */
  onLost: (failure: WorkerFailure) => void
): Effect.Effect<EmbeddingThread, never, Scope.Scope> =>
  openWorkerThread({
    name: "embedding",
    entry,
    settings,
    // `Embedder` sends one batch and `ModelLoader` one load at a time.
    concurrency: Infinity,
    queueMax: 0,
    // Terminating the thread inside a native call would abort the process.
    closeMillisMax,
    onLost
  })
