/**
 * Segments of an arena as bytes: a header, the slots, their sequence numbers, their rows. A row is a function
 * of its vector alone, so a segment stays right for as long as the vectors do.
 */
import { rowBytes, slotsPerBlock } from "./Kernels.ts"
import { segmentShift, type SegmentedIndex, slotsPerSegment } from "./Segments.ts"
import type { VectorArena } from "./VectorArena.ts"

/** "MROW", and the version of this layout, of the codes and of the rotation. */
const magic = 0x574f524d
const formatVersion = 1
const headerBytes = 32
const slotBytes = 4
const seqBytes = 8

export class VectorSegments implements SegmentedIndex {
  readonly #arena: VectorArena
  readonly #changed = new Set<number>()

  constructor(arena: VectorArena) {
    this.#arena = arena
  }

  /** To be called after every change of the arena. */
  follow(slot: number): void {
    this.#changed.add(slot >>> segmentShift)
  }

  changedSegments(): ReadonlyArray<number> {
    return [...this.#changed].sort((left, right) => left - right)
  }

  encodeSegment(segment: number): Uint8Array<ArrayBuffer> | undefined {
    this.#changed.delete(segment)
    const slots = this.#slotsOf(segment)
    if (slots.length === 0) return undefined
    const places = placesFor(slots.length)
    const perRow = rowBytes(this.#arena.width)
    const data = new Uint8Array(places.rows + slots.length * perRow)
    new Uint32Array(data.buffer, 0, 6).set([
      magic,
      formatVersion,
      this.#arena.dims,
      this.#arena.width,
      segment,
      slots.length
    ])
    const seqs = new Float64Array(data.buffer, places.seqs, slots.length)
    new Int32Array(data.buffer, places.slots, slots.length).set(slots)
    for (const [at, slot] of slots.entries()) {
      seqs[at] = this.#arena.seqOf(slot)
      data.set(this.#arena.rowCopy(slot), places.rows + at * perRow)
    }
    return data
  }

  adoptSegment(segment: number, data: Uint8Array): Int32Array | undefined {
    const parts = this.#partsOf(segment, data)
    if (parts === undefined) return undefined
    const perRow = rowBytes(this.#arena.width)
    const { rows, seqs, slots } = parts
    for (let from = 0; from < slots.length;) {
      const end = endOfRun(slots, from)
      this.#arena.adopt(slots[from]!, seqs.subarray(from, end), rows.subarray(from * perRow, end * perRow))
      from = end
    }
    return slots
  }

  #slotsOf(segment: number): ReadonlyArray<number> {
    const slots: Array<number> = []
    const { live } = this.#arena
    const end = (segment + 1) * slotsPerSegment
    for (let slot = live.next(segment * slotsPerSegment); slot !== -1 && slot < end; slot = live.next(slot + 1))
      slots.push(slot)
    return slots
  }

  /** What a segment holds; undefined unless all of it is as it should be. */
  #partsOf(segment: number, data: Uint8Array) {
    if (data.length < headerBytes) return undefined
    // Typed arrays ask for aligned bytes, which those of a database need not be.
    const { buffer } = data.byteOffset % seqBytes === 0 ? data : data.slice()
    const start = data.byteOffset % seqBytes === 0 ? data.byteOffset : 0
    const header = [...new Uint32Array(buffer, start, 6)]
    const count = header[5]!
    const wanted = [magic, formatVersion, this.#arena.dims, this.#arena.width, segment, count]
    if (count > slotsPerSegment || header.some((value, at) => value !== wanted[at])) return undefined
    const places = placesFor(count)
    if (data.length !== places.rows + count * rowBytes(this.#arena.width)) return undefined
    const slots = new Int32Array(buffer, start + places.slots, count).slice()
    const isInRange = slots.every(
      (slot, at) => slot >>> segmentShift === segment && (at === 0 || slot > slots[at - 1]!)
    )
    if (!isInRange) return undefined
    return {
      slots,
      seqs: new Float64Array(buffer, start + places.seqs, count),
      rows: new Uint8Array(buffer, start + places.rows)
    }
  }
}

/** Where the slots stop being neighbours in one block, whose rows lie one after the other. */
const endOfRun = (slots: Int32Array, from: number): number => {
  const slotsLeft = slotsPerBlock - (slots[from]! % slotsPerBlock)
  const endMax = Math.min(slots.length, from + slotsLeft)
  let end = from + 1
  while (end < endMax && slots[end] === slots[end - 1]! + 1) end++
  return end
}

/** Offsets of the parts of a segment of so many slots. */
const placesFor = (count: number) => ({
  seqs: headerBytes,
  slots: headerBytes + count * seqBytes,
  rows: headerBytes + count * (seqBytes + slotBytes)
})
