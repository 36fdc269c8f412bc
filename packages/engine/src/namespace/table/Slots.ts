/**
 * What filters and the expiry know of slots: those with one value (`SlotSet`), a time of each (`SlotTimes`), and the
 * order in which they expire (`ExpiryQueue`).
 */
import { Bitmap, lowestBit } from "../../bitmap/Bitmap.ts"

/**
 * Slots by expiry time: a binary min-heap with lazy deletion. A changed expiry adds an entry; the caller skips an
 * entry whose time is no longer the slot's.
 */
export class ExpiryQueue {
  #times: Array<number> = []
  #slots: Array<number> = []

  get length(): number {
    return this.#times.length
  }

  /** Time of the earliest entry, which may be outdated; undefined when empty. */
  get earliest(): number | undefined {
    return this.#times[0]
  }

  push(slot: number, time: number): void {
    let at = this.#times.length
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (this.#times[parent]! <= time) break
      this.#times[at] = this.#times[parent]!
      this.#slots[at] = this.#slots[parent]!
      at = parent
    }
    this.#times[at] = time
    this.#slots[at] = slot
  }

  /** Removes and returns the earliest entry at or before `now`. */
  popDue(now: number): { readonly slot: number; readonly time: number } | undefined {
    const time = this.#times[0]
    if (time === undefined || time > now) return undefined
    const slot = this.#slots[0]!
    const lastTime = this.#times.pop()!
    const lastSlot = this.#slots.pop()!
    if (this.#times.length > 0) this.#sink(lastTime, lastSlot)
    return { slot, time }
  }

  clear(): void {
    this.#times = []
    this.#slots = []
  }

  #sink(time: number, slot: number): void {
    const size = this.#times.length
    let at = 0
    for (;;) {
      let child = at * 2 + 1
      if (child >= size) break
      if (child + 1 < size && this.#times[child + 1]! < this.#times[child]!) child++
      if (this.#times[child]! >= time) break
      this.#times[at] = this.#times[child]!
      this.#slots[at] = this.#slots[child]!
      at = child
    }
    this.#times[at] = time
    this.#slots[at] = slot
  }
}

const slotsMin = 256
const growth = 1.25

/** A time of each slot in one flat array, so that a filter by time reads numbers and not rows. */
export class SlotTimes {
  /** Milliseconds; NaN without one. */
  #times = new Float64Array(0)

  set(slot: number, time: number | undefined): void {
    if (slot >= this.#times.length) {
      if (time === undefined) return
      const grown = new Float64Array(Math.max(slotsMin, Math.ceil((slot + 1) * growth))).fill(Number.NaN)
      grown.set(this.#times)
      this.#times = grown
    }
    this.#times[slot] = time ?? Number.NaN
  }

  /** The slots whose time lies within both bounds. */
  within(slots: Bitmap, from: number, to: number): Bitmap {
    const times = this.#times
    const words = new Uint32Array(Math.min(slots.words.length, Math.ceil(times.length / 32)))
    for (let word = 0; word < words.length; word++) {
      let found = 0
      for (let bits = slots.words[word]!; bits !== 0; bits &= bits - 1) {
        const time = times[(word << 5) + lowestBit(bits)]!
        // False for NaN, and for undefined beyond the end of the array.
        if (time >= from && time <= to) found |= bits & -bits
      }
      words[word] = found
    }
    return new Bitmap(words)
  }
}

/** With more members a bitmap is smaller and faster than a set. */
const sparseMembersMax = 64

/**
 * The slots with one value of a filter field (kind, subject, thread or tag). Few members are stored as a set, many
 * as a bitmap: ten thousand subjects with two memories each must not cost ten thousand bitmaps.
 */
export class SlotSet {
  #sparse: Set<number> | undefined = new Set()
  #dense: Bitmap | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  add(slot: number): void {
    if (this.#dense !== undefined) {
      if (!this.#dense.has(slot)) this.#size++
      this.#dense.set(slot)
      return
    }
    this.#sparse!.add(slot)
    this.#size = this.#sparse!.size
    if (this.#size > sparseMembersMax) {
      this.#dense = Bitmap.of(this.#sparse!)
      this.#sparse = undefined
    }
  }

  remove(slot: number): void {
    if (this.#dense !== undefined) {
      if (this.#dense.has(slot)) this.#size--
      this.#dense.clear(slot)
    } else {
      this.#sparse!.delete(slot)
      this.#size = this.#sparse!.size
    }
  }

  /** The members that are also in `bitmap`; may change and return `bitmap` itself. */
  restrict(bitmap: Bitmap): Bitmap {
    if (this.#dense !== undefined) return bitmap.and(this.#dense)
    const kept = new Bitmap()
    for (const slot of this.#sparse!) if (bitmap.has(slot)) kept.set(slot)
    return kept
  }

  /** Whether a member is in `bitmap`. */
  intersects(bitmap: Bitmap): boolean {
    if (this.#dense !== undefined) return this.#dense.countAnd(bitmap) > 0
    for (const slot of this.#sparse!) if (bitmap.has(slot)) return true
    return false
  }

  /** Adds every member to `bitmap`. */
  unite(bitmap: Bitmap): Bitmap {
    if (this.#dense !== undefined) return bitmap.or(this.#dense)
    for (const slot of this.#sparse!) bitmap.set(slot)
    return bitmap
  }
}
