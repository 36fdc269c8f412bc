/** A time of each slot in one flat array, so that a filter by time reads numbers and not rows. */
import { Bitmap, lowestBit } from "../../bitmap/Bitmap.ts"

const slotsMin = 256
const growth = 1.25

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
