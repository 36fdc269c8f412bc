/**
 * Segments of an arena as bytes: header, sequence numbers, slots, rows. A row is a function of its vector alone, so a
 * segment stays valid as long as its vectors do.
 */
import { rowBytes, slotsPerBlock } from "./Kernels.ts"
import type { SegmentedIndex } from "../VectorIndex.ts"
import { segmentShift, slotsPerSegment } from "../../bitmap/Bitmap.ts"
import type { VectorArena } from "./VectorArena.ts"

/*
 * Little endian; n vectors, w = dims rounded up to a multiple of `widthStep`. Size = 32 + n * (8 + 4 + w + 8).
 *
 * <------------------------------ 8 bytes ------------------------------>   example: two vectors of 384 dimensions
 * 0   | magic "MROW"                    | format version   u32           |  4d 52 4f 57 01 00 00 00
 * 8   | dims                 u32 = 384  | w                u32 = 384     |  80 01 00 00 80 01 00 00
 * 16  | segment number       u32 = 0    | n                u32 = 2       |  00 00 00 00 02 00 00 00
 * 24  | zero                                                             |  00 00 00 00 00 00 00 00
 * 32  | sequence number of each slot's last change    f64[n] = 17, 42    |  .. 00 31 40   .. 00 45 40
 * 48  | slots, ascending     i32[n] = 3, 1023                            |  03 00 00 00 ff 03 00 00
 * 56  | n rows, in the order of slots:                                   |  of slot 3 at 56, of 1023 at 448
 *     |   codes i8[w]   | scale f32   | sum of codes i32                 |  392 bytes each; end = 840
 */

/** "MROW". The version covers this layout, the codes and the rotation. */
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

  /** Call it after every change of the arena. */
  markChanged(slot: number): void {
    this.#changed.add(slot >>> segmentShift)
  }

  changedSegments(): ReadonlyArray<number> {
    return [...this.#changed].sort((left, right) => left - right)
  }

  encodeSegment(segment: number): Uint8Array<ArrayBuffer> | undefined {
    this.#changed.delete(segment)
    const slots = this.#slotsOf(segment)
    if (slots.length === 0) return undefined
    const offsets = offsetsFor(slots.length)
    const perRow = rowBytes(this.#arena.width)
    const data = new Uint8Array(offsets.rows + slots.length * perRow)
    new Uint32Array(data.buffer, 0, 6).set([
      magic,
      formatVersion,
      this.#arena.dims,
      this.#arena.width,
      segment,
      slots.length
    ])
    const seqs = new Float64Array(data.buffer, offsets.seqs, slots.length)
    new Int32Array(data.buffer, offsets.slots, slots.length).set(slots)
    for (const [at, slot] of slots.entries()) {
      seqs[at] = this.#arena.seqOf(slot)
      data.set(this.#arena.rowCopy(slot), offsets.rows + at * perRow)
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

  /** The parts of a segment; undefined unless every check holds. */
  #partsOf(segment: number, data: Uint8Array) {
    if (data.length < headerBytes) return undefined
    // Typed arrays need aligned bytes, which SQLite does not promise.
    const { buffer } = data.byteOffset % seqBytes === 0 ? data : data.slice()
    const start = data.byteOffset % seqBytes === 0 ? data.byteOffset : 0
    const header = [...new Uint32Array(buffer, start, 6)]
    const count = header[5]!
    const wanted = [magic, formatVersion, this.#arena.dims, this.#arena.width, segment, count]
    if (count > slotsPerSegment || header.some((value, at) => value !== wanted[at])) return undefined
    const offsets = offsetsFor(count)
    if (data.length !== offsets.rows + count * rowBytes(this.#arena.width)) return undefined
    const slots = new Int32Array(buffer, start + offsets.slots, count).slice()
    const isInRange = slots.every(
      (slot, at) => slot >>> segmentShift === segment && (at === 0 || slot > slots[at - 1]!)
    )
    if (!isInRange) return undefined
    return {
      slots,
      seqs: new Float64Array(buffer, start + offsets.seqs, count),
      rows: new Uint8Array(buffer, start + offsets.rows)
    }
  }
}

/** End of the run of consecutive slots in one block, whose rows are contiguous. */
const endOfRun = (slots: Int32Array, from: number): number => {
  const slotsLeft = slotsPerBlock - (slots[from]! % slotsPerBlock)
  const endMax = Math.min(slots.length, from + slotsLeft)
  let end = from + 1
  while (end < endMax && slots[end] === slots[end - 1]! + 1) end++
  return end
}

/** Offsets of a segment's parts. */
const offsetsFor = (count: number) => ({
  seqs: headerBytes,
  slots: headerBytes + count * seqBytes,
  rows: headerBytes + count * (seqBytes + slotBytes)
})
