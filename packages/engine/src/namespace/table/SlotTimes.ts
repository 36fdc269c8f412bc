/** Times of slots: by slot, for filters (`SlotTimes`), and in the order of expiry (`ExpiryQueue`). */
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
