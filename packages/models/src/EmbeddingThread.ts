/**
 * An embedding thread. It starts with its first request and again with the first one after it was lost; the models
 * of a lost thread are lost with it: `ModelLoader` and `EmbeddingHelper` load them again.
 */
import { Effect, Schema, type Scope } from "effect"
import { openWorkerThread, type WorkerFailure, type WorkerThread } from "@muniment/worker/WorkerThread"
import { isKnownVector, knownText, type ModelId, type ModelSpec, tokensPerTextMax } from "./ModelCatalog.ts"

export type EmbeddingThread = WorkerThread<ThreadRequest, ThreadReply>

/** The slowest model loads in a tenth of this on an idle machine. */
const closeMillisMax = 10_000
/** Deadline for the network, and again for its first vector. */
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

/** No embedding at the moment: search is lexical only, and written memories are embedded later. */
export class EmbeddingUnavailable extends Schema.TaggedError<EmbeddingUnavailable>()(
  "EmbeddingUnavailable",
  { modelId: Schema.String, reason: Schema.String },
  { httpApiStatus: 503 }
) {
  override get message(): string {
    return `${this.modelId}: ${this.reason}`
  }
}

/**
 * A further embedding thread, for a long backlog. It runs at a low priority, so only on processors that nothing else
 * uses. It loads a model at its first batch and ends some seconds after its last, so that a service at rest holds the
 * model once. Batches that it fails go back to the first thread.
 */
export interface EmbeddingHelper {
  readonly isRunning: () => boolean
  readonly prepare: (spec: ModelSpec) => Effect.Effect<void, EmbeddingUnavailable>
  /** With a model that was prepared. */
  readonly embed: (
    spec: ModelSpec,
    texts: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<Float32Array>, EmbeddingUnavailable>
}

/** Beside a thread that answers requests it gets a tenth of a processor. */
const niceness = 10
const idleMillis = 10_000

export const openEmbeddingHelper = Effect.fnUntraced(function* (entry: URL, settings: ThreadSettings) {
  const loaded = new Set<ModelId>()
  const thread = yield* openEmbeddingThread(entry, settings, () => loaded.clear(), { niceness, idleMillis })
  return {
    isRunning: () => thread.isRunning,
    prepare: Effect.fnUntraced(function* (spec: ModelSpec) {
      if (loaded.has(spec.id)) return
      yield* loadInto(thread, spec)
      loaded.add(spec.id)
    }),
    embed: (spec: ModelSpec, texts: ReadonlyArray<string>) => embedOn(thread, spec, texts)
  } satisfies EmbeddingHelper
})

/** The backlog gets a helper once it has been worked at for this long without a pause of `pauseMillis`. */
const helpedAfterMillis = 2_000
const pauseMillis = 1_000

/** How long the backlog has been worked at. */
export class BacklogWork {
  #sinceMillis = -Infinity
  #lastMillis = -Infinity

  /** A batch ended. True when help is worth its price. */
  note(nowMillis: number): boolean {
    if (nowMillis - this.#lastMillis > pauseMillis) this.#sinceMillis = nowMillis
    this.#lastMillis = nowMillis
    return nowMillis - this.#sinceMillis >= helpedAfterMillis
  }
}

/**
 * Requests to the embedding thread and their replies. Vectors come back as one flat Float32Array[texts * dims],
 * whose buffer is transferred, not copied.
 */
export interface ThreadSettings {
  readonly modelsDir: string
  /** Threads inside one run of the network; 1 leaves the other cores to the service. */
  readonly intraOpThreads: number
}

export interface LoadRequest {
  readonly type: "load"
  readonly modelId: ModelId
  readonly dims: number
  readonly pooling: "mean" | "cls"
  readonly textsPerRunMax: number
  readonly tokensPerTextMax: number
}

export interface EmbedRequest {
  readonly type: "embed"
  readonly modelId: ModelId
  /** With their prefixes. */
  readonly texts: ReadonlyArray<string>
}

export type ThreadRequest = LoadRequest | EmbedRequest

export type ThreadReply =
  | { readonly type: "loaded" }
  | { readonly type: "embedded"; readonly vectors: Float32Array<ArrayBuffer> }
