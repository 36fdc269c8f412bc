/**
 * Histogram of the durations of calls, in classes whose bounds grow by the fourth root of two from 0.1 ms: a quantile
 * is exact to 19 percent at the price of one logarithm for each call.
 */

const leastMillis = 0.1
const classesPerDoubling = 4
/** The last class holds all from 2^18 * 0.1 ms, 26 seconds, on. */
const classes = 18 * classesPerDoubling + 1

export class LatencyCounts {
  readonly #counts = new Uint32Array(classes)
  #total = 0

  add(millis: number): void {
    const at = millis <= leastMillis ? 0 : Math.ceil(Math.log2(millis / leastMillis) * classesPerDoubling)
    this.#counts[Math.min(at, classes - 1)]! += 1
    this.#total += 1
  }

  addAll(other: LatencyCounts): void {
    for (let at = 0; at < classes; at++) this.#counts[at]! += other.#counts[at]!
    this.#total += other.#total
  }

  clear(): void {
    this.#counts.fill(0)
    this.#total = 0
  }

  /** Upper bound of the class in which the quantile lies, milliseconds; undefined: nothing was counted. */
  quantile(share: number): number | undefined {
    if (this.#total === 0) return undefined
    let left = Math.max(1, Math.ceil(this.#total * share))
    const found = this.#counts.findIndex((count) => (left -= count) <= 0)
    return Math.round(leastMillis * 2 ** (found / classesPerDoubling) * 100) / 100
  }
}
