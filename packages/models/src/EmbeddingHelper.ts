/**
 * A further embedding thread, for a long backlog. It runs at a low priority, so only on processors that nothing else
 * uses. It loads a model at its first batch and ends some seconds after its last, so that a service at rest holds the
 * model once. Batches that it fails go back to the first thread.
 */
import { Effect } from "effect"
import type { ThreadSettings } from "./EmbeddingProtocol.ts"
import { embedOn, loadInto, openEmbeddingThread } from "./EmbeddingThread.ts"
import type { EmbeddingUnavailable } from "./EmbeddingUnavailable.ts"
import type { ModelId, ModelSpec } from "./ModelCatalog.ts"

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
