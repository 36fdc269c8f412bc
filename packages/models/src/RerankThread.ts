/**
 * The thread behind `Reranker`: it loads the model at the start, and scores the hits of one search at a time.
 *
 * Invariant: a model that fails, is not there or takes too long leaves hits as they are; no search fails for it.
 */
import { Effect, Layer } from "effect"
import { existsSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { traced } from "@muniment/domain/traced"
import { Rounds } from "@muniment/worker/Rounds"
import { openWorkerThread } from "@muniment/worker/WorkerThread"
import { Reranker } from "./Reranker.ts"

interface RerankerOptions {
  /** A folder as transformers.js has it, its `.onnx` file, or `owner/name` on the hub. */
  readonly model: string
  readonly modelsDir: string
  /** How long a search waits for its scores. */
  readonly patienceMillis: number
}

/** Searches that wait for the thread; one more keeps its order. */
const queueMax = 16
/** Deadline of a load or a run. */
const requestMillisMax = 120_000
const closeMillisMax = 10_000

export const rerankerLayer = ({ model, modelsDir, patienceMillis }: RerankerOptions) =>
  Layer.effect(
    Reranker,
    Effect.gen(function* () {
      const settings: RerankSettings = { place: placeOf(model, modelsDir), intraOpThreads: 1 }
      const thread = yield* openWorkerThread<RerankRequest, RerankReply>({
        name: "re-ranking",
        entry: new URL("./RerankWorker.ts", import.meta.url),
        settings,
        concurrency: 1,
        queueMax,
        // Terminating the thread inside a native call would abort the process.
        closeMillisMax
      })
      const asked = (request: RerankRequest) => thread.ask(request, { deadlineMillis: requestMillisMax })
      // Tried again until it succeeds, so that a model that is brought later is used without a restart.
      yield* Rounds.once({
        name: "re-ranking model",
        work: Effect.andThen(asked({ query: "", texts: [] }), Effect.logInfo("re-ranking model loaded", { model }))
      })
      const scores = traced("Reranker.scores")(function* (query: string, texts: ReadonlyArray<string>) {
        return yield* asked({ query, texts }).pipe(
          Effect.timeoutOrElse({ duration: patienceMillis, orElse: () => Effect.succeed(undefined) }),
          Effect.catchTag("WorkerFailure", ({ detail, reason }) =>
            Effect.as(Effect.logWarning("hits were not re-ranked", { model, reason, detail }), undefined)
          )
        )
      })
      return { model, scores }
    })
  )

const hubName = /^[\w.-]+\/[\w.-]+$/

/** A file or folder where one is there; else a name of the form of the hub's. */
const placeOf = (model: string, modelsDir: string): RerankerPlace => {
  const path = resolve(model)
  if (!existsSync(path) && hubName.test(model)) return { _tag: "Hub", name: model, cache: join(modelsDir, "rerankers") }
  const network = path.endsWith(".onnx") ? path : join(path, "onnx", networkIn(path))
  const isBelow = basename(dirname(network)) === "onnx"
  const folder = isBelow ? dirname(dirname(network)) : dirname(network)
  return {
    _tag: "Files",
    parent: dirname(folder),
    folder: basename(folder),
    subfolder: isBelow ? "onnx" : "",
    network: basename(network, ".onnx")
  }
}

/** The quantised network where the folder has one. */
const networkIn = (folder: string): string =>
  existsSync(join(folder, "onnx", "model_quantized.onnx")) ? "model_quantized.onnx" : "model.onnx"

// Requests to the thread and their replies.

/** A cross-encoder on disk, or its name on the hub. */
type RerankerPlace =
  | {
      readonly _tag: "Files"
      /** Folder of the folder with the tokenizer's files, and its name. */
      readonly parent: string
      readonly folder: string
      /** The network: its folder below that, and its name without `.onnx`. */
      readonly subfolder: string
      readonly network: string
    }
  | { readonly _tag: "Hub"; readonly name: string; readonly cache: string }

export interface RerankSettings {
  readonly place: RerankerPlace
  readonly intraOpThreads: number
}

/** Without texts the model is loaded, and nothing more. */
export interface RerankRequest {
  readonly query: string
  readonly texts: ReadonlyArray<string>
}

/** In the order of the texts, higher is better; the scale is the model's own. */
export type RerankReply = Float32Array<ArrayBuffer>
