/**
 * Port of an index that can lay its encoded vectors down and take them up again, so that opening a
 * namespace need not read and encode every float32 row.
 *
 * A segment is the vectors of 1,024 neighbouring slots; the codebook is what the inverted lists were
 * trained to. Both are disposable: without them the rows are encoded afresh, with the same answers.
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
   * nothing is taken, when the bytes are of another format, width, model or slot range.
   */
  readonly adoptSegment: (segment: number, data: Uint8Array) => Int32Array | undefined
  /** What the lists were trained to; undefined while there are none. */
  readonly encodeCodebook: () => Uint8Array<ArrayBuffer> | undefined
  /** Before any segment is adopted. False, and nothing is taken, when the bytes are of another format or width. */
  readonly adoptCodebook: (data: Uint8Array) => boolean
}
