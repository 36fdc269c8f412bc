/**
 * Port of an index that can lay its encoded vectors down and take them up again, so that opening a
 * namespace need not read and encode every float32 row.
 *
 * A segment is the vectors of 1,024 neighbouring slots. It is disposable: without it the rows are encoded
 * afresh, with the same answers. Inverted lists are not kept: they are trained again beside the searches, in
 * some 0.1 s for ten thousand vectors, and their centroids would be one more trace of what was erased.
 */

/** Slots of a segment: slot >>> 10 is its number. */
export const segmentShift = 10
export const slotsPerSegment = 1 << segmentShift

export interface SegmentedIndex {
  /** Segments whose vectors changed since they were last encoded or adopted, ascending. */
  readonly changedSegments: () => ReadonlyArray<number>
  /** The vectors of a segment; undefined when it holds none. It counts as unchanged from now on. */
  readonly encodeSegment: (segment: number) => Uint8Array<ArrayBuffer> | undefined
  /**
   * Takes a segment up, before any of its slots was changed; the slots it holds, ascending. Undefined, and
   * nothing is taken, when the bytes are of another format, width or slot range.
   */
  readonly adoptSegment: (segment: number, data: Uint8Array) => Int32Array | undefined
}
