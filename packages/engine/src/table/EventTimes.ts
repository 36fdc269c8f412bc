/**
 * When what each memory tells of happened, by slot: beside one another, so that a filter by time looks at numbers
 * and not at rows.
 */
import { Bitmap, lowestBit } from "../index/Bitmap.ts"

const slotsMin = 256
const growth = 1.25

export class EventTimes {
  /** Milliseconds; not a number where there is none. */
  #times = new Float64Array(0)

  set(slot: number, eventAt: number | undefined): void {
    if (slot >= this.#times.length) {
      if (eventAt === undefined) return
      const grown = new Float64Array(Math.max(slotsMin, Math.ceil((slot + 1) * growth))).fill(Number.NaN)
      grown.set(this.#times)
      this.#times = grown
    }
    this.#times[slot] = eventAt ?? Number.NaN
  }

  /** Those of the slots whose time lies within both bounds. */
  within(slots: Bitmap, from: number, to: number): Bitmap {
    const times = this.#times
    const words = new Uint32Array(Math.min(slots.words.length, Math.ceil(times.length / 32)))
    for (let word = 0; word < words.length; word++) {
      let found = 0
      for (let bits = slots.words[word]!; bits !== 0; bits &= bits - 1) {
        const time = times[(word << 5) + lowestBit(bits)]!
        // Neither holds of what is not a number, or lies beyond the end.
        if (time >= from && time <= to) found |= bits & -bits
      }
      words[word] = found
    }
    return new Bitmap(words)
  }
}
