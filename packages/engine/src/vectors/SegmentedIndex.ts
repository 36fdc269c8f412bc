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
