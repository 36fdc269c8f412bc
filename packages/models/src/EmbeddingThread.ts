/**
 * An embedding thread. It starts with its first request and again with the first one after it was lost; the models
 * of a lost thread are lost with it: `ModelLoader` and `EmbeddingHelper` load them again.
 */
import { openWorkerThread, type WorkerFailure, type WorkerThread } from "@muniment/worker/WorkerThread"
import { Effect, type Scope } from "effect"
import type { ThreadReply, ThreadRequest, ThreadSettings } from "./EmbeddingProtocol.ts"
import { EmbeddingUnavailable } from "./EmbeddingUnavailable.ts"
import { isKnownVector, knownText, type ModelSpec, tokensPerTextMax } from "./ModelCatalog.ts"

export type EmbeddingThread = WorkerThread<ThreadRequest, ThreadReply>

/** The slowest model loads in a tenth of this on an idle machine. */
const closeMillisMax = 10_000
/** Of the network, and again of its first vector. */
const loadMillisMax = 60_000
const batchMillisMax = 30_000

export const openEmbeddingThread = (
  entry: URL,
  settings: ThreadSettings,
  /** Called once, before the requests under way fail. */
  onLost: (failure: WorkerFailure) => void,
  others: { readonly niceness?: number; readonly idleMillis?: number } = {}
): Effect.Effect<EmbeddingThread, never, Scope.Scope> =>
  openWorkerThread({
    name: "embedding",
    entry,
    settings,
    ...others,
    // One batch and one load at a time are sent.
    concurrency: Infinity,
    queueMax: 0,
    // Terminating the thread inside a native call would abort the process.
    closeMillisMax,
    onLost
  })

/** Loads `spec` into the thread and compares its vector of the known text. */
export const loadInto = Effect.fnUntraced(
  function* (thread: EmbeddingThread, spec: ModelSpec) {
    const { id: modelId, dims, pooling, textsPerRunMax } = spec
    const inTime = { deadlineMillis: loadMillisMax }
    yield* thread.ask({ type: "load", modelId, dims, pooling, textsPerRunMax, tokensPerTextMax }, inTime)
    const reply = yield* thread.ask({ type: "embed", modelId, texts: [knownText] }, inTime)
    if (reply.type !== "embedded" || !isKnownVector(spec, reply.vectors)) {
      return yield* refuse(
        spec,
        "its vector of the known text differs from the catalogue's, so its vectors could not be compared with stored ones"
      )
    }
  },
  (effect, _thread, spec) =>
    Effect.catchTag(effect, "WorkerFailure", ({ detail, reason }) =>
      refuse(spec, reason === "deadline" ? "loading took too long" : detail)
    )
)

/** A vector of its own for each text, in their order: views would keep the buffer of all. */
export const embedOn = Effect.fnUntraced(function* (
  thread: EmbeddingThread,
  spec: ModelSpec,
  texts: ReadonlyArray<string>
) {
  const { dims, id: modelId } = spec
  const reply = yield* thread
    .ask({ type: "embed", modelId, texts }, { deadlineMillis: batchMillisMax })
    .pipe(
      Effect.catchTag("WorkerFailure", ({ detail, reason }) =>
        refuse(spec, reason === "deadline" ? `a batch took longer than ${batchMillisMax} ms` : detail)
      )
    )
  if (reply.type !== "embedded" || reply.vectors.length !== texts.length * dims) {
    return yield* refuse(spec, "the embedding thread answered with the wrong number of components")
  }
  const { vectors } = reply
  return texts.map((_, at): Float32Array => vectors.slice(at * dims, (at + 1) * dims))
})

const refuse = ({ id: modelId }: ModelSpec, reason: string) =>
  Effect.fail(new EmbeddingUnavailable({ modelId, reason }))
