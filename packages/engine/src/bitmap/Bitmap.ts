/**
 * A growable set of slots (small dense integers), one bit each, in 32-bit words.
 *
 * Filters and live sets are bitmaps and are combined by whole words: 100,000 slots are 3,125 words, so an
 * intersection costs microseconds where a callback per candidate costs milliseconds. Words past the end count as
 * zero, so bitmaps of different lengths combine.
 */

/** Largest slot of a namespace: at most 2 MiB per bitmap. */
export const slotMax = 16_777_215

const wordsInitial = 32

/** Throws a RangeError unless it is a slot. */
export const demandSlot = (slot: number): void => {
  if (!Number.isInteger(slot) || slot < 0 || slot > slotMax)
    throw new RangeError(`slot ${slot} is not within 0..${slotMax}`)
}

export class Bitmap {
  /** The bits, 32 slots per word, for hot loops. Replaced when the bitmap grows, so do not keep a reference. */
  words: Uint32Array

  constructor(words: Uint32Array = new Uint32Array(wordsInitial)) {
    this.words = words
  }

  static of(slots: Iterable<number>): Bitmap {
    const bitmap = new Bitmap()
    for (const slot of slots) bitmap.set(slot)
    return bitmap
  }

  set(slot: number): void {
    demandSlot(slot)
    const word = slot >>> 5
    if (word >= this.words.length) this.#grow(word + 1)
    this.words[word]! |= 1 << (slot & 31)
  }

  clear(slot: number): void {
    const word = slot >>> 5
    if (word < this.words.length) this.words[word]! &= ~(1 << (slot & 31))
  }

  has(slot: number): boolean {
    return (((this.words[slot >>> 5] ?? 0) >>> (slot & 31)) & 1) === 1
  }

  and(other: Bitmap): this {
    const shared = Math.min(this.words.length, other.words.length)
    for (let i = 0; i < shared; i++) this.words[i]! &= other.words[i]!
    this.words.fill(0, shared)
    return this
  }

  or(other: Bitmap): this {
    if (other.words.length > this.words.length) this.#grow(other.words.length)
    for (let i = 0; i < other.words.length; i++) this.words[i]! |= other.words[i]!
    return this
  }

  andNot(other: Bitmap): this {
    const shared = Math.min(this.words.length, other.words.length)
    for (let i = 0; i < shared; i++) this.words[i]! &= ~other.words[i]!
    return this
  }

  clone(): Bitmap {
    return new Bitmap(this.words.slice())
  }

  any(): boolean {
    for (let i = 0; i < this.words.length; i++) if (this.words[i] !== 0) return true
    return false
  }

  count(): number {
    let total = 0
    for (let i = 0; i < this.words.length; i++) total += popcount(this.words[i]!)
    return total
  }

  /** Size of the intersection, without building it. */
  countAnd(other: Bitmap): number {
    const shared = Math.min(this.words.length, other.words.length)
    let total = 0
    for (let i = 0; i < shared; i++) total += popcount(this.words[i]! & other.words[i]!)
    return total
  }

  /** The first slot at or after `from`, or -1. */
  next(from: number): number {
    let word = from >>> 5
    if (word >= this.words.length) return -1
    let bits = this.words[word]! & (-1 << (from & 31))
    while (bits === 0) {
      word++
      if (word >= this.words.length) return -1
      bits = this.words[word]!
    }
    return (word << 5) + lowestBit(bits)
  }

  /** Visits the slots in ascending order. */
  forEach(visit: (slot: number) => void): void {
    for (let i = 0; i < this.words.length; i++) {
      for (let bits = this.words[i]!; bits !== 0; bits &= bits - 1) visit((i << 5) + lowestBit(bits))
    }
  }

  #grow(wordsNeeded: number): void {
    const grown = new Uint32Array(Math.max(wordsNeeded, this.words.length * 2))
    grown.set(this.words)
    this.words = grown
  }
}

/** Position of the lowest set bit of a non-zero word. */
export const lowestBit = (bits: number): number => 31 - Math.clz32(bits & -bits)

// Parallel sum of bits (Warren, Hacker's Delight, 5-1).
const popcount = (word: number): number => {
  let v = word - ((word >>> 1) & 0x55555555)
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333)
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** `slot >>> segmentShift` is the number of a slot's segment. */
export const segmentShift = 10
/** Size of a segment: the neighbouring slots whose encoded vectors are stored together. Part of the file format. */
export const slotsPerSegment = 1 << segmentShift
