/**
 * The port every vector engine implements, and the types its answers have.
 *
 * An index is owned by one namespace actor and single-threaded. It is disposable: SQLite is the
 * truth, the index is changed only after a commit, by sequence number; an entry older than the
 * slot's last change is ignored, so a tail may be replayed twice. All methods are plain and
 * synchronous. Vectors are unit-norm Float32Array[dims]; a score is their inner product, to the
 * precision of `VectorArena`, and the same in every engine.
 */
import type { Bitmap } from "./Bitmap.ts"

/** What can answer a search. */
export type Engine = "exact" | "quantized" | "hnsw"

/** Best first; equal scores by the lower slot. Both arrays have the same length, at most k. */
export interface SearchHits {
  readonly slots: Int32Array
  readonly scores: Float32Array
}

export interface IndexStats {
  /** Vectors that can be found. */
  readonly live: number
  /** Live vectors that the graph or the lists do not hold yet: they are found by an exact scan. */
  readonly pending: number
  /** Graph elements whose vector was removed or replaced since. */
  readonly stale: number
  /** Whether a fresh graph, or fresh lists, are being built while the old ones serve. */
  readonly rebuilding: boolean
}

export interface VectorIndex {
  readonly kind: Engine | "planned"
  readonly size: number
  readonly upsert: (slot: number, vector: Float32Array, seq: number) => void
  readonly remove: (slot: number, seq: number) => void
  /** The k best live slots, within `allowed` when it is given. */
  readonly search: (query: Float32Array, k: number, allowed: Bitmap | undefined) => SearchHits
  readonly stats: () => IndexStats
  readonly close: () => void
}
