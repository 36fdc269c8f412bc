/**
 * The vectors of one namespace by slot, with the sequence number of each slot's last change.
 *
 * Vectors lie in slabs that are never moved, so growth copies nothing and a dot product reads one
 * contiguous run. A cleared slot is zeroed: an erased memory leaves no vector behind in memory.
 * The arena is the truth all engines score from, so equal inputs give equal scores in each.
 */
import { Bitmap } from "./Bitmap.ts"

/** Vectors per slab, a power of two: 768 KiB of 384-d floats, small beside a namespace's own cost. */
const slabVectors = 512
const slabShift = Math.log2(slabVectors)
const slabMask = slabVectors - 1

/** Components hashed by `fingerprint`: 32 bytes, half a cache line. */
const fingerprintComponents = 8

export class VectorArena {
  readonly dims: number
  /** The slots that hold a vector. */
  readonly live = new Bitmap()
  private readonly slabs: Array<Float32Array> = []
  /** The same memory as `slabs`, as bits. */
  private readonly slabBits: Array<Uint32Array> = []
  private readonly seqs: Array<Float64Array> = []
  private liveCount = 0

  constructor(dims: number) {
    if (!Number.isInteger(dims) || dims < 1) throw new RangeError(`a vector cannot have ${dims} dimensions`)
    this.dims = dims
  }

  get size(): number {
    return this.liveCount
  }

  /**
   * Stores a Float32Array[dims] of unit norm. False when `seq` is older than the slot's last
   * change, so that a replayed tail may overlap what is there.
   */
  set(slot: number, vector: Float32Array, seq: number): boolean {
    if (vector.length !== this.dims) throw new RangeError(`expected ${this.dims} dimensions, got ${vector.length}`)
    if (!isFinite(vector)) throw new RangeError(`the vector for slot ${slot} has a component that is not finite`)
    if (seq < this.seqOf(slot)) return false
    if (!this.live.has(slot)) {
      this.live.set(slot)
      this.liveCount++
    }
    this.slabFor(slot).set(vector, (slot & slabMask) * this.dims)
    this.seqs[slot >>> slabShift]![slot & slabMask] = seq
    return true
  }

  /** Zeroes the slot and frees it. False when it holds nothing, or something newer than `seq`. */
  clear(slot: number, seq: number): boolean {
    if (!this.live.has(slot) || seq < this.seqOf(slot)) return false
    const from = (slot & slabMask) * this.dims
    this.slabs[slot >>> slabShift]!.fill(0, from, from + this.dims)
    this.seqs[slot >>> slabShift]![slot & slabMask] = seq
    this.live.clear(slot)
    this.liveCount--
    return true
  }

  /** Sequence number of the slot's last change; -1 when it never held anything. */
  seqOf(slot: number): number {
    return this.seqs[slot >>> slabShift]?.[slot & slabMask] ?? -1
  }

  /** Inner product of a live slot with the query, rounded to float32 so that ties are visible. */
  dot(slot: number, query: Float32Array): number {
    return Math.fround(dotAt(this.slabs[slot >>> slabShift]!, (slot & slabMask) * this.dims, query, this.dims))
  }

  /** A live slot's vector, as a Float32Array[dims] of its own. */
  copyOf(slot: number): Float32Array {
    const from = (slot & slabMask) * this.dims
    return this.slabs[slot >>> slabShift]!.slice(from, from + this.dims)
  }

  /** Copies a live slot's vector into a plain array, which is what hnswlib-node takes. */
  copyInto(slot: number, target: Array<number>): void {
    const slab = this.slabs[slot >>> slabShift]!
    const from = (slot & slabMask) * this.dims
    for (let i = 0; i < this.dims; i++) target[i] = slab[from + i]!
  }

  /** 32-bit hash of a live vector's first components: tells two vectors of one slot apart. */
  fingerprint(slot: number): number {
    const bits = this.slabBits[slot >>> slabShift]!
    const from = (slot & slabMask) * this.dims
    const components = Math.min(this.dims, fingerprintComponents)
    let hash = 0x811c9dc5
    for (let i = 0; i < components; i++) hash = Math.imul(hash ^ bits[from + i]!, 0x01000193)
    return hash >>> 0
  }

  private slabFor(slot: number): Float32Array {
    const slab = slot >>> slabShift
    // Slots are dense, so the slabs below exist or are about to be used.
    while (this.slabs.length <= slab) {
      const floats = new Float32Array(slabVectors * this.dims)
      this.slabs.push(floats)
      this.slabBits.push(new Uint32Array(floats.buffer))
      this.seqs.push(new Float64Array(slabVectors).fill(-1))
    }
    return this.slabs[slab]!
  }
}

const isFinite = (vector: Float32Array): boolean => {
  for (let i = 0; i < vector.length; i++) if (!Number.isFinite(vector[i])) return false
  return true
}

// Eight sums break the dependency chain of the additions; V8 has no SIMD to offer.
const dotAt = (slab: Float32Array, from: number, query: Float32Array, dims: number): number => {
  let a = 0,
    b = 0,
    c = 0,
    d = 0,
    e = 0,
    f = 0,
    g = 0,
    h = 0
  const blocks = dims & ~7
  let i = 0
  for (; i < blocks; i += 8) {
    const o = from + i
    a += slab[o]! * query[i]!
    b += slab[o + 1]! * query[i + 1]!
    c += slab[o + 2]! * query[i + 2]!
    d += slab[o + 3]! * query[i + 3]!
    e += slab[o + 4]! * query[i + 4]!
    f += slab[o + 5]! * query[i + 5]!
    g += slab[o + 6]! * query[i + 6]!
    h += slab[o + 7]! * query[i + 7]!
  }
  for (; i < dims; i++) a += slab[from + i]! * query[i]!
  return a + b + (c + d) + (e + f + (g + h))
}
