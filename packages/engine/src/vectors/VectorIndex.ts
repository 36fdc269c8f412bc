/**
 * Port of the vector engines, and the types of their answers.
 *
 * An index is owned by one namespace actor and single-threaded; all methods are synchronous. It is disposable: SQLite
 * is the truth, and the index changes only after a commit. A change older than the slot's last one is ignored, so that
 * changes may be replayed. Vectors are Float32Array[dims] of unit norm; a score is their inner product to the
 * precision of `VectorArena`, the same in every engine.
 */
import type { Bitmap } from "../bitmap/Bitmap.ts"

export type Engine = "exact" | "quantized" | "hnsw"

/**
 * Best first; of equal scores the higher slot, which is the newer vector's while no slot is reused. Both arrays have
 * the same length, at most k.
 */
export interface SearchHits {
  readonly slots: Int32Array
  readonly scores: Float32Array
}

export interface IndexStats {
  /** Vectors held. */
  readonly live: number
  /** Live vectors that the graph or the lists lack: an exact scan finds them. */
  readonly pending: number
  /** Graph elements whose vector was removed or replaced. */
  readonly stale: number
  /** Whether a new graph or new lists are being built while the old ones serve. */
  readonly rebuilding: boolean
}

export interface VectorIndex {
  readonly kind: Engine | "planned"
  readonly size: number
  readonly upsert: (slot: number, vector: Float32Array, seq: number) => void
  readonly remove: (slot: number, seq: number) => void
  /** The k best live slots, within `allowed` if given. */
  readonly search: (query: Float32Array, k: number, allowed: Bitmap | undefined) => SearchHits
  readonly stats: () => IndexStats
  readonly close: () => void
}

/**
 * Port of an index that can save its encoded vectors and load them again, so that opening a namespace need not read and
 * encode every float32 row.
 *
 * A segment holds the vectors of `slotsPerSegment` consecutive slots. It is disposable: without it the rows are encoded
 * again, with the same answers. Inverted lists are not saved: training takes some 0.1 s for ten thousand vectors,
 * beside the searches, and saved centroids would be one more trace of erased vectors.
 */
export interface SegmentedIndex {
  /** Numbers of the segments whose vectors changed since they were encoded or adopted, ascending. */
  readonly changedSegments: () => ReadonlyArray<number>
  /** A segment's vectors as bytes, undefined if it holds none; marks it as unchanged. */
  readonly encodeSegment: (segment: number) => Uint8Array<ArrayBuffer> | undefined
  /**
   * Loads a segment before any of its slots was changed; returns the slots that it holds, ascending. Returns undefined
   * and loads nothing if the bytes are of another format, width or slot range.
   */
  readonly adoptSegment: (segment: number, data: Uint8Array) => Int32Array | undefined
}
