/**
 * A minimal `SegmentedIndex`: float32 vectors by slot, encoded unchanged, so that loaded vectors can be compared exactly.
 * A segment starts with the width of its vectors.
 */
import { type SegmentedIndex } from "@muniment/engine/vectors/VectorIndex"
import { segmentShift, slotsPerSegment } from "@muniment/engine/bitmap/Bitmap"

const wordBytes = 4

export class PlainIndex implements SegmentedIndex {
  readonly dims: number
  readonly vectors = new Map<number, Float32Array>()
  readonly #changed = new Set<number>()

  constructor(dims: number) {
    this.dims = dims
  }

  upsert(slot: number, vector: Float32Array): void {
    this.vectors.set(slot, vector)
    this.#changed.add(slot >>> segmentShift)
  }

  remove(slot: number): void {
    if (this.vectors.delete(slot)) this.#changed.add(slot >>> segmentShift)
  }

  changedSegments(): ReadonlyArray<number> {
    return [...this.#changed].toSorted((left, right) => left - right)
  }

  /** Width, then slot and vector of each. */
  encodeSegment(segment: number): Uint8Array<ArrayBuffer> | undefined {
    this.#changed.delete(segment)
    const held = [...this.vectors].filter(([slot]) => slot >>> segmentShift === segment).toSorted(([a], [b]) => a - b)
    if (held.length === 0) return undefined
    const floats = Float32Array.from(held.flatMap(([slot, vector]) => [slot, ...vector]))
    return new Uint8Array([this.dims, 0, 0, 0, ...new Uint8Array(floats.buffer)])
  }

  adoptSegment(segment: number, data: Uint8Array): Int32Array | undefined {
    const stride = (1 + this.dims) * wordBytes
    if (data[0] !== this.dims || (data.length - wordBytes) % stride !== 0) return undefined
    const floats = new Float32Array(data.slice(wordBytes).buffer)
    const slots: Array<number> = []
    for (let at = 0; at < floats.length; at += 1 + this.dims) slots.push(floats[at]!)
    if (slots.some((slot) => Math.floor(slot / slotsPerSegment) !== segment)) return undefined
    for (const [at, slot] of slots.entries()) {
      const from = at * (1 + this.dims) + 1
      this.vectors.set(slot, floats.slice(from, from + this.dims))
    }
    return Int32Array.from(slots)
  }
}
