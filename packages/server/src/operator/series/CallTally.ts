/** Calls since a step of the series began: how many, how they ended, how long they took. */
import { clientLeft } from "@muniment/domain/Operations"

export class CallTally {
  calls = 0
  errors = 0
  refused = 0
  readonly latency = new LatencyCounts()

  add(status: number, millis: number): void {
    this.calls += 1
    if (status === clientLeft) return
    if (status >= 500) this.errors += 1
    else if (status === 429) this.refused += 1
    this.latency.add(millis)
  }

  take(from: CallTally): void {
    this.calls += from.calls
    this.errors += from.errors
    this.refused += from.refused
    this.latency.addAll(from.latency)
    from.clear()
  }

  clear(): void {
    this.calls = 0
    this.errors = 0
    this.refused = 0
    this.latency.clear()
  }
}

const leastMillis = 0.1
const classesPerDoubling = 4
/** The last class holds all from 2^18 * 0.1 ms, 26 seconds, on. */
const classes = 18 * classesPerDoubling + 1

/**
 * Histogram of the durations of calls, in classes whose bounds grow by the fourth root of two from 0.1 ms: a quantile
 * is exact to 19 percent at the price of one logarithm for each call.
 */
class LatencyCounts {
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
