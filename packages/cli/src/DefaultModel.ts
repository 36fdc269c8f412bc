/**
 * Brings the configured embedding model to the models' directory. Without it search runs on its lexical half; a running
 * service takes the model up by itself. Libraries and the server's settings are loaded when they are needed.
 */
import { Console, Effect } from "effect"
import { modelById, type ModelId, modelPreference } from "@muniment/models/ModelCatalog"
import type { FetchProgress } from "@muniment/models/ModelFetch"
import { fetchDefaultModel, fetchModel, findModel, type ReadyModel } from "@muniment/models/ModelFiles"
import { commandFailed } from "./CommandFailed.ts"

/** The chosen model, or with `auto` the most preferred one that is complete on disk. Uses no network. */
export const modelOnDisk = Effect.fnUntraced(function* (modelsDirectory: string, chosen: ModelId | "auto") {
  for (const modelId of chosen === "auto" ? modelPreference : [chosen]) {
    const spec = modelById(modelId)
    if (spec === undefined) continue
    const found = yield* Effect.result(findModel(spec, modelsDirectory))
    if (found._tag === "Success") return found.success
  }
  return undefined
})

/** Rejects with every reason when no source has it. */
export const bringModel = (
  modelsDirectory: string,
  chosen: ModelId | "auto",
  onProgress?: FetchProgress
): Promise<ReadyModel> =>
  chosen === "auto" ? fetchDefaultModel(modelsDirectory, onProgress) : fetchModel(chosen, modelsDirectory, onProgress)

/** By the server's settings; undefined where these want none. Says so while it fetches, on standard error. */
export const fetchMissingModel = Effect.gen(function* () {
  const { ServerConfig } = yield* Effect.promise(() => import("@muniment/server/Config"))
  const { embeddingModel, modelsDirectory } = yield* ServerConfig
  if (embeddingModel === "none") return undefined
  const found = yield* modelOnDisk(modelsDirectory, embeddingModel)
  if (found !== undefined) return found
  yield* Console.error("Fetching the embedding model (once, 16 to 104 MB) ...")
  const ready = yield* Effect.tryPromise(() => bringModel(modelsDirectory, embeddingModel))
  yield* Console.error(`Embedding model ${ready.modelId}: ready.`)
  return ready
}).pipe(Effect.mapError(commandFailed))
