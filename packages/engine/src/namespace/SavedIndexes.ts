/**
 * Saved forms of a namespace's vector indexes, all disposable: segments in the file and graph
 * snapshots beside it. Decides when to write and when to delete them.
 *
 * Invariant: what a commit removes is in no saved form afterwards, wherever the process dies: snapshots are deleted
 * before the commit, segments before it or within its transaction.
 */
import { Clock, Effect } from "effect"
import type { Draft } from "./Draft.ts"
import type { NamespaceState } from "./NamespaceState.ts"
import { saveSegments, snapshotPath } from "./NamespaceVectors.ts"
import { type OpenNamespace, segmentsTouchedBy } from "../store/NamespaceStore.ts"
import { StoreFault, type StoreError } from "../store/StoreError.ts"
import { discardSnapshot } from "../vectors/planner/PlannedIndex.ts"

/** Duration of one save of segments, about a hundred of them; the rest waits for the next save. */
const saveMillisMax = 1_000
/** Segments that a commit deletes in its own transaction: about 100 pages each. */
const segmentsPerCommitMax = 2

export class SavedIndexes {
  readonly #store: OpenNamespace
  readonly #state: NamespaceState
  /** Whether the last save of segments was incomplete. */
  #isSaveDue = false
  /** Models that may have a snapshot on disk. */
  #snapshotModels: ReadonlyArray<string>

  constructor(store: OpenNamespace, state: NamespaceState) {
    this.#store = store
    this.#state = state
    this.#snapshotModels = state.vectors.models
  }

  /** Call before the draft is committed. */
  discardOutdatedBy(draft: Draft): Effect.Effect<void, StoreError> {
    const segments = this.#discardSegments(draft)
    return draft.erases ? Effect.andThen(this.#discardSnapshots(), segments) : segments
  }

  /** Saves segments if at least `changedMin` of them have changed. A failed save only makes the next open slower. */
  saveSegments(changedMin: number): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const source = this.#state.segmentSource
      if (source === undefined) return
      if (!this.#isSaveDue && source.index.changedSegments().length < changedMin) return
      this.#isSaveDue = true
      const untilMillis = (yield* Clock.currentTimeMillis) + saveMillisMax
      this.#isSaveDue = !(yield* saveSegments(this.#store.segments, source, untilMillis))
    }).pipe(
      Effect.catch((error) =>
        Effect.logWarning("index segments not saved; the next open encodes the vectors", {
          namespace: this.#store.key.tag,
          error: error._tag
        })
      )
    )
  }

  saveSnapshots(): Effect.Effect<void> {
    return Effect.forEach(
      this.#state.vectors.models.filter((model) => !this.#state.vectors.isOnDisk(model, this.#state.lastSeq)),
      (model) => this.#saveSnapshot(model),
      { discard: true }
    )
  }

  #saveSnapshot(model: string): Effect.Effect<void> {
    const key = { modelId: model, seq: this.#state.lastSeq }
    const written = Effect.promise(async () =>
      this.#state.vectors.index(model)?.writeSnapshot(snapshotPath(this.#store, model), key)
    )
    return Effect.flatMap(written, (outcome) =>
      outcome?.written === false
        ? Effect.logDebug("HNSW snapshot not written", {
            namespace: this.#store.key.tag,
            model,
            reason: outcome.reason
          })
        : Effect.void
    )
  }

  #discardSnapshots(): Effect.Effect<void, StoreFault> {
    return Effect.suspend(() => {
      const models = this.#snapshotModels
      this.#snapshotModels = []
      return Effect.forEach(
        models,
        (model) =>
          Effect.tryPromise({
            try: () => discardSnapshot(snapshotPath(this.#store, model)),
            catch: (cause) => new StoreFault({ cause })
          }),
        { discard: true }
      )
    })
  }

  /**
   * Deletes segments one by one when a commit touches many of them. Within the commit, the pages of a hundred
   * segments would block the event loop, and their log would outgrow the ballast.
   */
  #discardSegments(draft: Draft): Effect.Effect<void, StoreError> {
    const touched = segmentsTouchedBy(draft.group)
    if (touched.size <= segmentsPerCommitMax) return Effect.void
    const { segments } = this.#store
    return Effect.flatMap(segments.stored, (stored) =>
      segments.discard(stored.filter((segment) => touched.has(segment)))
    )
  }
}
